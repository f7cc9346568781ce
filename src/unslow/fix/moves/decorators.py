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


def decorate(script: Script, line: int, keywords: Mapping[str, str]) -> Script:
    """Makes the function around a line a `tf.function` with some options."""
    function = _function(script, line)
    if script.compiler(function) is None:
        script, spelling = spelled(script, "tf.function", function)
        function = _function(script, line)
        start = script.lines.start(function.lineno)
        row = f"{indent(script, function)}@{spelling}{script.lines.newline}"
        script = script.edit([Splice(start, start, row)])
    for keyword, value in keywords.items():
        found = script.compiler(_function(script, line))
        assert found is not None
        if isinstance(found, ast.Call):
            script = keyword_set(script, found, keyword, value)
        else:
            called = f"{script.source(found)}({keyword}={value})"
            script = script.edit([replaced(script, found, called)])
    return script


def _function(script: Script, line: int) -> NamedFunction:
    found = script.function_at(line)
    if found is None:
        raise CannotEdit(f"line {line} is in no function", line)
    return found
