"""The move for `run-eagerly`: the line that makes everything run op by op gives way."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.fix.moves.call_arguments import argument, call, remove_keyword
from unslow.fix.moves.graph_rules import offence
from unslow.syntax.nodes import values_taken


def flag_off(script: Script, line: int, way: str) -> Script:
    """Takes out `run_eagerly=True` of a compile(), or the statement that sets a flag; only where it says True."""
    if script.gone(line):
        return script
    node = statement(script, line)
    if way == "compile":
        found = call(script, line, "compile")
        value = argument(script, found, "run_eagerly")
        if value is None:
            return script
        _is_true(script, value)
        return remove_keyword(script, line, "compile", "run_eagerly")
    if isinstance(node, ast.Assign):
        _is_true(script, node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        given = [*node.value.args, *(keyword.value for keyword in node.value.keywords)]
        if len(given) != 1:
            raise script.refuse("the call that sets the flag is not a plain one", node)
        _is_true(script, given[0])
    else:
        raise script.refuse("the statement does more than set the flag", node)
    return delete(script, line)


def _is_true(script: Script, value: ast.expr) -> None:
    if not (isinstance(value, ast.Constant) and value.value is True):
        raise script.refuse(
            f"the flag is set from `{script.source(value)}`: set it off there", value
        )


def needs_python(script: Script, places: Iterable[tuple[str, int, str]]) -> str:
    """What the user's functions in a step do that only Python can; nothing if all of them can be compiled."""
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
