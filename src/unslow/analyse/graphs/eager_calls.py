"""Eager ops outside of training steps: between the updates, before the training or after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse.graphs.eager_cost import compiled_dispatch
from unslow.analyse.grouping import grouped
from unslow.analyse.loop_phases import LIBRARIES
from unslow.analyse.sampled_time import passes
from unslow.analyse.scopes import Sources
from unslow.analyse.stretches import IMPORT, gaps
from unslow.facts.eager import EagerOps
from unslow.facts.schema import Fact
from unslow.model import Location, Phase, Run, Sample

READS: tuple[type[Fact], ...] = (EagerOps,)
# Of the samples at a line: the next frame inwards is named only while it holds as many.
_HELD_SHARE = 0.6
_FEW_SAMPLES = 15  # 0.3 s at the highest rate: fewer name no line
_FEW_OPS = 50  # fewer are no loop over ops
# Dispatching an op with the Python around it, as a multiple of the dispatch alone: 5 to 15 were
# seen for plain ops, more for Keras layers. Time beyond that is not spent on dispatching ops.
_AROUND_DISPATCH = 15.0
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")

Weighted = list[tuple[Sample, float]]  # samples with the number that falls into a region


@dataclass(frozen=True)
class Region:
    """A part of the run in which ops are looked for: a loop, or a stretch outside of all loops."""

    process: int
    stretch: str  # of the account; empty for the steps of a loop
    start: float
    stop: float


@dataclass(frozen=True)
class EagerCalls:
    """A line whose calls run op by op, again and again."""

    region: Region
    location: Location  # the innermost line that holds most of it
    seconds: float  # in TensorFlow's Python and ops below this line
    saved: float  # of them, what a compiled function would not need
    ops_per_second: float
    floor: float  # least cost of dispatching one op
    top: tuple[tuple[str, int], ...]


def eager_calls(run: Run) -> Iterator[EagerCalls]:
    """The most expensive line of every region that repeats eager ops."""
    sources = Sources(run.sources)
    for region in _regions(run):
        windows = [seen for seen in run.facts(EagerOps) if seen.ops and _holds(region, seen)]
        second_per_sample, inside = _samples(run, region)
        where = _hottest(inside, sources)
        if not windows or where is None:
            continue
        location, count = where
        cost = _Cost.of(windows)
        # The window of a step is one turn of the loop; one outside of steps may hold many.
        repeated = cost.ops if region.stretch else sum(window.ops for window in windows)
        if repeated < _FEW_OPS:
            continue
        seconds = count * second_per_sample
        yield EagerCalls(
            region=region,
            location=location,
            seconds=seconds,
            saved=seconds * cost.saved_share,
            ops_per_second=cost.ops / cost.wall,
            floor=cost.floor,
            top=windows[-1].top,
        )


def outside_steps(run: Run) -> Iterator[Region]:
    """The stretches outside of all loops, but for the import."""
    for process in run.processes:
        loops = run.loops_of(process.index)
        for name, start, end in gaps(run, process, loops):
            if name != IMPORT and end > start:
                yield Region(process.index, name, start, end)


def seconds_at(run: Run, region: Region, location: Location) -> float:
    """Seconds of eager ops in a region at a line, below it, and in the loop around it."""
    second_per_sample, eager = _samples(run, region)
    lines = Sources(run.sources).repeated_with(location)
    held = [count for sample, count in eager if passes(sample, location.file, lines)]
    return second_per_sample * sum(held)


def _regions(run: Run) -> Iterator[Region]:
    for loop in run.loops:
        if loop.style != "eager":  # whose steps are judged as a whole
            yield Region(loop.process, "", loop.start, loop.stop)
    yield from outside_steps(run)


def _holds(region: Region, seen: EagerOps) -> bool:
    """A window outside of steps belongs to a stretch, one of a step to its loop."""
    inside = region.start <= seen.time <= region.stop
    return seen.process == region.process and inside and seen.outside == bool(region.stretch)


def _samples(run: Run, region: Region) -> tuple[float, Weighted]:
    """Seconds per sample, and the samples in which TensorFlow was called op by op."""
    samples = [sample for sample in run.samples_of(region.process) if sample.stack]
    counted = [(sample, sample.within(region.start, region.stop)) for sample in samples]
    eager = [(sample, count) for sample, count in counted if count and _is_eager(sample)]
    return (region.stop - region.start) / max(_weight(counted), 1e-9), eager


def _is_eager(sample: Sample) -> bool:
    return sample.phase is Phase.OTHER and sample.leaf in LIBRARIES


def _hottest(samples: Weighted, sources: Sources) -> tuple[Location, float] | None:
    """The innermost line that holds most of the samples, if it runs in a loop; and how many.

    Lines of one loop count together: what a loop repeats is one thing, named by its heaviest line.
    """
    if _weight(samples) < _FEW_SAMPLES:
        return None
    found: tuple[Location, float] | None = None
    held, depth, repeated = samples, 0, False
    while groups := _by_loop(held, depth, sources):
        group = max(groups, key=lambda lines: sum(map(_weight, lines.values())))
        weight = sum(map(_weight, group.values()))
        if found is not None and weight < _HELD_SHARE * _weight(held):
            break
        line = max(group, key=lambda place: _weight(group[place]))
        found = line, weight
        repeated = repeated or _is_repeated(line, sources)
        held, depth = group[line], depth + 1
    return found if repeated else None


def _by_loop(samples: Weighted, depth: int, sources: Sources) -> list[dict[Location, Weighted]]:
    """Samples by the user's line at a depth (0 is the outermost), grouped by loop."""
    deep_enough = [(sample, count) for sample, count in samples if depth < len(sample.stack)]
    by_place = grouped(deep_enough, lambda pair: pair[0].stack[-1 - depth])
    by_loop = grouped(by_place, lambda place: (place.file, sources.repeated_with(place)))
    return [{place: by_place[place] for place in places} for places in by_loop.values()]


def _weight(samples: Sequence[tuple[Sample, float]]) -> float:
    return sum(count for _, count in samples)


def _is_repeated(place: Location, sources: Sources) -> bool:
    return place.function in _COMPREHENSIONS or bool(sources.loops(place))


@dataclass(frozen=True)
class _Cost:
    """What the windows of a region say together."""

    ops: int
    wall: float
    floor: float
    saved_share: float

    @classmethod
    def of(cls, windows: Sequence[EagerOps]) -> _Cost:
        """By the window that was disturbed least: the one with the most ops per second."""
        least = max(windows, key=lambda window: window.ops / max(window.wall, 1e-9))
        ops = max(1, least.ops)
        wall = max(least.wall, 1e-9)
        floor = min(window.floor for window in windows)
        computing = min((w.kernels + w.functions_took) / w.ops for w in windows if w.ops) * ops
        eager = min(wall, computing + _AROUND_DISPATCH * floor * ops)
        compiled = computing + compiled_dispatch(floor, ops)
        return cls(ops, wall, floor, max(0.0, eager - compiled) / wall)
