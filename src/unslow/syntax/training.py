"""Which loops train: the calls that update weights once, and the loop that each of them is a turn of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.syntax.callees import Definition
from unslow.syntax.library import Kind
from unslow.syntax.nodes import FUNCTIONS, STATEMENT_LOOPS, argument, own_nodes
from unslow.syntax.values import Valued

_DEPTH = 4  # functions that call functions that update the weights
_UPDATES = {
    "apply_gradients": (Kind.OPTIMIZER, Kind.UNKNOWN),
    "apply": (Kind.OPTIMIZER,),
    "minimize": (Kind.OPTIMIZER,),
}


class Stepped(Valued):
    """A tree that knows its training loops."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._steps: dict[ast.AST, bool] = {}
        self._step_loops: dict[ast.AST, list[ast.Call]] | None = None

    def innermost(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost `for` or `while` of the same function that runs a node again and again."""
        return next((loop for loop in self.loops(node) if isinstance(loop, STATEMENT_LOOPS)), None)

    @property
    def step_loops(self) -> dict[ast.AST, list[ast.Call]]:
        """The loops of which each turn updates the weights, and the calls that do so."""
        if self._step_loops is None:
            self._step_loops = {}
            for call in self.every(ast.Call):
                loop = self.innermost(call)
                if loop is not None and self.trace_of(call) is None and self.is_step(call):
                    self._step_loops.setdefault(loop, []).append(call)
        return self._step_loops

    def repeated_by(
        self, node: ast.AST, depth: int = _DEPTH
    ) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The innermost loops that run a node again: around it, or around the calls of its function in this file."""
        own = self.innermost(node)
        function = self.function(node)
        if own is not None or function is None or depth == 0:
            return [own] if own is not None else []
        found = [
            loop for call in self.callers(function) for loop in self.repeated_by(call, depth - 1)
        ]
        return list(dict.fromkeys(found))

    def every_step(
        self, node: ast.AST, depth: int = _DEPTH
    ) -> ast.For | ast.AsyncFor | ast.While | None:
        """The training loop that comes by a node in each step, whatever is tested on the way; None where none must."""
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
        if any(self.conditions(node, own)):
            return True
        child = node
        for parent in self.ancestors(node):
            if parent is own or isinstance(parent, FUNCTIONS):
                break
            late = isinstance(parent, ast.BoolOp) and child is not parent.values[0]
            if late or isinstance(parent, (ast.ExceptHandler, ast.match_case)):
                return True
            child = parent
        around, leaves = (
            (own, ast.Continue) if own is not None else (self.function(node), ast.Return)
        )
        if around is None:
            return False
        ways_out = (
            part
            for part in own_nodes(around)
            if isinstance(part, leaves) and not self.within(node, part)
        )
        earlier = (part for part in ways_out if self._is_before(part, node))
        return any(own is None or self._continues(part, own) for part in earlier)

    def _continues(self, leave: ast.AST, loop: ast.AST) -> bool:
        return (
            next(
                (parent for parent in self.ancestors(leave) if isinstance(parent, STATEMENT_LOOPS)),
                None,
            )
            is loop
        )

    @staticmethod
    def _is_before(node: ast.AST, other: ast.AST) -> bool:
        return (node.lineno, node.col_offset) < (other.lineno, other.col_offset)  # type: ignore[attr-defined]

    def _holds_steps(self, loop: ast.AST) -> bool:
        """Whether the steps are made further in: a loop over epochs may run something of its own in each."""
        inside = [node for node in own_nodes(loop) if node in self.step_loops]
        called = [self.callee(node) for node in own_nodes(loop) if isinstance(node, ast.Call)]
        own = [found.node for found in called if found is not None and found.source is self]
        return bool(inside) or any(
            self.within(inner, node) for inner in self.step_loops for node in own
        )

    def is_step(self, call: ast.Call, depth: int = _DEPTH) -> bool:
        """Whether a call updates the weights once: itself, or through the user's own functions without a loop."""
        if isinstance(call.func, ast.Attribute):
            kinds = _UPDATES.get(call.func.attr)
            if kinds is not None and self.kind(call.func.value) in kinds:
                return True
            if call.func.attr == "train_on_batch" and self.kind(call.func.value) is Kind.MODEL:
                return True
        if self.is_session_run(call):
            return True
        return depth > 0 and any(self._steps_once(found, depth) for found in self._run_by(call))

    def is_session_run(self, call: ast.Call) -> bool:
        """Whether a call runs a TF1 graph: on a known session, or told by its `feed_dict`."""
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in ("run", "eval"):
            return False
        fed = argument(call, "feed_dict") is not None and self.uses_tensorflow
        return fed or (function.attr == "run" and self.kind(function.value) is Kind.SESSION)

    def _run_by(self, call: ast.Call) -> Iterator[Definition[Valued]]:
        """The user's functions that a call runs: the one it names, and the one it hands to a strategy."""
        found = self.callee(call)
        if found is not None:
            yield Definition(found.source, found.node)
        given = self.definition(call.args[0]) if call.args and self.runs_on_replicas(call) else None
        if given is not None:
            yield Definition(given.source, given.node)

    def _steps_once(self, found: Definition[Valued], depth: int) -> bool:
        source, function = found.source, found.node
        if not isinstance(source, Stepped) or not isinstance(function, FUNCTIONS):
            return False
        if function not in source._steps:
            source._steps[function] = False  # a function that calls itself
            calls = [node for node in own_nodes(function) if isinstance(node, ast.Call)]
            flat = [call for call in calls if source.innermost(call) is None]
            source._steps[function] = _descends(calls, flat) or any(
                source.is_step(call, depth - 1) for call in flat
            )
        return source._steps[function]


def _descends(calls: list[ast.Call], flat: list[ast.Call]) -> bool:
    """Whether a function takes gradients and subtracts them from the weights by hand, one after another."""
    methods = [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]
    taken = any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "gradient" for call in flat
    )
    return taken and "assign_sub" in methods
