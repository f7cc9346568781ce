"""The user's lines that take the time of their own Python, from stack samples.

The samples share out the part of the steps that no wrapped call accounts for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.loop_phases import LIBRARIES, is_between_calls
from unslow.analyse.places import Line, function_of, line_of, lines_in
from unslow.analyse.sampled_time import below, in_phase, in_steps, is_at
from unslow.analyse.scopes import Scope, Sources
from unslow.facts.memory import Sizes
from unslow.facts.process import ITERATOR_END, MODULE_IMPORT
from unslow.model import Location, Phase, Run, Sample
from unslow.syntax.nodes import NamedFunction, lines_of

# What runs below the user's line is TensorFlow's own work there (or ours), not their Python.
_NOT_PYTHON = (*LIBRARIES, "unslow", ITERATOR_END, MODULE_IMPORT)
_FEWEST_SAMPLES = 20  # samples: in fewer, growth cannot be told from chance
_FEWEST_LATE_SAMPLES = 10
_GROWN = 1.33  # seconds per step, second half against first (judgement)
_CERTAIN = 1.64  # standard errors: one-sided 95%
_CONTAINER_GROWN = 1.5  # items at the end against the start (judgement)
_INSPECTIONS = 3  # of a container, at least


@dataclass(frozen=True)
class Hot:
    """A line that takes time in every step, and what is known about how that changes."""

    location: Location  # the innermost line that holds most of it
    within: Location  # the line of the loop that leads there
    seconds: float
    samples: int
    early: float  # seconds per step in the first half of the training time
    late: float
    grows: bool
    library: str  # what runs there: "python", or the library below the line
    in_line: float  # seconds of the line itself, without those counted together with it
    function: str = ""  # whose lines are counted together


@dataclass(eq=False)
class _Node:
    """A line in the tree of stacks, outermost line first."""

    place: Location
    count: int = 0
    first: int = 0  # in the first half of the training
    second: int = 0
    leaves: Counter[str] = field(default_factory=Counter)
    below: dict[Line, _Node] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        # The halves count all samples of a place; those outside the steps are left out evenly.
        inside = sample.in_steps / max(1, sample.count)
        self.count += sample.in_steps
        self.first += round(sample.first_half * inside)
        self.second += round(sample.second_half * inside)
        self.leaves[sample.leaf] += sample.in_steps


def is_python(sample: Sample) -> bool:
    return not sample.leaf.startswith(_NOT_PYTHON)


def hot_lines(run: Run, process: int, scope: Scope | None = None) -> list[Hot]:
    """Lines of the user's own Python between the calls, the most expensive first.

    Waits for data are left out.
    """
    scope = scope or Scope(run, process)
    samples = list(filter(is_between_calls, scope.samples))
    total = in_steps(sample for sample in samples if sample.leaf != "unslow")
    if not total or scope.other <= 0:
        return []
    tree = _tree((sample, scope.frames(sample)) for sample in filter(_Users(scope), samples))
    steps = _halves(scope)
    found = []
    for group in _groups(tree, scope):
        top = _largest(group)
        narrowed = _narrowed(top, group, scope.sources)
        found += [_hot(top, lines, scope.other / total, steps) for lines in narrowed]
    return sorted(found, key=lambda hot: -hot.seconds)


def together(hots: Iterable[Hot], sources: Sources) -> list[Hot]:
    """The lines of one function that one line of the loop leads to as one, by its hottest line.

    Lines that call TensorFlow stay apart: op by op, they are another matter.
    """
    groups = grouped(hots, lambda hot: (line_of(hot.within), _called_function(hot, sources)))
    joined = [_joined(group, sources) for group in groups.values()]
    return sorted(joined, key=lambda hot: -hot.seconds)


def _called_function(hot: Hot, sources: Sources) -> NamedFunction | Hot:
    """The function that a line of the loop calls; the line alone where there is none."""
    is_python = hot.library != "tensorflow" and hot.location != hot.within
    function = sources.function(hot.location) if is_python else None
    return function or hot


def _joined(group: list[Hot], sources: Sources) -> Hot:
    lead = max(group, key=lambda hot: hot.seconds)
    function = sources.function(lead.location)
    return replace(
        lead,
        seconds=sum(hot.seconds for hot in group),
        samples=sum(hot.samples for hot in group),
        early=sum(hot.early for hot in group),
        late=sum(hot.late for hot in group),
        function=function.name if function is not None else "",
    )


class _Users:
    """Whether a sample is the user's own Python, or TensorFlow's at a line that is not the step."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        # In eager steps and in Keras's own loop, any line may be a part of the step.
        self._compiled = all(loop.style in ("function", "session") for loop in scope.training)
        self._steps = lines_in(loop.update for loop in scope.training)

    def __call__(self, sample: Sample) -> bool:
        is_beside = self._compiled and not is_at(sample, self._steps)
        is_users = is_python(sample) or (is_beside and sample.leaf == "tensorflow")
        return is_users and not self._scope.fetches(sample)


def _tree(samples: Iterable[tuple[Sample, Sequence[Location]]]) -> list[_Node]:
    """The outermost lines of the innermost frames of some samples, each with those below it."""
    root = _Node(Location("", 0))
    for sample, frames in samples:
        node = root
        for place in reversed(frames):
            node = node.below.setdefault(line_of(place), _Node(place))
            node.add(sample)
    return list(root.below.values())


def _inner_loop(place: Location, scope: Scope) -> range:
    """The lines of the outermost loop around a line that is not a training loop; or the line."""
    loops = scope.sources.loops(place)
    inner = [loop for loop in loops if not scope.trains(place.file, loop)]
    return lines_of(inner[0]) if inner else range(place.line, place.line + 1)


def _groups(nodes: list[_Node], scope: Scope) -> list[list[_Node]]:
    """Lines of the training loop; those of one loop inside it together."""
    by_loop = grouped(nodes, lambda node: (node.place.file, _inner_loop(node.place, scope)))
    return list(by_loop.values())


def _hot(
    top: _Node, found: list[_Node], second_per_sample: float, steps: tuple[float, float]
) -> Hot:
    node = found[-1]
    first = sum(each.first for each in found)
    second = sum(each.second for each in found)
    count = sum(each.count for each in found)
    return Hot(
        location=node.place,
        within=top.place,
        seconds=count * second_per_sample,
        samples=count,
        early=first * second_per_sample / steps[0],
        late=second * second_per_sample / steps[1],
        grows=_grew(first, second, steps),
        library=node.leaves.most_common(1)[0][0],
        in_line=count * second_per_sample,
    )


def _largest(nodes: Iterable[_Node]) -> _Node:
    return max(nodes, key=lambda node: node.count)


def _count(nodes: Iterable[_Node]) -> int:
    return sum(node.count for node in nodes)


def _narrowed(top: _Node, group: list[_Node], sources: Sources) -> Iterator[list[_Node]]:
    """The innermost line that still holds most of a group's time, then the lines left beside it.

    A loop may spread its time over several lines: then all of them, the largest last.
    """
    found = sorted(group, key=lambda node: node is top)
    least = _count(found) / 2
    node = top
    left: list[_Node] = []
    while node.below:
        beside = sorted(node.below.values(), key=lambda child: child.count)
        node = beside[-1]
        inner = [node] if node.count >= least else _of_its_loop(node, beside, sources)
        if _count(inner) < least:
            break
        left += [each for each in beside if each not in inner]
        found = inner
    yield found
    for each in left:
        yield from _narrowed(each, [each], sources)


def _of_its_loop(node: _Node, beside: list[_Node], sources: Sources) -> list[_Node]:
    """The lines of the innermost loop around a line, in the given order."""
    file, lines = node.place.file, sources.repeated_with(node.place)
    return [each for each in beside if each.place.file == file and each.place.line in lines]


def _halves(scope: Scope) -> tuple[float, float]:
    """Steps in the first and in the second half of the training time."""
    begin = min(loop.start for loop in scope.training)
    end = max(loop.stop for loop in scope.training)
    early = sum(float(loop.count[loop.end <= (begin + end) / 2].sum()) for loop in scope.training)
    late = scope.steps - early
    return max(1.0, early), max(1.0, float(late))


def _grew(first: int, second: int, steps: tuple[float, float]) -> bool:
    """Whether a step takes clearly more time here later on."""
    if first + second < _FEWEST_SAMPLES or second < _FEWEST_LATE_SAMPLES:
        return False
    early = max(first, 0.5)
    ratio = (second / steps[1]) / (early / steps[0])
    # Neighbouring samples often see the same slow call: the error is taken as twice Poisson's.
    error = 2 * float(np.sqrt(1 / early + 1 / second))
    return ratio > _GROWN and float(np.log(ratio)) > _CERTAIN * error


def hottest_below(run: Run, process: int, function: Location, phase: Phase) -> Location | None:
    """The innermost line that holds most of a function's time in a phase, if one line does."""
    samples = in_phase(run.samples_of(process), phase)
    group = _tree((sample, _frames_in(function, sample)) for sample in samples)
    if not group:
        return None
    sources = Sources(run.sources)
    top = _largest(group)
    half = _count(group) / 2
    start = [top] if top.count >= half else _of_its_loop(top, group, sources)
    return next(_narrowed(top, start, sources))[-1].place if _count(start) >= half else None


def _frames_in(function: Location, sample: Sample) -> Sequence[Location]:
    """The frames from the innermost to that of a function; none where it is not on the stack."""
    for depth, place in enumerate(sample.stack, 1):
        if function_of(place) == function_of(function) and place.line >= function.line:
            return sample.stack[:depth]
    return ()


def seconds_around(run: Run, process: int, place: Location) -> float:
    """Seconds of training at a line, or in the loop around it inside the training loop."""
    scope = Scope(run, process)
    lines = _inner_loop(place, scope)
    training = [sample for sample in scope.samples if sample.training]
    here = below(training, place.file, lines)
    return scope.seconds * in_steps(here) / max(1, in_steps(training))


@dataclass(frozen=True)
class Grown:
    """A container that grew while a line ran."""

    name: str  # empty where it has none
    first: int  # items
    last: int


def grows_with(run: Run, process: int, place: Location) -> Grown | None:
    """The container that grew most while a line ran; one that the line names comes first."""
    here = {(place.file, place.function), (place.file, "<lambda>")}
    by_name: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for inspected in run.facts(Sizes, process):
        for name, length in inspected.sizes if function_of(inspected.place) in here else ():
            by_name[name].append((inspected.step, length))
    code = run.line(place.file, place.line)
    grown = [one for name, seen in by_name.items() if (one := _grown(name, sorted(seen)))]
    return max(grown, key=lambda one: (*_relevance(one.name, code), one.last), default=None)


def _grown(name: str, seen: list[tuple[int, int]]) -> Grown | None:
    lengths = [length for _, length in seen]
    is_larger = lengths[-1] >= _CONTAINER_GROWN * lengths[0]
    if len(seen) < _INSPECTIONS or lengths != sorted(lengths) or not is_larger:
        return None
    return Grown(name, lengths[0], lengths[-1])


def _relevance(name: str, code: str) -> tuple[bool, bool]:
    """Whether the line names the container, and whether it has a name at all."""
    return bool(name) and name.rpartition(".")[2] in code, bool(name)
