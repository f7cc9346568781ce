"""The move for `run-eagerly`: the line that makes everything run op by op gives way."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, replaced
from unslow.fix.moves.call_arguments import call, remove_keyword
from unslow.fix.moves.graph_rules import offence
from unslow.syntax.literals import FromCommandLine, Literal, Obstacle, find_literal, without_not
from unslow.syntax.nodes import argument, is_constant, values_taken


def flag_off(script: Script, line: int, way: str) -> Script:
    """Takes out `run_eagerly=True` of a compile(), or the statement that sets a flag.

    A flag that comes from a configuration is set to False where it is written.
    """
    value = None if script.gone(line) else _value(script, line, way)
    if value is None:
        return script
    if not is_constant(value, True):
        return _set_false(script, value)
    if way == "compile":
        return remove_keyword(script, line, "compile", "run_eagerly")
    return delete(script, line)


@dataclass(frozen=True)
class Overruled:
    """The script with a flag that is off whatever its configuration says."""

    script: Script
    value: str  # what it was set from


def overrule_flag(script: Script, line: int, way: str) -> Overruled:
    """False in the place of a value that is not written in any Python file of the program.

    What the user typed on the command line stays the user's choice: that raises, as flag_off does.
    """
    value = _value(script, line, way)
    if value is None:
        raise CannotEdit("the flag is not set here", line)
    try:
        find_literal(script, value)
    except FromCommandLine as problem:
        raise script.refuse(problem.reason, value) from problem
    except Obstacle:
        pass
    return Overruled(script.edit([replaced(script, value, "False")]), script.source(value))


def _value(script: Script, line: int, way: str) -> ast.expr | None:
    """What the flag is set to at a line."""
    if way == "compile":
        return argument(call(script, line, "compile"), "run_eagerly")
    node = statement(script, line)
    match node:
        case ast.Assign(value=value):
            return value
        case ast.Expr(value=ast.Call(args=[value], keywords=[])):
            return value
        case ast.Expr(value=ast.Call(args=[], keywords=[ast.keyword(value=value)])):
            return value
    raise script.refuse("the statement does more than set the flag", node)


def _set_false(script: Script, value: ast.expr) -> Script:
    flag, wanted = without_not(value, wanted=False)

    def switched(literal: Literal[Script]) -> str:
        if literal.value not in (True, False):
            what = literal.source.source(literal.node)
            raise script.refuse(f"the flag is set from `{what}`, which is no True or False", value)
        return str(wanted)

    return script.with_value(flag, switched)


def needs_python(script: Script, places: Iterable[tuple[str, int, str]]) -> str:
    """What the functions of a step do that only Python can; empty if all can be compiled."""
    for file, line, name in places:
        if file != script.path:
            return f"{name}() of {file} was not looked into"
        function = script.function_at(line)
        if function is None:
            continue
        found = offence(script, function.body, values_taken(function), function)
        if found is not None:
            return f"{name}() {found.reason}"
    return ""
