"""Lines that add ops to a TF1 graph in a loop that runs a session."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.syntax import FUNCTIONS, STATEMENT_LOOPS, Source, own_nodes
from unslow.syntax.nodes import Loop, StatementLoop, own_calls

_NEW_GRAPH = ("tf.Graph", "tf.reset_default_graph")


def ops_built_in_loops(source: Source) -> Iterator[tuple[StatementLoop, ast.AST]]:
    """The first op of each statement that adds ops in every turn of a session loop."""
    seen: set[ast.stmt | None] = set()
    for loop in _session_loops(source):
        if _starts_graph(source, loop):
            continue
        for node in _ops_built(source, loop, set()):
            statement = source.statement(node)
            if statement not in seen:
                seen.add(statement)
                yield loop, node


def _session_loops(source: Source) -> list[StatementLoop]:
    """The loops around each run of a session, also through the user's functions."""
    found: list[Loop] = []
    seen: set[ast.AST] = set()
    waiting = list(source.session_runs())
    while waiting:
        call = waiting.pop(0)
        found += source.loops(call)
        function = source.function(call)
        if function is not None and function not in seen:
            seen.add(function)
            waiting += source.callers(function)
    return [loop for loop in dict.fromkeys(found) if isinstance(loop, STATEMENT_LOOPS)]


def _ops_built(source: Source, body: ast.AST, seen: set[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that add ops in every run of a loop or function, also through its callees."""
    for node in own_nodes(body):
        if not _always_runs(source, node, body):
            continue
        if source.adds_ops(node) and source.trace_of(node) is None:
            yield node
        callee = _callee(source, node)
        if callee is not None and callee not in seen:
            seen.add(callee)
            yield from _ops_built(source, callee, seen)


def _always_runs(source: Source, node: ast.AST, body: ast.AST) -> bool:
    """Not so for a loop's iterable and `else`, nor for what a condition may skip."""
    if isinstance(body, STATEMENT_LOOPS) and body not in source.loops(node):
        return False
    return not any(source.conditions(node, body))


def _callee(source: Source, node: ast.AST) -> ast.AST | None:
    """The function of this file that a call runs in the graph of its caller."""
    found = source.callee(node) if isinstance(node, ast.Call) else None
    if found is None or found.source is not source or not isinstance(found.node, FUNCTIONS):
        return None
    is_apart = source.compiler(found.node) is not None or _starts_graph(source, found.node)
    return None if is_apart else found.node


def _starts_graph(source: Source, body: ast.AST) -> bool:
    return any(source.name(call.func) in _NEW_GRAPH for call in own_calls(body))
