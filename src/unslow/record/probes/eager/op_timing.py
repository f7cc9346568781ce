"""Times every eager op of one step, and which of the user's lines run them."""

from __future__ import annotations

import sys
from collections import Counter
from threading import get_ident
from types import FrameType, ModuleType

from unslow.facts.eager import EagerOps
from unslow.facts.phase import Phase
from unslow.facts.schema import stack_of
from unslow.record.engine.fence import attempted
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.lanes import SPAN_PHASE
from unslow.record.engine.recorder import Lane, Recorder, clock

# Where single ops and whole functions go through to the runtime; seen on 2.15 to 2.21. One that is
# missing is left alone, and what goes through it is not counted.
_OPS = "TFE_Py_FastPathExecute"
_OTHERS = ("TFE_Py_Execute", "TFE_Py_ExecuteCancelable")
_FRAMES = 6
_LINES = 30
_MOST_OPS = 20_000
_WINDOWS = 9
_LARGE = 10  # times the cost of asking: an op that really computes
_RANDOM = (
    "Random",
    "TruncatedNormal",
    "Multinomial",
    "ParameterizedTruncatedNormal",
)  # ops with a state of their own
# What runs in these is not the step's: Keras's predict makes a pipeline by ops that take long.
_APART = frozenset((Phase.INPUT, Phase.SAVE, Phase.LOG, Phase.EVAL))


Past = dict[tuple[str, int], list[int]]  # of the n-th op of a type: what it took in earlier windows


class OpWindow:
    """Times every op of one thread while it is open; its own work is taken out of the step."""

    def __init__(self, recorder: Recorder, module: ModuleType, past: Past, lane: Lane) -> None:
        self._recorder = recorder
        self._past = past
        self._module = module
        self._lane = lane
        self._thread = lane.thread
        self._began = clock()
        self._own = 0
        self._ops: dict[str, list[int]] = {}  # nanoseconds of each op, by its type
        self._functions = [0, 0]  # whole functions that were called: how many, their nanoseconds
        self._lines: dict[tuple[Foreign, ...], list[int]] = {}
        self.rows = 1  # that are still to come before it closes
        self.tape: Foreign = ()  # where the gradient tape was opened
        self._held: list[tuple[str, Foreign, Foreign]] = []
        for name in (_OPS, *_OTHERS):
            original = getattr(module, name, None)
            if original is not None:
                wrapper = self._fast(original) if name == _OPS else self._slow(original)
                setattr(module, name, wrapper)
                self._held.append((name, original, wrapper))

    def _fast(self, execute: Function) -> Function:
        local, thread, note = self._recorder.local, self._thread, self._note

        def timed(context: object, name: str, *args: object) -> object:
            lane = local.lane
            if lane.thread != thread or _is_apart(lane):
                return execute(context, name, *args)
            began = clock()
            try:
                return execute(context, name, *args)
            finally:
                note(name, clock() - began, sys._getframe().f_back)

        return timed

    def _slow(self, execute: Function) -> Function:
        local, thread, note, functions = (
            self._recorder.local,
            self._thread,
            self._note,
            self._functions,
        )

        def timed(context: object, device: object, name: Foreign, *args: object) -> object:
            lane = local.lane
            if lane.thread != thread or _is_apart(lane):
                return execute(context, device, name, *args)
            began = clock()
            try:
                return execute(context, device, name, *args)
            finally:
                took = clock() - began
                text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
                if text.startswith(
                    "__"
                ):  # a graph: its name begins with __inference_, __forward_ or __backward_
                    functions[0] += 1
                    functions[1] += took
                else:
                    note(text, took, sys._getframe().f_back)

        return timed

    def _note(self, name: str, took: int, frame: FrameType | None) -> None:
        began = clock()
        self._ops.setdefault(name, []).append(took)
        nowhere: list[tuple[str, int, str]] = []
        places = tuple(attempted(nowhere, self._recorder.user.stack, frame, _FRAMES))
        line = self._lines.setdefault(places, [0, 0])
        line[0] += 1
        line[1] += took
        self._own += clock() - began

    def enter_tape(self, frame: FrameType | None) -> None:
        if not self.tape:
            self.tape = self._recorder.stack(frame, _FRAMES)

    def close(self, step: int, outside: bool = False) -> None:
        """Put everything back and write what was seen; any thread may do so."""
        began = clock()
        for name, original, wrapper in self._held:
            if getattr(self._module, name) is wrapper:
                setattr(self._module, name, original)
        self._lane.own += self._own
        self._recorder.spent("eager", self._own)
        wall = began - self._began - self._own
        took = sorted(each for ops in self._ops.values() for each in ops)
        floor, kernels = self._kernels()
        names = Counter({name: len(ops) for name, ops in self._ops.items()})
        lines = sorted(self._lines.items(), key=lambda item: -item[1][0])[:_LINES]
        self._recorder.emit(
            EagerOps(
                step=step,
                ops=len(took),
                took=sum(took),
                floor=floor,
                kernels=kernels,
                functions=self._functions[0],
                functions_took=self._functions[1],
                tape=self.tape,
                wall=wall,
                lines=tuple((stack_of(places), ops, spent) for places, (ops, spent) in lines),
                top=tuple(names.most_common(12)),
                random=next((name for name in names if name.startswith(_RANDOM)), ""),
                outside=outside,
            )
        )
        if get_ident() == self._thread:  # else it is the watcher's time
            self._recorder.keep_out(self._lane, clock() - began, "eager")

    def _kernels(self) -> tuple[int, int]:
        """What dispatching an op costs at least, and what the ops of this step compute beyond that.

        A loaded machine makes any op long now and then. A small op therefore counts with its
        quickest run in the last windows, a large one with its median: it would be slowed as much in
        a graph. The quickest tenth shows what dispatch costs; some types cost up to three times as
        much, and what is above computes.
        """
        quickest: dict[str, list[tuple[int, int]]] = {}
        for name, ops in self._ops.items():
            for index, took in enumerate(ops):
                past = (
                    self._past.setdefault((name, index), []) if len(self._past) < _MOST_OPS else []
                )
                past.append(took)
                del past[:-_WINDOWS]
                quickest.setdefault(name, []).append((min(past), sorted(past)[len(past) // 2]))
        every = sorted(least for ops in quickest.values() for least, _ in ops)
        floor = every[len(every) // 10] if every else 0
        kernels = 0
        for each in quickest.values():
            asking = min(min(least for least, _ in each), 3 * floor)
            kernels += sum(
                (middle if least > _LARGE * floor else least) - asking for least, middle in each
            )
        return floor, kernels


def _is_apart(lane: Lane) -> bool:
    """Whether a thread does something that is not the step's own work."""
    if lane.within >= 0:
        return lane.within in _APART
    return bool(lane.stack) and lane.stack[-1][SPAN_PHASE] in _APART
