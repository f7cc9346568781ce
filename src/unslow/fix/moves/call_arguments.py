"""Edit one call, found by its line and the last part of its name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.literals import Obstacle, find_literal

if TYPE_CHECKING:
    import libcst as cst


def call(script: Script, line: int, function: str) -> ast.Call:
    """The call at a line; raises CannotEdit where there is none."""
    found = script.call_at(line, function)
    if found is None:
        raise CannotEdit(f"`{function}` is not called on line {line}", line)
    return found


def argument(script: Script, node: ast.Call, which: int | str) -> ast.expr | None:
    """An argument by position or keyword; None where the call does not give it."""
    if isinstance(which, str):
        return next((keyword.value for keyword in node.keywords if keyword.arg == which), None)
    before = node.args[: which + 1]
    if any(isinstance(value, ast.Starred) for value in before):
        raise script.refuse("the call unpacks its arguments", node)
    return before[which] if which < len(before) else None


def keyword_value(
    script: Script, node: ast.Call, name: str, position: int | None = None
) -> ast.expr | None:
    """The expression that an argument stands for, also in a dictionary that the call unpacks.

    None where the call does not give it, as far as can be told.
    """
    given = argument(script, node, name)
    if given is None and position is not None and position < len(node.args):
        given = argument(script, node, position)
    if given is not None:
        return given
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
    found = script.call_at(line, function)
    if found is None:
        if script.call_at(line, new) is not None:
            return script
        raise CannotEdit(f"`{function}` is not called on line {line}", line)
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
    given = argument(script, node, name)
    if given is None and position is not None:
        given = argument(script, node, position)
    if given is not None:
        if ast.dump(given) == ast.dump(ast.parse(value, mode="eval").body):
            return script
        return script.edit([replaced(script, given, value)])
    for item in _unpacked(node, name):
        try:
            literal = find_literal(script, item)
        except Obstacle as problem:
            raise script.refuse(
                f"the call unpacks a dictionary that may hold `{name}`", node
            ) from problem
        if literal.source is not script:
            place = f"{literal.source.path}:{literal.node.lineno}"
            raise script.refuse(f"`{name}` is written in another file ({place})", node)
        return script.edit([replaced(script, literal.node, value)])
    if any(isinstance(value, ast.GeneratorExp) for value in node.args):
        raise script.refuse("a bare generator argument is left alone", node)
    return script.edit(
        [_written(script, node, lambda written: _with_keyword(written, name, value))]
    )


def remove_keyword(script: Script, line: int, function: str, name: str) -> Script:
    """Takes a keyword out of a call; a call that does not have it is left as it is."""
    return keyword_removed(script, call(script, line, function), name)


def keyword_removed(script: Script, node: ast.Call, name: str) -> Script:
    if argument(script, node, name) is None:
        return script
    return script.edit([_written(script, node, lambda written: _without_keyword(written, name))])


def _written(script: Script, node: ast.Call, change: Callable[[cst.Call], cst.Call]) -> Splice:
    """A call changed by LibCST, which keeps the layout and the comments of its arguments."""
    import libcst as cst

    start, end = script.span(node)
    try:
        # The parentheses let a call over several lines stand alone; they come off again below.
        module = cst.parse_module(f"({script.lines.text[start:end]})")
    except cst.ParserSyntaxError as problem:
        raise script.refuse("the call cannot be read", node) from problem
    line: Any = module.body[0]
    return Splice(start, end, module.code_for_node(change(line.body[0].value))[1:-1])


def _with_keyword(node: cst.Call, name: str, value: str) -> cst.Call:
    import libcst as cst

    added = cst.Arg(
        keyword=cst.Name(name),
        value=cst.parse_expression(value),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not node.args:
        return node.with_changes(args=[added])
    *others, last = node.args
    between: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if others and isinstance(others[-1].comma, cst.Comma):
        between = others[-1].comma.whitespace_after
    elif isinstance(node.whitespace_before_args, cst.ParenthesizedWhitespace):
        between = node.whitespace_before_args
    trailing = last.comma if isinstance(last.comma, cst.Comma) else None
    closing = trailing.whitespace_after if trailing else last.whitespace_after_arg
    last = last.with_changes(
        comma=cst.Comma(whitespace_after=_commented(between, closing)),
        whitespace_after_arg=cst.SimpleWhitespace("")
        if not trailing
        else last.whitespace_after_arg,
    )
    bare = _commented(closing, None)
    added = added.with_changes(
        **(
            {"comma": trailing.with_changes(whitespace_after=bare)}
            if trailing
            else {"whitespace_after_arg": bare}
        )
    )
    return node.with_changes(args=[*others, last, added])


def _commented(
    gap: cst.BaseParenthesizableWhitespace, source: cst.BaseParenthesizableWhitespace | None
) -> cst.BaseParenthesizableWhitespace:
    """A gap between arguments with the comment that starts another gap."""
    import libcst as cst

    if isinstance(source, cst.ParenthesizedWhitespace) and source.first_line.comment:
        if isinstance(gap, cst.ParenthesizedWhitespace):
            return gap.with_changes(first_line=source.first_line, empty_lines=[])
        return source
    if isinstance(gap, cst.ParenthesizedWhitespace) and gap.first_line.comment:
        plain = gap.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return gap.with_changes(first_line=plain)
    return gap


def _without_keyword(node: cst.Call, name: str) -> cst.Call:
    import libcst as cst

    index = next(i for i, arg in enumerate(node.args) if arg.keyword and arg.keyword.value == name)
    kept = [arg for i, arg in enumerate(node.args) if i != index]
    if not kept:
        return node.with_changes(args=[], whitespace_before_args=cst.SimpleWhitespace(""))
    if index == len(kept):
        gone = node.args[index]
        kept[-1] = kept[-1].with_changes(
            comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg
        )
    return node.with_changes(args=kept)
