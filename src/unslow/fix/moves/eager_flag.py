"""The move for `run-eagerly`: the line that makes everything run op by op gives way."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, replaced
from unslow.fix.moves.call_arguments import call, remove_keyword
from unslow.fix.moves.graph_rules import offence
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import argument, is_constant, values_taken


def flag_off(script: Script, line: int, way: str) -> Script:
    """Takes out `run_eagerly=True` of a compile(), or the statement that sets a flag.

    A flag that comes from a configuration is set to False where it is written, if that is found.
    """
    if script.gone(line):
        return script
    node = statement(script, line)
    if way == "compile":
        value = argument(call(script, line, "compile"), "run_eagerly")
        if value is None:
            return script
        if is_constant(value, True):
            return remove_keyword(script, line, "compile", "run_eagerly")
        return _set_false(script, value)
    match node:
        case ast.Assign(value=value):
            pass
        case ast.Expr(value=ast.Call(args=[value], keywords=[])):
            pass
        case ast.Expr(value=ast.Call(args=[], keywords=[ast.keyword(value=value)])):
            pass
        case _:
            raise script.refuse("the statement does more than set the flag", node)
    return delete(script, line) if is_constant(value, True) else _set_false(script, value)


def _set_false(script: Script, value: ast.expr) -> Script:
    """False where the flag's value is written; here, where that is out of reach."""
    try:
        return _literal_set_false(script, value)
    except CannotEdit:
        return script.edit([replaced(script, value, "False")])


def _literal_set_false(script: Script, value: ast.expr) -> Script:
    def false(literal: Literal[Script]) -> str:
        if literal.value not in (True, False):
            what = literal.source.source(literal.node)
            raise script.refuse(f"the flag is set from `{what}`, which is no True or False", value)
        return "False"

    return script.with_value(value, false)


def needs_python(script: Script, places: Iterable[tuple[str, int, str]]) -> str:
    """What the user's functions in a step do that only Python can; nothing if all of them can be
    compiled."""
    for file, line, name in places:
        if file != script.path:
            return f"{name}() of {file} was not looked into"
        function = script.function_at(line)
        found = (
            offence(script, function.body, values_taken(function), function)
            if function is not None
            else None
        )
        if found is not None:
            return f"{name}() {found.reason}"
    return ""
