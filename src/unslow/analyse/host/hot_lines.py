"""The user's lines that take the time of their own Python, from stack samples.

The samples share out the part of the steps that no wrapped call accounts for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from unslow.analyse.scopes import Scope, Sources
from unslow.facts.memory import Sizes
from unslow.model import Location, Phase, Run, Sample

# What runs below the user's line is TensorFlow's own work there (or ours), not their Python.
_NOT_PYTHON = ("tensorflow", "keras", "tf_keras", "unslow")
_FEWEST_SAMPLES = 20  # samples: in fewer, growth cannot be told from chance
_FEWEST_LATE_SAMPLES = 10
_GROWN = 1.33  # seconds per step, second half against first (judgement)
_CERTAIN = 1.64  # standard errors: one-sided 95%
_CONTAINER_GROWN = 1.5  # items at the end against the start (judgement)
_INSPECTIONS = 3  # of a container, at least

_Line = tuple[str, int]


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


@dataclass
class _Node:
    """A line in the tree of stacks, outermost line first."""

    place: Location
    count: int = 0
    first: int = 0  # in the first half of the training
    second: int = 0
    leaves: Counter[str] = field(default_factory=Counter)
    below: dict[_Line, _Node] = field(default_factory=dict)

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
    other = sum(loop.phase(Phase.OTHER) for loop in scope.training)
    samples = list(_between_calls(run, process, scope))
    total = sum(sample.in_steps for sample, _ in samples if sample.leaf != "unslow")
    if not total or other <= 0:
        return []
    is_users = _Users(scope)
    tree = _tree((sample, depth) for sample, depth in samples if is_users(sample, depth))
    steps = _halves(scope)
    groups = _groups(tree, scope)
    found = [
        _hot(_largest(group), lines, other / total, steps)
        for group in groups
        for lines in _narrowed(_largest(group), group, scope.sources)
    ]
    return sorted(found, key=lambda hot: -hot.seconds)


def together(hots: Iterable[Hot], sources: Sources) -> list[Hot]:
    """The lines of one function that one line of the loop leads to as one, by its hottest line.

    Lines that call TensorFlow stay apart: op by op, they are another matter.
    """
    groups: dict[tuple[object, ...], list[Hot]] = defaultdict(list)
    for number, hot in enumerate(hots):
        is_python = hot.library != "tensorflow" and hot.location != hot.within
        function = sources.function(hot.location) if is_python else None
        own = (hot.location.file, function.lineno) if function is not None else (number,)
        called_at: tuple[object, ...] = (hot.within.file, hot.within.line)
        groups[called_at + own].append(hot)
    return sorted((_joined(group, sources) for group in groups.values()), key=lambda h: -h.seconds)


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


def _between_calls(run: Run, process: int, scope: Scope) -> Iterator[tuple[Sample, int]]:
    """Samples of training steps outside of wrapped calls, and where in the stack the loop is."""
    for sample in run.samples_of(process):
        is_step = sample.training and sample.in_steps > 0
        if not is_step or sample.phase is not Phase.OTHER:
            continue
        depth = scope.depth(sample)
        if depth is not None:
            yield sample, depth


class _Users:
    """Whether a sample is the user's own Python, or TensorFlow's at a line that is not the step."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        # In eager steps and in Keras's own loop, any line may be a part of the step.
        self._compiled = all(loop.style in ("function", "session") for loop in scope.training)
        self._steps = {(loop.update.file, loop.update.line) for loop in scope.training}

    def __call__(self, sample: Sample, depth: int) -> bool:
        inner = sample.stack[0]
        is_beside = self._compiled and (inner.file, inner.line) not in self._steps
        if not is_python(sample) and not (is_beside and sample.leaf == "tensorflow"):
            return False
        return not self._scope.fetches(sample, depth)


def _tree(samples: Iterable[tuple[Sample, int]]) -> list[_Node]:
    """The outermost lines of stacks that begin at a depth, each with those below it."""
    root = _Node(Location("", 0))
    for sample, depth in samples:
        node = root
        for place in reversed(sample.stack[: depth + 1]):
            node = node.below.setdefault((place.file, place.line), _Node(place))
            node.add(sample)
    return list(root.below.values())


def _inner_loop(place: Location, scope: Scope) -> tuple[int, int] | None:
    """First and last line of the outermost loop around a line that is not a training loop."""
    for loop in scope.sources.loops(place):
        if not scope.trains(place.file, loop):
            return loop.lineno, loop.end_lineno or place.line
    return None


def _groups(nodes: list[_Node], scope: Scope) -> list[list[_Node]]:
    """Lines of the training loop; those of one loop inside it together."""
    groups: dict[tuple[str, tuple[int, int]], list[_Node]] = defaultdict(list)
    for node in nodes:
        place = node.place
        alone = (-place.line, -place.line)  # no key of a loop
        groups[place.file, _inner_loop(place, scope) or alone].append(node)
    return list(groups.values())


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
    found = [*(other for other in group if other is not top), top]
    least = _count(found) / 2
    node = top
    left: list[_Node] = []
    while node.below:
        beside = sorted(node.below.values(), key=lambda child: child.count)
        node = beside[-1]
        inner = [node] if node.count >= least else _of_its_loop(node, beside, sources)
        if _count(inner) < least:
            break
        left += [each for each in beside if not any(each is one for one in inner)]
        found = inner
    yield found
    for each in left:
        yield from _narrowed(each, [each], sources)


def _of_its_loop(node: _Node, beside: list[_Node], sources: Sources) -> list[_Node]:
    """The lines of the innermost loop around a line, in the given order."""
    around = sources.loops(node.place)
    if not around:
        return [node]
    lines = range(around[-1].lineno, (around[-1].end_lineno or 0) + 1)
    same_file = (each for each in beside if each.place.file == node.place.file)
    return [each for each in same_file if each.place.line in lines]


def _halves(scope: Scope) -> tuple[float, float]:
    """Steps in the first and in the second half of the training time."""
    begin = min(loop.start for loop in scope.training)
    end = max(loop.stop for loop in scope.training)
    early = sum(float(loop.count[loop.end <= (begin + end) / 2].sum()) for loop in scope.training)
    late = sum(loop.steps for loop in scope.training) - early
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
    samples = []
    for sample in run.samples_of(process):
        depth = _depth_in(function, sample)
        if sample.phase is phase and depth is not None:
            samples.append((sample, depth))
    group = _tree(samples)
    if not group:
        return None
    sources = Sources(run.sources)
    top = _largest(group)
    half = _count(group) / 2
    start = [top] if top.count >= half else _of_its_loop(top, group, sources)
    return next(_narrowed(top, start, sources))[-1].place if _count(start) >= half else None


def _depth_in(function: Location, sample: Sample) -> int | None:
    """Where in a stack a function is."""
    for depth, place in enumerate(sample.stack):
        is_same = (place.file, place.function) == (function.file, function.function)
        if is_same and place.line >= function.line:
            return depth
    return None


def seconds_around(run: Run, process: int, place: Location) -> float:
    """Seconds of training at a line, or in the loop around it inside the training loop."""
    scope = Scope(run, process)
    first, last = _inner_loop(place, scope) or (place.line, place.line)
    lines = range(first, last + 1)
    total = here = 0
    for sample in run.samples_of(process):
        if not sample.training or scope.depth(sample) is None:
            continue
        total += sample.in_steps
        if any(frame.file == place.file and frame.line in lines for frame in sample.stack):
            here += sample.in_steps
    return sum(loop.total for loop in scope.training) * here / max(1, total)


@dataclass(frozen=True)
class Grown:
    """A container that grew while a line ran."""

    name: str  # empty where it has none
    first: int  # items
    last: int


def grows_with(run: Run, process: int, place: Location) -> Grown | None:
    """The container that grew most while a line ran; one that the line names comes first."""
    by_name: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for inspected in run.facts(Sizes, process):
        at = inspected.place
        if at.file == place.file and at.function in (place.function, "<lambda>"):
            for name, length in inspected.sizes:
                by_name[name].append((inspected.step, length))
    code = run.line(place.file, place.line)
    grown = [one for name, seen in by_name.items() if (one := _grown(name, sorted(seen)))]
    return max(grown, key=lambda one: (*_relevance(one.name, code), one.last), default=None)


def _grown(name: str, seen: list[tuple[int, int]]) -> Grown | None:
    lengths = [length for _, length in seen]
    rising = all(early <= late for early, late in pairwise(lengths))
    if len(seen) < _INSPECTIONS or not rising or lengths[-1] < _CONTAINER_GROWN * lengths[0]:
        return None
    return Grown(name, lengths[0], lengths[-1])


def _relevance(name: str, code: str) -> tuple[bool, bool]:
    """Whether the line names the container, and whether it has a name at all."""
    return bool(name) and name.rpartition(".")[2] in code, bool(name)
