"""Moves on a function's decorators."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from unslow.fix.edit.blocks import indent
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelled
from unslow.fix.moves.call_arguments import keyword_set
from unslow.syntax.nodes import NamedFunction


def decorator(script: Script, function: NamedFunction, name: str) -> ast.expr | None:
    """The decorator of a function that is, or calls, a name such as `tensorflow.function`."""
    for node in function.decorator_list:
        if script.name(getattr(node, "func", node)) == name:
            return node
    return None


def _function(script: Script, line: int) -> NamedFunction:
    found = script.function_at(line)
    if found is None:
        raise CannotEdit(f"line {line} is in no function", line)
    return found


def decorate(
    script: Script, line: int, name: str, keywords: Mapping[str, str] | None = None
) -> Script:
    """Decorate the function around a line, or add keywords to that decorator."""
    if decorator(script, _function(script, line), name) is None:
        script, spelling = spelled(script, name, _function(script, line))
        function = _function(script, line)
        start = script.lines.start(function.lineno)
        script = script.edit(
            [Splice(start, start, f"{indent(script, function)}@{spelling}{script.lines.newline}")]
        )
    for keyword, value in (keywords or {}).items():
        found = decorator(script, _function(script, line), name)
        assert found is not None
        if isinstance(found, ast.Call):
            script = keyword_set(script, found, keyword, value)
        else:
            script = script.edit(
                [replaced(script, found, f"{script.source(found)}({keyword}={value})")]
            )
    return script
