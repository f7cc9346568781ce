"""Run a Keras metric that a loop updates op by op as compiled functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.fix.edit.blocks import put_above
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.captured_values import called_in_loop
from unslow.fix.moves.hoist import dependence
from unslow.fix.moves.shapes import only_binding, reads
from unslow.syntax.library import Kind
from unslow.syntax.nodes import StatementLoop, given_values, method_of, words
from unslow.syntax.python_types import PythonType, type_in_loops

_COMPILED = {"update_state": "update_{}", "result": "result_of_{}"}
_METHODS = frozenset(_COMPILED) | words("reset_state reset_states")
# Each value would be traced anew.
_RETRACING = (PythonType.INT, PythonType.FLOAT, PythonType.NUMPY, PythonType.LIST, PythonType.TEXT)


@dataclass(frozen=True)
class _Metric:
    """A metric that one statement makes, and all that is done with it."""

    made: ast.Assign
    calls: list[ast.Call]
    loop: StatementLoop  # in front of which it is made and compiled once


def metric_at(script: Script, line: int) -> ast.Name | None:
    """The metric, held by a plain name, whose method a line calls."""
    for call in script.calls_at(line):
        match call.func:
            case ast.Attribute(value=ast.Name() as receiver, attr=method) if method in _COMPILED:
                if script.kind(receiver) is Kind.METRIC:
                    return receiver
    return None


def compile_metric(script: Script, receiver: ast.Name) -> Script:
    """`update_state` and `result` as tf.functions; a metric of each turn is made once and reset."""
    name, metric = receiver.id, _metric(script, receiver)
    compiler, imports = spelling(script, "tf.function", receiver)
    again = metric.loop in script.loops_around(metric.made)
    used = {method_of(call) for call in metric.calls}
    names = {
        method: script.fresh(form.format(name))
        for method, form in _COMPILED.items()
        if method in used
    }
    rows = [script.source(metric.made)] if again else []
    for method, new in names.items():
        rows.append(f"{new} = {compiler}({name}.{method}, reduce_retracing=True)")
    splices = [*imports, put_above(script, metric.loop, *rows)]
    if again:
        splices.append(Splice(*script.span(metric.made), f"{name}.reset_state()"))
    for call in metric.calls:
        if method_of(call) in names:
            splices.append(replaced(script, call.func, names[method_of(call)]))
    return script.edit(splices)


def _metric(script: Script, receiver: ast.Name) -> _Metric:
    binding = only_binding(script, receiver)
    made = binding.node if binding is not None else None
    if not isinstance(made, ast.Assign) or len(made.targets) != 1:
        raise script.refuse(f"`{receiver.id}` is not made by one statement", receiver)
    maker = made.value.func if isinstance(made.value, ast.Call) else made.value
    reason = f"`{receiver.id}` may be a metric of the program's own, which keeps values in Python"
    script.refuse_if(not script.name(maker).startswith("keras.metrics."), reason, made)
    function = script.function_of(receiver)
    if script.function_of(made) is not function:
        raise script.refuse(f"`{receiver.id}` is made in another function", made)
    if function is not None and called_in_loop(script, function):
        reason = f"`{function.name}` is called repeatedly, and would compile it at every call"
        raise script.refuse(reason, function)
    calls = _calls(script, receiver, function or script.tree)
    loop = _loop(script, receiver, made)
    return _Metric(made, calls, loop)


def _calls(script: Script, receiver: ast.Name, scope: ast.AST) -> list[ast.Call]:
    """Every use of the metric, which must be a call of a method that is known."""
    found = []
    for name in reads(scope, receiver.id):
        method = script.parents[name]
        call = script.parents[method]
        if not isinstance(call, ast.Call) or method is not call.func:
            raise script.refuse(f"`{name.id}` is used for more than being updated", name)
        if method_of(call) not in _METHODS:
            raise script.refuse(f"`.{method_of(call)}()` of a metric is not known", call)
        for value in given_values(call):
            if type_in_loops(script, value, script.loops_around(value)) in _RETRACING:
                what = script.source(value)
                raise script.refuse(f"`{what}` is no array: each value would be traced", value)
        found.append(call)
    return found


def _loop(script: Script, receiver: ast.Name, made: ast.Assign) -> StatementLoop:
    """The outermost loop around the updates that does not decide how the metric is made."""
    chosen: StatementLoop | None = None
    inside_loops = script.loops_around(made)
    for loop in script.loops_around(receiver):
        if loop in inside_loops and dependence(script, loop, [made.value]) is not None:
            break
        if loop not in inside_loops or script.parents[made] is inside_loops[0]:
            chosen = loop
    if chosen is None:
        raise script.refuse(f"`{receiver.id}` is made anew in a way that depends on the loop", made)
    if inside_loops and chosen not in inside_loops:
        raise script.refuse(f"`{receiver.id}` would be compiled anew in the loop around it", made)
    return chosen
