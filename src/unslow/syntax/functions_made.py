"""Lines that create a tf.function again in every iteration of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.syntax import Source
from unslow.syntax.nodes import StatementLoop


@dataclass(frozen=True)
class MadeFunction:
    """A decorated definition or a wrapping call, and the calls of the tf.function it creates."""

    node: ast.AST
    calls: list[ast.Call]


def functions_remade(source: Source) -> Iterator[tuple[MadeFunction, StatementLoop]]:
    """Each tf.function that a loop creates and calls in every iteration."""
    for made in _functions_made(source):
        loop = _repeating_loop(source, made)
        if loop is not None and source.trace_of(made.node) is None:
            yield made, loop


def _repeating_loop(source: Source, made: MadeFunction) -> StatementLoop | None:
    loop = source.innermost(made.node)
    if loop is None:
        return _calling_loop(source, made)
    return _own_loop(source, made, loop)


def _functions_made(source: Source) -> Iterator[MadeFunction]:
    for function in source.every(ast.FunctionDef):
        if source.compiler(function) is not None:
            yield MadeFunction(function, source.callers(function))
    for call in source.calls("tf.function"):
        match source.parents.get(call):
            case ast.Call() as parent if parent.func is call and parent in source.parents:
                yield MadeFunction(call, [parent])
            case ast.Assign() as assign:
                yield MadeFunction(call, list(_calls_of(source, assign)))


def _calls_of(source: Source, assign: ast.Assign) -> Iterator[ast.Call]:
    """The calls of what was assigned to a name."""
    for call in source.every(ast.Call):
        bindings = source.reaching(call.func) if isinstance(call.func, ast.Name) else []
        if any(binding.node is assign for binding in bindings):
            yield call


def _own_loop(source: Source, made: MadeFunction, loop: StatementLoop) -> StatementLoop | None:
    is_called = any(source.innermost(call) is loop for call in made.calls)
    is_skipped = any(source.conditions(made.node, loop))
    return loop if is_called and not is_skipped else None


def _calling_loop(source: Source, made: MadeFunction) -> StatementLoop | None:
    """The loop that calls a function which creates a tf.function and calls it at once."""
    around = source.function(made.node)
    if around is None or any(source.conditions(made.node)) or around in source.traces:
        return None
    if not any(_runs_once_in(source, call, around) for call in made.calls):
        return None
    loops = [source.innermost(caller) for caller in source.callers(around)]
    return next((loop for loop in loops if loop is not None and _is_run(source, loop)), None)


def _runs_once_in(source: Source, call: ast.Call, function: ast.AST) -> bool:
    return source.function(call) is function and source.innermost(call) is None


def _is_run(source: Source, loop: StatementLoop) -> bool:
    """Not sure inside a function that does not train: it may run only during tracing."""
    return loop in source.step_loops or source.function(loop) is None
