"""What of a peak of memory was gained while a model ran: its activations, and growth with steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from unslow.analyse.memory.call_growth import call_growth
from unslow.analyse.memory.parts import MemoryPart, Part
from unslow.analyse.places import shown
from unslow.facts.keras import Prediction, Validation
from unslow.facts.memory import MemoryHigh
from unslow.model import Process, Run

_WARM_UP = 3  # steps in which a model allocates what it needs for a step


def activations(run: Run, process: Process, unexplained: float) -> Iterator[MemoryPart]:
    """Of what nothing else explains, what was gained while a model ran: at first, and later on."""
    highs = run.facts(MemoryHigh, process.index)
    start = float(process.ticks.columns["rss"][0])
    runs = list(_model_runs(run, process, start))
    gained = {each: _gained(highs, start, each) for each in runs}
    own = []
    for each in runs:
        in_others = sum(gained[other] for other in runs if each.encloses(other))
        own.append(replace(each.part, bytes=max(0.0, gained[each] - in_others)))
    for part in sorted(own, key=lambda part: -part.bytes):
        size = min(part.bytes, unexplained)
        unexplained -= size
        yield replace(part, bytes=size)


@dataclass(frozen=True, eq=False)
class _ModelRun:
    """An interval in which a model ran, and the part that its memory is counted as."""

    part: MemoryPart
    first: float
    last: float

    def encloses(self, other: _ModelRun) -> bool:
        """Whether the other is a shorter run inside of this one: a prediction among the steps."""
        is_same = (self.first, self.last) == (other.first, other.last)
        return not is_same and self.first <= other.first and other.last <= self.last


def _gained(highs: Sequence[MemoryHigh], start: float, ran: _ModelRun) -> float:
    before = most_until(highs, ran.first, otherwise=start)
    return max(0.0, most_between(highs, ran.first, ran.last) - before)


def most_until(highs: Iterable[MemoryHigh], time: float, otherwise: float) -> float:
    """The most memory before a moment."""
    return max((high.bytes for high in highs if high.time < time), default=otherwise)


def most_between(highs: Iterable[MemoryHigh], first: float, last: float) -> float:
    """The most memory in an interval; 0 where no new high was reached in it."""
    return max((high.bytes for high in highs if first <= high.time <= last), default=0.0)


def _model_runs(run: Run, process: Process, start: float) -> Iterator[_ModelRun]:
    """The steps of each loop, each call of predict and evaluate, and what runs outside of them."""
    known = list(_runs_of_keras_and_steps(run, process))
    yield from known
    for grown in call_growth(run, process.index, start):
        where = shown(run, (grown.place,))
        if grown.call is not None:
            name = f"gained in a call of `{grown.call.name}` with {grown.call.rows:,} rows"
        elif any(each.first <= grown.last and grown.first <= each.last for each in known):
            continue
        else:
            name = "gained in TensorFlow, called here"
        part = MemoryPart(Part.TEMPORARY, name, 0.0, where)
        yield _ModelRun(part, grown.first, grown.last)


def _runs_of_keras_and_steps(run: Run, process: Process) -> Iterator[_ModelRun]:
    for loop in run.loops_of(process.index):
        if not len(loop.end):
            continue
        warm = float(loop.end[min(_WARM_UP, len(loop.end)) - 1])
        first = MemoryPart(Part.TEMPORARY, "gained in the first steps", 0.0, loop.update)
        yield _ModelRun(first, loop.start, warm)
        later = MemoryPart(Part.GROWTH, "gained in the later steps", 0.0, loop.update)
        yield _ModelRun(later, warm, loop.stop)
    for call in run.facts(Prediction, process.index):
        where = shown(run, call.stack)
        part = MemoryPart(Part.TEMPORARY, f"gained in `{call.call}`", 0.0, where)
        yield _ModelRun(part, call.time - call.took, call.time)
    for made in run.facts(Validation, process.index):
        where = shown(run, made.stack)
        part = MemoryPart(Part.TEMPORARY, "gained in the validation", 0.0, where)
        yield _ModelRun(part, made.time - made.took, made.time)
