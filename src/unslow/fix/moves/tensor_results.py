"""Let a function return tensors, which its callers turn into values of Python or NumPy."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.shapes import call_by, mentions
from unslow.syntax.nodes import NamedFunction, last_name

_TO_PYTHON = ("float", "int", "bool")


@dataclass(frozen=True)
class _Converted:
    """What a function returns: a tensor, and how it is turned into something else."""

    whole: ast.Call
    tensor: ast.expr
    form: str  # `float({})`, `{}.numpy()`


def results_as_tensors(script: Script, function: NamedFunction) -> Script | None:
    """`return loss.numpy()` becomes `return loss`, and its call `step(x)` `step(x).numpy()`.

    None where the function returns anything else, or is used for more than the calls in this file.
    """
    results = [_converted(script, value) for value in script.returned(function)]
    known = [result for result in results if result is not None]
    forms = {result.form for result in known}
    calls = _calls(script, function)
    if len(known) != len(results) or len(forms) != 1 or not calls:
        return None
    edits = [replaced(script, each.whole, script.source(each.tensor)) for each in known]
    form = forms.pop()
    edits += [Splice(*script.span(call), form.format(script.source(call))) for call in calls]
    return script.edit(edits)


def _converted(script: Script, value: ast.expr | None) -> _Converted | None:
    match value:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            return _Converted(value, tensor, "{}.numpy()")
        case ast.Call(func=ast.Name(id=name), args=[tensor], keywords=[]):
            if script.name(value.func) in _TO_PYTHON:
                return _Converted(value, tensor, f"{name}({{}})")
    return None


def _calls(script: Script, function: NamedFunction) -> list[ast.Call]:
    """The calls of a function, where it is certain that they are all of its uses."""
    if any(script.other_files(function.name)) or script.callers(function) == []:
        return []
    calls = script.callers(function)
    named = [node for node in script.every(ast.Attribute) if last_name(node) == function.name]
    uses = [call_by(script, node) for node in (*mentions(script.tree, function.name), *named)]
    nested = any(script.within(call, other) for call in calls for other in calls if call != other)
    return calls if all(use in calls for use in uses) and not nested else []
