"""The user's lines that their own Python spends its time on, from stack samples and the measured rest of the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unslow.analyse.scopes import Scope, Sources
from unslow.facts.memory import Sizes
from unslow.model import Location, Phase, Run, Sample

# What runs below the user's line is TensorFlow's own work there (or ours), not their Python.
_NOT_PYTHON = ("tensorflow", "keras", "tf_keras", "unslow")


@dataclass(frozen=True)
class Hot:
    """A line that takes time in every step, and what is known of how that changes."""

    location: Location  # the innermost line that holds most of it
    within: Location  # the line of the loop that leads there
    seconds: float
    samples: int
    early: float  # seconds per step in the first half of the training time
    late: float
    grows: bool
    library: str  # what runs there: "python", or the library below the line


@dataclass
class _Node:
    place: Location | None = None
    count: int = 0
    first: int = 0
    second: int = 0
    leaves: Counter[str] = field(default_factory=Counter)
    below: dict[tuple[str, int], _Node] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        # The halves count all samples of a place; what fell outside the steps is left out evenly.
        inside = sample.in_steps / max(1, sample.count)
        self.count += sample.in_steps
        self.first += round(sample.first_half * inside)
        self.second += round(sample.second_half * inside)
        self.leaves[sample.leaf] += sample.in_steps


def is_python(sample: Sample) -> bool:
    return not sample.leaf.startswith(_NOT_PYTHON)


def _steps_at(scope: Scope) -> set[tuple[str, int]] | None:
    """The lines of compiled steps; None where some run op by op, or in a loop that is not the program's own."""
    if any(loop.style not in ("function", "session") for loop in scope.training):
        return None
    return {(loop.update.file, loop.update.line) for loop in scope.training}


def _is_beside(sample: Sample, steps: set[tuple[str, int]] | None) -> bool:
    """TensorFlow's own Python (data turned into tensors, say) at a line other than that of the compiled step."""
    inner = sample.stack[0]
    return (
        steps is not None and sample.leaf == "tensorflow" and (inner.file, inner.line) not in steps
    )


def hot_lines(run: Run, process: int, scope: Scope | None = None) -> list[Hot]:
    """Lines of the user's own Python between the calls, the dearest first; waits for data are left out."""
    scope = scope or Scope(run, process)
    other = sum(loop.phase(Phase.OTHER) for loop in scope.training)
    mine = [
        (sample, depth)
        for sample in run.samples
        if sample.process == process
        and sample.training
        and sample.in_steps
        and sample.phase is Phase.OTHER
        for depth in [scope.depth(sample)]
        if depth is not None
    ]
    total = sum(sample.in_steps for sample, _ in mine if sample.leaf != "unslow")
    if not total or other <= 0:
        return []
    steps = _steps_at(scope)
    root = _tree(
        (sample, depth)
        for sample, depth in mine
        if (is_python(sample) or _is_beside(sample, steps)) and not scope.fetches(sample, depth)
    )
    found = [
        _hot(group, other / total, _halves(scope), scope.sources) for group in _groups(root, scope)
    ]
    return sorted(found, key=lambda hot: -hot.seconds)


def _tree(samples: Iterable[tuple[Sample, int]]) -> _Node:
    root = _Node()
    for sample, depth in samples:
        node = root
        for place in reversed(sample.stack[: depth + 1]):
            node = node.below.setdefault((place.file, place.line), _Node(place))
            node.add(sample)
    return root


def _groups(root: _Node, scope: Scope) -> list[list[_Node]]:
    """Lines of the training loop, those of one loop inside it together."""
    groups: dict[tuple[str, int], list[_Node]] = {}
    for node in root.below.values():
        assert node.place is not None
        inner = [
            loop.lineno
            for loop in scope.sources.loops(node.place)
            if not scope.trains(node.place.file, loop)
        ]
        groups.setdefault((node.place.file, -inner[0] if inner else node.place.line), []).append(
            node
        )
    return list(groups.values())


def _hot(
    group: list[_Node], second_per_sample: float, steps: tuple[float, float], sources: Sources
) -> Hot:
    top = max(group, key=lambda node: node.count)
    *_, found = _path(top, group, sources)
    node = found[-1]
    assert node.place is not None and top.place is not None
    count, first, second = (
        sum(getattr(each, name) for each in found) for name in ("count", "first", "second")
    )
    return Hot(
        location=node.place,
        within=top.place,
        seconds=count * second_per_sample,
        samples=count,
        early=first * second_per_sample / steps[0],
        late=second * second_per_sample / steps[1],
        grows=_grew(first, second, steps),
        library=node.leaves.most_common(1)[0][0],
    )


def _path(top: _Node, group: list[_Node], sources: Sources) -> Iterator[list[_Node]]:
    """Down from a line to the innermost one that still holds most of its time, which comes last in its list.

    A loop further down may spread its time over several lines: the list then holds all of them.
    """
    node = top
    found = [*(other for other in group if other is not top), top]
    least = sum(each.count for each in found) / 2
    while True:
        yield found
        below = sorted(node.below.values(), key=lambda child: child.count)
        if not below:
            return
        node = below[-1]
        found = [node] if node.count >= least else _of_its_loop(node, below, sources)
        if sum(each.count for each in found) < least:
            return


def _of_its_loop(node: _Node, beside: list[_Node], sources: Sources) -> list[_Node]:
    """The lines of the loop that a line stands in, itself last."""
    assert node.place is not None
    around = sources.loops(node.place)
    if not around:
        return [node]
    file, first, last = node.place.file, around[-1].lineno, around[-1].end_lineno or 0
    return [
        each
        for each in beside
        if each.place and each.place.file == file and first <= each.place.line <= last
    ]


def _halves(scope: Scope) -> tuple[float, float]:
    """Steps in the first and in the second half of the training time."""
    begin = min(loop.start for loop in scope.training)
    end = max(loop.stop for loop in scope.training)
    early = sum(float(loop.count[loop.end <= (begin + end) / 2].sum()) for loop in scope.training)
    late = sum(loop.steps for loop in scope.training) - early
    return max(1.0, early), max(1.0, float(late))


def _grew(first: int, second: int, steps: tuple[float, float]) -> bool:
    """Whether a step spends clearly more time here later on: by more than chance and by more than a third."""
    if first + second < 20 or second < 10:
        return False
    ratio = (second / steps[1]) / (max(first, 0.5) / steps[0])
    # Neighbouring samples often see one and the same slow call, so the error is taken as twice Poisson's.
    error = 2 * float(np.sqrt(1 / max(first, 0.5) + 1 / second))
    return ratio > 1.33 and float(np.log(ratio)) > 1.64 * error


def hottest_below(run: Run, process: int, function: Location, phase: Phase) -> Location | None:
    """The innermost line that holds most of the time of a function, where samples of a phase tell."""
    samples = []
    for sample in run.samples:
        if sample.process != process or sample.phase is not phase:
            continue
        for depth, place in enumerate(sample.stack):
            if (place.file, place.function) == (
                function.file,
                function.function,
            ) and place.line >= function.line:
                samples.append((sample, depth))
                break
    group = list(_tree(samples).below.values())
    if not group:
        return None
    sources = Sources(run.sources)
    top = max(group, key=lambda node: node.count)
    start = (
        [top]
        if top.count >= sum(node.count for node in group) / 2
        else _of_its_loop(top, group, sources)
    )
    if sum(node.count for node in start) < sum(node.count for node in group) / 2:
        return None
    *_, found = _path(top, start, sources)
    return found[-1].place


def seconds_around(run: Run, process: int, place: Location) -> float:
    """Seconds of training in the loop inside the training loop that a line stands in, or at the line itself."""
    scope = Scope(run, process)
    inner = [loop for loop in scope.sources.loops(place) if not scope.trains(place.file, loop)]
    first, last = (
        (inner[0].lineno, inner[0].end_lineno or place.line) if inner else (place.line, place.line)
    )
    total = here = 0
    for sample in run.samples:
        if sample.process != process or not sample.training or scope.depth(sample) is None:
            continue
        total += sample.in_steps
        if any(frame.file == place.file and first <= frame.line <= last for frame in sample.stack):
            here += sample.in_steps
    return sum(loop.total for loop in scope.training) * here / total if total else 0.0


def grows_with(run: Run, process: int, place: Location) -> tuple[str, int, int] | None:
    """The container that grew most while a line ran: its name (or none), its items early and late."""
    series: dict[str, list[tuple[int, int]]] = {}
    for seen in run.facts(Sizes):
        is_here = seen.place.file == place.file and seen.place.function in (
            place.function,
            "<lambda>",
        )
        if seen.process != process or not is_here:
            continue
        for name, length in seen.sizes:
            series.setdefault(name, []).append((seen.step, length))
    code = run.line(place.file, place.line)
    grown = []
    for name, looks in series.items():
        first, last = min(looks)[1], max(looks)[1]
        rising = all(
            one[1] <= other[1] for one, other in zip(sorted(looks), sorted(looks)[1:], strict=False)
        )
        if len(looks) >= 3 and last >= 1.5 * first and rising:
            grown.append(
                (bool(name) and name.rpartition(".")[2] in code, bool(name), last, name, first)
            )
    if not grown:
        return None
    _, _, last, name, first = max(grown)
    return name, first, last
