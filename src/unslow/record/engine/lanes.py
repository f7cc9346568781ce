"""The threads of the program: open spans, and what each thread gathered since its last row."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign

if TYPE_CHECKING:
    from unslow.record.engine.fast_path import FastPath

clock = time.perf_counter_ns
PHASES = len(Phase)

# An open span is a list: opening and closing one as a slotted object takes 690 ns, as a list 490 ns
# (Python 3.11, a 2 GHz core), and a short step opens several.
Span = list[int]
# Its phase, when it began, and nanoseconds of the spans inside it.
SPAN_PHASE, SPAN_BEGAN, SPAN_INNER = range(3)

_NOTHING = float("nan")
# For a row: nanoseconds by phase, of our own inspections, elements in the batch, the last value.
Gathered = tuple[list[int], int, float, float]
_ABSORBED = frozenset((Phase.RUN, Phase.SYNC, Phase.INPUT, Phase.HOOKS))


class Lane:
    """One thread: its open spans and what it gathered since its last row."""

    __slots__ = (
        "busy",
        "called",
        "calls",
        "elements",
        "evaluated",
        "fast_path",
        "fit",
        "graded",
        "group",
        "last",
        "lent",
        "own",
        "phases",
        "ran",
        "stack",
        "steps",
        "thread",
        "tracing",
        "unsettled",
        "updating",
        "usual",
        "value",
        "within",
    )

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stack: list[Span] = []
        self.phases = [0] * PHASES
        self.last = clock()
        self.own = 0  # nanoseconds of our inspections since the last row, kept out of the step
        self.calls = 0
        self.tracing = 0  # depth of traces
        # Gradients may have been taken since the last step: assigning to weights may be training.
        self.graded = False
        self.updating = 0  # depth of update calls: only the outermost one ends a step
        # Where the thread waits, while a replica's thread works on its behalf.
        self.lent: FrameType | None = None
        self.fit: Foreign = None  # the library's own training loop that is under way, if any
        # tf.functions being called, outermost first, without the one on the fast path.
        self.called: list[Foreign] = []
        self.steps = 0
        self.group = 1  # updates in one call: Keras's steps_per_execution
        self.elements = 0.0
        self.usual = 0.0  # elements of every batch, while nobody inspects them
        self.value = _NOTHING
        self.ran = 0  # nanoseconds that TensorFlow ran inside `within`
        self.evaluated = 0  # nanoseconds in evaluate and predict
        self.fast_path: FastPath | None = None
        # A path that another thread left during a call, which may have been noted on it after all.
        self.unsettled: FastPath | None = None
        self.within = -1  # the phase that everything inside counts for: EVAL while evaluate() runs
        self.busy = False  # an inspection of ours: wrapped calls inside it are not the user's

    @property
    def functions(self) -> list[Foreign]:
        """All tf.functions that are being called, outermost first."""
        path = self.fast_path  # another thread may leave it
        calling = path.calling if path is not None else None
        return self.called if calling is None else [calling, *self.called]

    def gathered(self) -> Gathered:
        """What was gathered for the row that ends; the next begins."""
        row = self.phases, self.own, self.elements or self.usual, self.value
        self.phases = [0] * PHASES
        self.own = 0
        self.elements = 0.0
        self.value = _NOTHING
        return row

    def split_spans(self, now: int) -> None:
        """Give open spans their share of the row that ends, and restart them."""
        inner = 0
        for span in reversed(self.stack):
            took = now - span[SPAN_BEGAN]
            self.phases[span[SPAN_PHASE]] += took - span[SPAN_INNER] - inner
            inner = took
            span[SPAN_BEGAN] = now
            span[SPAN_INNER] = 0

    def postpone(self, nanoseconds: int) -> None:
        """Take an inspection out of the step under way, and out of the spans open around it."""
        for span in self.stack:
            span[SPAN_BEGAN] += nanoseconds
        self.own += nanoseconds
        self.calls += 1  # what comes next is not just one more repetition of a call


class Lanes(threading.local):
    """The lane of the calling thread."""

    def __init__(self, lanes: list[Lane], joining: list[Callable[[Lane], None]]) -> None:
        self.lane = Lane()
        lanes.append(self.lane)
        for join in joining:
            join(self.lane)


def open_span(lane: Lane, phase: int) -> Span:
    span = [phase, clock(), 0]
    lane.stack.append(span)
    return span


def close_span(lane: Lane, span: Span) -> int:
    """End a span; its self time goes to its phase. Returns the whole of its nanoseconds."""
    stack = lane.stack
    while stack and stack.pop() is not span:  # an unclosed span ends with its parent
        pass
    phase, began, inner = span
    took = clock() - began
    if lane.within >= 0 and phase in _ABSORBED:
        if phase == Phase.RUN:
            lane.ran += took - inner
        phase = lane.within
    lane.phases[phase] += took - inner
    lane.calls += 1
    if stack:
        stack[-1][SPAN_INNER] += took
    return took


def add_span(lane: Lane, phase: int, began: int, took: int) -> None:
    """A span that is over already, in the innermost one that was open then."""
    if lane.within >= 0 and phase in _ABSORBED:
        phase = lane.within
    lane.phases[phase] += took
    lane.calls += 1
    for span in reversed(lane.stack):
        if span[SPAN_BEGAN] <= began:
            span[SPAN_INNER] += took
            return
