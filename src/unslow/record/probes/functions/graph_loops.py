"""Sees loops that become part of a graph, and whether an iteration needs the one before."""

from __future__ import annotations

import itertools
import os
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from unslow.facts.functions import GraphLoop
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.probes.functions.compiled import traces_of

if TYPE_CHECKING:
    from unslow.record.engine.live_objects import Living

_MOST_OPS = 3000  # of a loop's body: a larger one is taken to need the iteration before
_FRAMES = 4
_WHILE = ("While", "StatelessWhile")
# nanoseconds for graphs that were made before: a tenth of the pause that is promised
_LONGEST = 10_000_000
_PIPELINE = os.path.join("tensorflow", "python", "data", "")
_SUMS = ("Add", "AddV2", "AddN", "Sub")
_MAKERS = ("map_fn", "scan", "foldl", "foldr", "rnn")
_SAME = ("Identity", "IdentityN", "Cast", "StopGradient")


class Loops(Probe):
    name = "loops"

    def doors(self) -> Doors:
        # Seen on 2.15 to 2.21. Without it loops inside graphs are not reported.
        wrapped = self.wrapping({"_build_while_op": self._build})
        return {"tensorflow.python.ops.while_v2": wrapped}

    def inherit(self, living: Living) -> None:
        """Loops of functions that were traced before; who called what is in the trace of the op."""
        until = time.thread_time_ns() + _LONGEST
        for function in living.functions:
            for concrete in traces_of(function)[-1:]:
                for op in concrete.graph.get_operations():
                    if time.thread_time_ns() > until:
                        return
                    # The op keeps it for its gradient, seen on 2.15 to 2.21.
                    body = getattr(op, "_body_graph", None) if op.type in _WHILE else None
                    if body is not None:
                        self._note_made_before(op, body)

    def _note_made_before(self, op: Foreign, body: Foreign) -> None:
        if "Grad" in type(body).__name__:
            return
        frames = list(op.traceback or ())
        self._emit(
            body,
            self._users(frames),
            {frame.name for frame in frames},
            any(_PIPELINE in frame.filename for frame in frames),
        )

    def _build(self, original: Function) -> Function:
        probe = self

        def _build_while_op(
            loop_vars: Foreign,
            cond_graph: Foreign,
            body_graph: Foreign,
            *args: Foreign,
            **kwargs: Foreign,
        ) -> Foreign:
            result = original(loop_vars, cond_graph, body_graph, *args, **kwargs)
            with probe.inspection(probe.recorder.local.lane):
                # The loop that computes gradients belongs to the one it was made for.
                if "Grad" not in type(body_graph).__name__:
                    probe._note(body_graph, sys._getframe().f_back)
            return result

        return _build_while_op

    def _note(self, body: Foreign, frame: FrameType | None) -> None:
        codes = []
        while frame is not None:
            codes.append(frame.f_code)
            frame = frame.f_back
        self._emit(
            body,
            self._lines(),
            {code.co_name for code in codes},
            any(_PIPELINE in code.co_filename for code in codes),
        )

    def _emit(self, body: Foreign, stack: Stack, callers: set[str], pipeline: bool) -> None:
        self.recorder.emit(
            GraphLoop(
                key=str(stack[:1]),
                stack=stack,
                name=str(getattr(body, "name", "")),
                made_by=next((name for name in _MAKERS if name in callers), "while_loop"),
                carried=carried(body),
                ops=len(body.get_operations()),
                pipeline=pipeline,
                step=self.steps.total,
            )
        )

    def _lines(self) -> Stack:
        """The user's frames; TensorFlow maps the code that AutoGraph generates back to theirs."""
        tf_stack: Foreign = sys.modules.get("tensorflow.python.util.tf_stack")
        return self._users(list(tf_stack.extract_stack()) if tf_stack is not None else [])

    def _users(self, frames: list[Foreign]) -> Stack:
        owned = self.recorder.user.of_traceback(frames)
        return self.recorder.kept(itertools.islice(owned, _FRAMES))


def carried(body: Foreign) -> bool:
    """Whether an iteration needs what the one before it computed.

    Counters, sums and lists that are only written to do not count: they can be computed at once.
    """
    operations = body.get_operations()
    assigns = any("Assign" in op.type or "Scatter" in op.type for op in operations)
    if assigns or len(operations) > _MOST_OPS:
        return True
    pairs = list(zip(body.inputs, body.outputs, strict=False))
    written = [(entry, leave) for entry, leave in pairs if _source(leave) is not entry]
    state = {id(entry) for entry, leave in written if not _gathers(entry, leave)}
    lists = {id(entry) for entry, _ in written if entry.dtype.name == "variant"}
    # A list that is both read and written passes values from one iteration to the next.
    reads = [op for op in operations if op.type == "TensorListGetItem"]
    if any(id(_source(op.inputs[0])) in lists for op in reads):
        return True
    return any(_needs(leave, state) for _, leave in written)


def _source(tensor: Foreign) -> Foreign:
    """The tensor that others only pass on."""
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[tensor.value_index if tensor.op.type == "IdentityN" else 0]
    return tensor


def _gathers(entry: Foreign, leave: Foreign) -> bool:
    """Whether a loop variable only counts, sums up or is written to."""
    made = _source(leave).op
    if entry.dtype.name == "variant":
        appends = made.type.startswith(("TensorListSetItem", "TensorListPushBack"))
        return bool(appends) and _source(made.inputs[0]) is entry
    if made.type not in _SUMS:
        return False
    mine = [value for value in made.inputs if _source(value) is entry]
    others = [value for value in made.inputs if value is not mine[0]] if mine else []
    return len(mine) == 1 and not any(_needs(value, {id(entry)}) for value in others)


def _needs(tensor: Foreign, entries: set[int]) -> bool:
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
