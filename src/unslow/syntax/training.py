"""Which loops train: the calls that update weights once, and their loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from unslow.syntax.callees import Definition
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    FUNCTIONS,
    STATEMENT_LOOPS,
    StatementLoop,
    argument,
    method_of,
    of_type,
    own_calls,
    own_nodes,
    receiver_of,
)
from unslow.syntax.values import Valued

_DEPTH = 4  # functions that call functions that update the weights
_UPDATES = {
    "apply_gradients": (Kind.OPTIMIZER, Kind.UNKNOWN),
    "apply": (Kind.OPTIMIZER,),
    "minimize": (Kind.OPTIMIZER,),
    "train_on_batch": (Kind.MODEL,),
}


class Trained(Valued):
    """A tree that knows its training loops."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._steps: dict[ast.AST, bool] = {}

    def innermost(self, node: ast.AST) -> StatementLoop | None:
        """The innermost `for` or `while` of the same function that runs a node repeatedly."""
        return next((loop for loop in self.loops(node) if isinstance(loop, STATEMENT_LOOPS)), None)

    @cached_property
    def step_loops(self) -> dict[ast.AST, list[ast.Call]]:
        """The loops of which each turn updates the weights, and the calls that do so."""
        found: dict[ast.AST, list[ast.Call]] = {}
        for call in self.every(ast.Call):
            loop = self.innermost(call)
            if loop is not None and self.trace_of(call) is None and self.is_step(call):
                found.setdefault(loop, []).append(call)
        return found

    def repeated_by(self, node: ast.AST, depth: int = _DEPTH) -> list[StatementLoop]:
        """The innermost loops that repeat a node, around it or around calls of its function."""
        own, function = self.innermost(node), self.function(node)
        if own is not None:
            return [own]
        if function is None or depth == 0:
            return []
        calls = self.callers(function)
        found = [loop for call in calls for loop in self.repeated_by(call, depth - 1)]
        return list(dict.fromkeys(found))

    def every_step(self, node: ast.AST, depth: int = _DEPTH) -> StatementLoop | None:
        """The training loop that reaches a node in every step, None if it may be skipped."""
        if self.trace_of(node) is not None or self._is_skipped(node):
            return None
        own, function = self.innermost(node), self.function(node)
        if own is not None:
            return own if own in self.step_loops and not self._holds_steps(own) else None
        if function is None or depth == 0:
            return None
        found = (self.every_step(call, depth - 1) for call in self.callers(function))
        return next((loop for loop in found if loop is not None), None)

    def _is_skipped(self, node: ast.AST) -> bool:
        """Whether some turns of its loop, or some calls of its function, may pass a node by."""
        own = self.innermost(node)
        if any(self.conditions(node, own)) or self._is_optional(node, own):
            return True
        around = own or self.function(node)
        leaves = ast.Continue if own is not None else ast.Return
        ways_out = of_type(own_nodes(around), leaves) if around else []
        earlier = [part for part in ways_out if _is_before(part, node)]
        return any(self._leaves(part, node, own) for part in earlier)

    def _is_optional(self, node: ast.AST, loop: ast.AST | None) -> bool:
        """Whether a node is evaluated only if something before it in its statement says so."""
        for child, parent in self.upwards(node):
            if parent is loop or isinstance(parent, FUNCTIONS):
                return False
            late = isinstance(parent, ast.BoolOp) and child is not parent.values[0]
            if late or isinstance(parent, (ast.ExceptHandler, ast.match_case)):
                return True
        return False

    def _leaves(self, leave: ast.AST, node: ast.AST, loop: ast.AST | None) -> bool:
        """Whether a `continue` of a loop, or a `return`, skips a node that comes after it."""
        if self.within(node, leave):
            return False
        loops = (parent for parent in self.ancestors(leave) if isinstance(parent, STATEMENT_LOOPS))
        return loop is None or next(loops, None) is loop

    def _holds_steps(self, loop: ast.AST) -> bool:
        """Whether an inner loop makes the steps, as below a loop over epochs."""
        nodes = list(own_nodes(loop))
        called = map(self.callee, of_type(nodes, ast.Call))
        own = [found.node for found in called if found is not None and found.source is self]
        holders = [*nodes, *own]
        steps = [inner for inner in self.step_loops if inner is not loop]
        return any(self.within(inner, holder) for inner in steps for holder in holders)

    def is_step(self, call: ast.Call, depth: int = _DEPTH) -> bool:
        """Whether a call updates the weights once, itself or through functions without a loop."""
        kinds = _UPDATES.get(method_of(call), ())
        updates = bool(kinds) and self.kind(receiver_of(call)) in kinds
        if updates or self.is_session_run(call):
            return True
        return depth > 0 and any(self._steps_once(found, depth) for found in self._run_by(call))

    def is_session_run(self, call: ast.Call) -> bool:
        """Whether a call runs a TF1 graph: on a known session, or with a `feed_dict`."""
        method = method_of(call)
        if method not in ("run", "eval"):
            return False
        fed = argument(call, "feed_dict") is not None and self.uses_tensorflow
        return fed or (method == "run" and self.kind(receiver_of(call)) is Kind.SESSION)

    def _run_by(self, call: ast.Call) -> Iterator[Definition[Valued]]:
        """The user's functions that a call runs: the one it names, or hands to a strategy."""
        given = self.definition(call.args[0]) if call.args and self.runs_on_replicas(call) else None
        for found in (self.callee(call), given):
            if found is not None:
                yield Definition(found.source, found.node)

    def _steps_once(self, found: Definition[Valued], depth: int) -> bool:
        source, function = found.source, found.node
        if not isinstance(source, Trained) or not isinstance(function, FUNCTIONS):
            return False
        if function not in source._steps:
            source._steps[function] = False  # a function that calls itself
            calls = own_calls(function)
            flat = [call for call in calls if source.innermost(call) is None]
            steps = any(source.is_step(call, depth - 1) for call in flat)
            source._steps[function] = steps or _descends(calls, flat)
        return source._steps[function]


def _is_before(node: ast.AST, other: ast.AST) -> bool:
    return (node.lineno, node.col_offset) < (other.lineno, other.col_offset)  # type: ignore[attr-defined]


def _descends(calls: list[ast.Call], flat: list[ast.Call]) -> bool:
    """Whether a function takes gradients and subtracts them from weights by hand."""
    return "gradient" in map(method_of, flat) and "assign_sub" in map(method_of, calls)
