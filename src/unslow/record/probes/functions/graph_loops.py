"""Sees loops that become part of a graph, by the user's line, and whether one iteration needs the one before."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import clock

_MOST_OPS = 3000  # of a loop's body: a larger one is taken to need the iteration before
_FRAMES = 4
_PIPELINE = os.path.join("tensorflow", "python", "data", "")
_SUMS = ("Add", "AddV2", "AddN", "Sub")
_SAME = ("Identity", "IdentityN", "Cast", "StopGradient")


class Loops(Probe):
    name = "loops"

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow.python.ops.while_v2": self._on_while}

    def _on_while(self, module: ModuleType) -> None:
        # Seen on 2.15 to 2.21. Without it loops inside graphs have no line, and nothing is said about them.
        self.replace(module, "_build_while_op", self._build)

    def _build(self, original: Callable[..., Any]) -> Callable[..., Any]:
        probe = self

        def _build_while_op(
            loop_vars: Any, cond_graph: Any, body_graph: Any, *args: Any, **kwargs: Any
        ) -> Any:
            result = original(loop_vars, cond_graph, body_graph, *args, **kwargs)
            began = clock()
            try:
                # The loop that computes gradients belongs to the one it was made for.
                if "Grad" not in type(body_graph).__name__:
                    probe._note(cond_graph, body_graph, sys._getframe().f_back)
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                probe.recorder.lost(probe.name, f"{type(problem).__name__}: {problem}")
            probe.recorder.keep_out(probe.recorder.local.lane, clock() - began, probe.name)
            return result

        return _build_while_op

    def _note(self, cond: Any, body: Any, frame: Any) -> None:
        makers, pipeline = set(), False
        walk = frame
        while walk is not None:
            makers.add(walk.f_code.co_name)
            pipeline = pipeline or _PIPELINE in walk.f_code.co_filename
            walk = walk.f_back
        stack = self._lines()
        made = next(
            (name for name in ("map_fn", "scan", "foldl", "foldr", "rnn") if name in makers),
            "while_loop",
        )
        self.recorder.fact(
            "graph_loop",
            str(stack[:1]),
            stack=stack,
            name=str(getattr(body, "name", "")),
            made_by=made,
            carried=carried(body),
            ops=len(body.get_operations()),
            pipeline=pipeline,
            step=self.steps.total,
        )

    def _lines(self) -> list[Any]:
        """The user's frames, innermost first; TensorFlow maps code that AutoGraph made back to theirs."""
        tf_stack: Any = sys.modules.get("tensorflow.python.util.tf_stack")
        places: list[Any] = []
        for frame in reversed(list(tf_stack.extract_stack()) if tf_stack is not None else []):
            if self.recorder.user.owns_file(frame.filename):
                places.append([frame.filename, frame.lineno, frame.name])
                self.recorder.keep_source(frame.filename)
                if len(places) == _FRAMES:
                    break
        return places


def carried(body: Any) -> bool:
    """Whether an iteration needs what the one before it computed.

    Counters, sums and lists that are only written to do not count: they can be computed at once.
    """
    operations = body.get_operations()
    if len(operations) > _MOST_OPS or any(
        "Assign" in op.type or "Scatter" in op.type for op in operations
    ):
        return True
    pairs = list(zip(body.inputs, body.outputs, strict=False))
    written = [(entry, leave) for entry, leave in pairs if _source(leave) is not entry]
    state = {id(entry): entry for entry, leave in written if not _gathers(entry, leave)}
    lists = {id(entry) for entry, _ in written if entry.dtype.name == "variant"}
    # A list that is both read and written in the loop hands values from one iteration to the next.
    read = any(
        op.type == "TensorListGetItem" and id(_source(op.inputs[0])) in lists for op in operations
    )
    return read or any(_needs(leave, set(state)) for _, leave in written)


def _source(tensor: Any) -> Any:
    """The tensor that others only pass on."""
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[tensor.value_index if tensor.op.type == "IdentityN" else 0]
    return tensor


def _gathers(entry: Any, leave: Any) -> bool:
    """Whether a loop variable only counts, sums up or is written to."""
    made = _source(leave).op
    if entry.dtype.name == "variant":
        return bool(made.type.startswith(("TensorListSetItem", "TensorListPushBack"))) and _is(
            made.inputs[0], entry
        )
    if made.type not in _SUMS:
        return False
    mine = [value for value in made.inputs if _is(value, entry)]
    return len(mine) == 1 and not any(
        _needs(value, {id(entry)}) for value in made.inputs if value is not mine[0]
    )


def _is(tensor: Any, entry: Any) -> bool:
    return _source(tensor) is entry


def _needs(tensor: Any, entries: set[int]) -> bool:
    """Whether a tensor is computed from one of the loop's variables."""
    if not entries:
        return False
    todo, done = [tensor], set()
    while todo:
        found = todo.pop()
        if id(found) in entries:
            return True
        if id(found.op) not in done:
            done.add(id(found.op))
            todo.extend(found.op.inputs)
    return False
