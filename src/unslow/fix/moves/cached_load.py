"""Keep a model that is loaded from its file repeatedly."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import put_above
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.shapes import call_by, calls_of, outermost_definition, reads
from unslow.syntax.nodes import NamedFunction, last_name, words

_LOADERS = ("keras.models.load_model", "keras.saving.load_model", "tf.saved_model.load")
_CACHE = "functools.cache"
# What is done with a model that leaves it as it is.
_HARMLESS = words(
    "predict predict_on_batch evaluate test_on_batch summary get_weights signatures count_params"
    " layers input_shape output_shape inputs outputs weights trainable_variables"
)


def loads_model(script: Script, line: int) -> bool:
    """Whether a line loads a model from a file."""
    return _load(script, line) is not None


def load_once(script: Script, line: int) -> Script:
    """The call that loads a model goes into a cached function: one load per path."""
    call = script.needed(_load(script, line), "no model is loaded on this line", line)
    _require_unchanged(script, call)
    cache, imports = spelling(script, _CACHE)
    top = outermost_definition(script, call) or script.statement_of(call)
    return script.edit([*imports, *_edits(script, call, top, cache)])


def _load(script: Script, line: int) -> ast.Call | None:
    return next(iter(calls_of(script, script.calls_at(line), *_LOADERS)), None)


def _require_unchanged(script: Script, call: ast.Call) -> None:
    """Raises where the loaded model may be changed: the next one to ask for it would get that."""
    parent = script.parents[call]
    if isinstance(parent, ast.Attribute) and parent.attr in _HARMLESS:
        return
    function = script.function_of(call)
    if isinstance(parent, ast.Return | ast.Yield) and function is not None:
        _require_callers_change_nothing(script, call, function)
        return
    match parent:
        case (
            ast.Assign(targets=[ast.Name(id=name)])
            | ast.For(target=ast.Name(id=name))
            | ast.comprehension(target=ast.Name(id=name))
        ):
            _require_only_called(script, name, script.home(call))
        case _:
            raise script.refuse("what is loaded there is handed on", call)


def _require_callers_change_nothing(
    script: Script, call: ast.Call, function: NamedFunction
) -> None:
    """Raises where a caller of the function that returns the model may change it."""
    named = script.possible_calls(function)
    sites = [site for site in named if script.name(site.func) not in _LOADERS]
    script.refuse_if(not sites, "what is loaded there is handed on", call)
    for site in sites:
        _require_unchanged(script, site)


def _require_only_called(script: Script, name: str, scope: ast.AST) -> None:
    """Raises where the model that a name holds is used for more than calls."""
    for use in reads(scope, name):
        harmless = call_by(script, use) or last_name(script.parents[use]) in _HARMLESS
        script.refuse_if(not harmless, f"`{name}` may be changed or kept here", use)


def _edits(script: Script, call: ast.Call, top: ast.stmt, cache: str) -> list[Splice]:
    parameters, given, inner = [], [], []
    for number, value in enumerate(call.args):
        if isinstance(value, ast.Constant):
            inner.append(script.source(value))
            continue
        script.refuse_if(isinstance(value, ast.Starred), "the call unpacks its arguments", value)
        name = value.id if isinstance(value, ast.Name) else f"path{number or ''}"
        parameters.append(name)
        given.append(script.source(value))
        inner.append(name)
    for keyword in call.keywords:
        if not isinstance(keyword.value, ast.Constant):
            raise script.refuse("it is loaded with more than a path and settings", call)
        inner.append(script.source(keyword))
    kept = script.fresh("loaded_model")
    rows = (
        f"@{cache}",
        f"def {kept}({', '.join(parameters)}):",
        f"    return {script.source(call.func)}({', '.join(inner)})",
    )
    use = Splice(*script.span(call), f"{kept}({', '.join(given)})")
    return [put_above(script, top, *rows, blank_lines=2), use]
