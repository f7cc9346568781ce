"""Eager ops outside of training steps: between the updates, before the training or after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise

from unslow.analyse.graphs.eager_cost import compiled_dispatch
from unslow.analyse.grouping import grouped
from unslow.analyse.host.machine import slowdown
from unslow.analyse.loop_phases import LIBRARIES
from unslow.analyse.places import by_users, line_of
from unslow.analyse.sampled_time import passes
from unslow.analyse.scopes import FRAMES_KEPT, Scope, Sources
from unslow.analyse.stretches import IMPORT, gaps
from unslow.facts.eager import EagerOps
from unslow.facts.schema import Fact
from unslow.model import Location, Loop, Phase, Run, Sample

READS: tuple[type[Fact], ...] = (EagerOps,)
# Of the samples at a line: the next frame inwards is named only while it holds as many.
_HELD_SHARE = 0.6
_FEW_SAMPLES = 15  # 0.3 s at the highest rate: fewer name no line
_FEW_OPS = 50  # fewer are no loop over ops
# Of the ops' own time: where compiling saves less, they are large. What is around the dispatch is
# only known as a bound: one of 6 to 10% was seen where compiling saved 2%. Real cases had over 45%.
_LEAST_SAVED = 0.2
# Dispatching an op with the Python around it, as a multiple of the dispatch alone: 5 to 15 were
# seen for plain ops, more for Keras layers. Time beyond that is not spent on dispatching ops.
_AROUND_DISPATCH = 15.0
# Seconds to dispatch one op: 10 to 25 µs were seen, on a busy machine too. Where the quickest ops
# of a window take far longer, all of them compute: a loop that encodes pictures.
_USUAL_DISPATCH, _MOST_DISPATCH = 2e-5, 5e-5
_MAKES_VARIABLES = ("VarHandleOp", "VariableV2")
_VARIABLES_SHARE = 0.05  # of the ops, a judgement: one in about six makes one while Keras builds
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
_LAYER = "call"  # the method of a layer or model that Keras calls

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
    location: Location  # the innermost line outside of models that holds most of it
    calls_model: bool  # Keras runs a layer or model of the user's below this line
    seconds: float  # in TensorFlow's Python and ops below this line
    saved: float  # of them, what a compiled function would not need
    ops_per_second: float
    floor: float  # least cost of dispatching one op
    top: tuple[tuple[str, int], ...]


def eager_calls(run: Run) -> Iterator[EagerCalls]:
    """The most expensive line of every region that repeats eager ops."""
    sources = Sources(run.sources)
    for region in _regions(run):
        second_per_sample, inside = _samples(run, region)
        hot = _hottest(inside, sources)
        if hot is None:
            continue
        windows = _windows(run, region, hot.location)
        if not _repeats_ops(windows):
            continue
        cost = _Cost.of(windows, _slowdown(run, region))
        if cost.saved_share < _LEAST_SAVED:
            continue
        seconds = hot.samples * second_per_sample
        yield EagerCalls(
            region=region,
            location=hot.location,
            calls_model=hot.calls_model,
            seconds=seconds,
            saved=seconds * cost.saved_share,
            ops_per_second=cost.ops / cost.wall,
            floor=cost.floor,
            top=windows[-1].top,
        )


@dataclass(frozen=True)
class Dispatching:
    """Seconds of a region that go into calling ops one by one, without what they compute."""

    seconds: float = 0.0
    location: Location | None = None


def dispatching(run: Run, region: Region, scope: Scope) -> Dispatching:
    """TensorFlow's Python below lines of the user's that are repeated.

    What Keras does in `fit` by itself is not called by the user's lines. Where no window saw the
    ops, it is not known what they compute.
    """
    second_per_sample, eager = _samples(run, region)
    repeated = [pair for pair in eager if _is_called_repeatedly(pair[0], scope)]
    hot = _hottest(repeated, scope.sources)
    if hot is None:
        return Dispatching()
    windows = _windows(run, region, hot.location)
    slow = _slowdown(run, region)
    computing = _Cost.of(windows, slow).computing_share if windows else 0.0
    seconds = second_per_sample * _weight(repeated) * (1 - computing)
    return Dispatching(seconds, hot.location)


def _slowdown(run: Run, region: Region) -> float:
    process = next(each for each in run.processes if each.index == region.process)
    return slowdown(process, region.start, region.stop)


def _is_called_repeatedly(sample: Sample, scope: Scope) -> bool:
    if scope.is_fit(sample.stack[0]):
        return False
    return any(_is_repeated(frame, scope.sources) for frame in sample.stack)


def outside_steps(run: Run) -> Iterator[Region]:
    """The stretches outside of all loops, but for the import."""
    for process in run.processes:
        loops = run.loops_of(process.index)
        for name, start, end in gaps(run, process, loops):
            if name != IMPORT:
                yield Region(process.index, name, start, end)


def region_of(loop: Loop) -> Region:
    return Region(loop.process, "", loop.start, loop.stop)


def seconds_at(run: Run, region: Region, location: Location) -> float:
    """Seconds of eager ops in a region at a line, below it, and in the loop around it."""
    second_per_sample, eager = _samples(run, region)
    lines = Sources(run.sources).repeated_with(location)
    held = [pair for pair in eager if passes(pair[0], location.file, lines)]
    return second_per_sample * _weight(held)


def _regions(run: Run) -> Iterator[Region]:
    for loop in run.loops:
        if loop.style != "eager":  # whose steps are judged as a whole
            yield region_of(loop)
    yield from outside_steps(run)


def _windows(run: Run, region: Region, location: Location) -> list[EagerOps]:
    """The windows that saw ops below a line, those of a region if there are any.

    What a program does in several regions costs the same in each. Where the line is in no window
    (long stacks are cut off), the windows of the region count: of its steps, or outside of steps.
    """
    windows = list(filter(_runs_ops_only, run.facts(EagerOps, region.process)))
    inside = [seen for seen in windows if region.start <= seen.time <= region.stop]
    for among in (inside, windows):
        if at_line := [seen for seen in among if _saw(seen, location)]:
            return at_line
    return [seen for seen in inside if seen.outside == bool(region.stretch)]


def _runs_ops_only(window: EagerOps) -> bool:
    """Whether it saw ops and no models were built meanwhile, which no compiled function does."""
    made = sum(count for name, count in window.top if name in _MAKES_VARIABLES)
    return made < _VARIABLES_SHARE * window.ops


def _saw(window: EagerOps, location: Location) -> bool:
    here = line_of(location)
    return any(line_of(frame) == here for stack, _, _ in window.lines for frame in stack)


def _repeats_ops(windows: Sequence[EagerOps]) -> bool:
    """The window of a step is one turn of the loop; one outside of steps may hold many."""
    in_steps = sum(window.ops for window in windows if not window.outside)
    outside = max((window.ops for window in windows if window.outside), default=0)
    return max(in_steps, outside) >= _FEW_OPS


def _samples(run: Run, region: Region) -> tuple[float, Weighted]:
    """Seconds per sample, and the samples in which TensorFlow was called op by op."""
    samples = _completed(by_users(run.samples_of(region.process)))
    counted = [(sample, sample.within(region.start, region.stop)) for sample in samples]
    eager = [(sample, count) for sample, count in counted if count and _is_eager(sample)]
    return (region.stop - region.start) / max(_weight(counted), 1e-9), eager


def _completed(samples: Sequence[Sample]) -> list[Sample]:
    """Samples whose stacks were cut off, with the outer frames that others have around theirs."""
    callers: dict[Location, Counter[Location]] = {}
    for sample in samples:
        for inner, outer in pairwise(sample.stack):
            callers.setdefault(inner, Counter())[outer] += sample.count
    return [replace(each, stack=_with_callers(each.stack, callers)) for each in samples]


def _with_callers(
    stack: tuple[Location, ...], callers: Mapping[Location, Counter[Location]]
) -> tuple[Location, ...]:
    if len(stack) < FRAMES_KEPT:
        return stack
    found = list(stack)
    while found[-1] in callers:
        caller, _ = callers[found[-1]].most_common(1)[0]
        if caller in found:  # a recursion
            break
        found.append(caller)
    return tuple(found)


def _is_eager(sample: Sample) -> bool:
    return sample.phase is Phase.OTHER and sample.leaf in LIBRARIES


@dataclass(frozen=True)
class _Hot:
    """A line and the samples at it, below it and in the loop around it."""

    location: Location
    samples: float
    calls_model: bool = False


def _hottest(samples: Weighted, sources: Sources) -> _Hot | None:
    """The innermost line that holds most of the samples, if it runs in a loop.

    Lines of one loop count together: what a loop repeats is one thing, named by its heaviest line.
    A model that is called in a loop is one thing too: its layers are not told apart.
    """
    if _weight(samples) < _FEW_SAMPLES:
        return None
    found: _Hot | None = None
    path = _heaviest(samples, sources)
    for hot in dropwhile(lambda each: not _is_repeated(each.location, sources), path):
        if found is not None and hot.location.function == _LAYER:
            return replace(found, calls_model=True)
        found = hot
    return found


def _heaviest(samples: Weighted, sources: Sources) -> Iterator[_Hot]:
    """From the outermost line inwards, as long as a line holds most of the samples."""
    held, depth, least = samples, 0, 0.0
    while groups := _by_loop(held, depth, sources):
        group = max(groups, key=_whole)
        if _whole(group) < least:
            return
        line = max(group, key=lambda place: _weight(group[place]))
        yield _Hot(line, _whole(group))
        held, depth = group[line], depth + 1
        least = _HELD_SHARE * _weight(held)


def _whole(group: Mapping[Location, Weighted]) -> float:
    return sum(map(_weight, group.values()))


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
    computing_share: float  # of the eager ops, without functions that were called between them

    @classmethod
    def of(cls, windows: Sequence[EagerOps], slow: float) -> _Cost:
        """By the window that was disturbed least: the one with the most ops per second.

        `slow`: how many times as long the region took, since others had the processor.
        """
        least = max(windows, key=lambda window: window.ops / max(window.wall, 1e-9))
        ops = max(1, least.ops)
        wall = max(least.wall, 1e-9)
        floor = min(map(_dispatch, windows))
        kernels = min(_kernels(window) / window.ops for window in windows) * ops
        functions = min(window.functions_took / window.ops for window in windows) * ops
        around = _AROUND_DISPATCH * floor * ops * slow
        eager = min(wall, kernels + functions + around)
        compiled = kernels + functions + compiled_dispatch(floor, ops)
        calling = min(wall - least.functions_took, kernels + around)
        return cls(
            ops=ops,
            wall=wall,
            floor=floor,
            saved_share=max(0.0, eager - compiled) / wall,
            computing_share=min(1.0, kernels / max(calling, 1e-9)),
        )


def _kernels(window: EagerOps) -> float:
    """Seconds that the ops of a window compute."""
    return window.kernels + (window.floor - _dispatch(window)) * window.ops


def _dispatch(window: EagerOps) -> float:
    """The least cost of dispatching one op."""
    return window.floor if window.floor <= _MOST_DISPATCH else _USUAL_DISPATCH
