"""Edit one call, found by its line and the last part of its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.literals import Obstacle, find_literal
from unslow.syntax.nodes import argument, has_starred

_COMMENT = re.compile(r"#[^\r\n]*")


def call(script: Script, line: int, function: str) -> ast.Call:
    """The call at a line; raises CannotEdit where there is none, or where several may be meant."""
    calls = script.calls_at(line, function)
    if not calls:
        raise CannotEdit(f"`{function}` is not called on line {line}", line)
    found = calls[0]
    alike = [each for each in calls if each.func.end_lineno == found.func.end_lineno]
    reason = f"`{function}` is called more than once on this line: which call it is is not known"
    script.refuse_if(len(alike) > 1, reason, found)
    return found


def given(script: Script, node: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """What a call gives for an argument; refuses where it may be among what is unpacked."""
    found = argument(node, name, position)
    before = [] if found is not None or position is None else node.args[: position + 1]
    script.refuse_if(has_starred(before), "the call unpacks its arguments", node)
    return found


def keyword_value(
    script: Script, node: ast.Call, name: str, position: int | None = None
) -> ast.expr | None:
    """The expression that an argument stands for, also in a dictionary that the call unpacks.

    None where the call does not give it, as far as can be told.
    """
    value = given(script, node, name, position)
    if value is not None:
        return value
    for item in _unpacked(node, name):
        with suppress(Obstacle):
            find_literal(script, item)
            return item
    return None


def _unpacked(node: ast.Call, name: str) -> Iterator[ast.expr]:
    """What an argument would be in each dictionary that a call unpacks."""
    for keyword in node.keywords:
        if keyword.arg is None:
            item = ast.Subscript(keyword.value, ast.Constant(name), ast.Load())
            yield ast.copy_location(item, keyword.value)


def rename_call(script: Script, line: int, function: str, new: str) -> Script:
    """`model.predict(x)` becomes `model.predict_on_batch(x)`."""
    if script.call_at(line, function) is None and script.call_at(line, new) is not None:
        return script
    found = call(script, line, function)
    start, end = script.span(found.func)
    return script.edit([Splice(start, end, script.source(found.func)[: -len(function)] + new)])


def set_keyword(
    script: Script, line: int, function: str, name: str, value: str, position: int | None = None
) -> Script:
    """Add or change a keyword; `position` is where the call may give it without a name."""
    return keyword_set(script, call(script, line, function), name, value, position)


def keyword_set(
    script: Script, node: ast.Call, name: str, value: str, position: int | None = None
) -> Script:
    before = given(script, node, name, position)
    if before is not None:
        if ast.dump(before) == ast.dump(ast.parse(value, mode="eval").body):
            return script
        return script.edit([replaced(script, before, value)])
    for item in _unpacked(node, name):
        try:
            literal = find_literal(script, item)
        except Obstacle as problem:
            raise script.refuse(
                f"the call unpacks a dictionary that may hold `{name}`", node
            ) from problem
        place = f"{literal.source.path}:{literal.node.lineno}"
        reason = f"`{name}` is written in another file ({place})"
        script.refuse_if(literal.source is not script, reason, node)
        return script.edit([replaced(script, literal.node, value)])
    is_generator = any(isinstance(value, ast.GeneratorExp) for value in node.args)
    script.refuse_if(is_generator, "a bare generator argument is left alone", node)
    return script.edit(_with_keyword(script, node, f"{name}={value}"))


def remove_keyword(script: Script, line: int, function: str, name: str) -> Script:
    """Takes a keyword out of a call; a call that does not have it is left as it is."""
    return keyword_removed(script, call(script, line, function), name)


def keyword_removed(script: Script, node: ast.Call, name: str) -> Script:
    gone = next((keyword for keyword in node.keywords if keyword.arg == name), None)
    return script if gone is None else script.edit([without_argument(script, node, gone)])


def _with_keyword(script: Script, node: ast.Call, new: str) -> list[Splice]:
    """One more argument, on a line of its own where the last one has such a line."""
    places = _spans(script, node)
    close = script.span(node)[1] - 1
    if not places:
        return [Splice(close, close, new)]
    lines = script.lines
    start, end = places[-1]
    tail = _uncommented(lines.text[end:close])
    end += tail.rfind(")") + 1  # of parentheses around the argument
    row = lines.start(lines.at(close))
    others = lines.text[lines.start(lines.at(start)) : start] + lines.text[row:close]
    if others.strip():
        return [Splice(end, end, f", {new}")]
    comma = "," if "," in tail else ""
    added = Splice(row, row, f"{lines.indent(lines.at(start))}{new}{comma}{lines.newline}")
    return [added] if comma else [Splice(end, end, ","), added]


def without_argument(script: Script, node: ast.Call, gone: ast.keyword | ast.expr) -> Splice:
    """Takes an argument out, with the comma that parts it from the one beside it."""
    text, (start, end) = script.lines.text, script.span(gone)
    places = _spans(script, node)
    place = places.index((start, end))
    if place + 1 < len(places):
        return Splice(start, places[place + 1][0], "")
    if place:
        before = places[place - 1][1]
        return Splice(before + _uncommented(text[before:start]).rfind(","), end, "")
    return Splice(text.rfind("(", 0, start) + 1, script.span(node)[1] - 1, "")


def _spans(script: Script, node: ast.Call) -> list[tuple[int, int]]:
    """Where the arguments of a call stand, in the order of the text."""
    return sorted(map(script.span, (*node.args, *node.keywords)))


def _uncommented(text: str) -> str:
    """A text with blanks in the place of its comments."""
    return _COMMENT.sub(lambda found: " " * len(found.group()), text)
