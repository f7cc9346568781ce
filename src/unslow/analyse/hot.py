"""The user's lines that their own Python spends its time on, from stack samples and the measured rest of the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unslow.analyse.scopes import Scope
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


def hot_lines(run: Run, process: int, scope: Scope | None = None) -> list[Hot]:
    """Lines of the user's own Python between the calls, the dearest first; waits for data are left out."""
    scope = scope or Scope(run, process)
    other = sum(loop.phase(Phase.OTHER) for loop in scope.training)
    mine = [
        (sample, depth)
        for sample in run.samples
        if sample.process == process and sample.training and sample.in_steps and sample.phase is Phase.OTHER
        for depth in [scope.depth(sample)]
        if depth is not None
    ]
    total = sum(sample.in_steps for sample, _ in mine if sample.leaf != "unslow")
    if not total or other <= 0:
        return []
    root = _tree((sample, depth) for sample, depth in mine if is_python(sample) and not scope.fetches(sample, depth))
    found = [_hot(top, other / total, _halves(scope)) for top in root.below.values()]
    return sorted(found, key=lambda hot: -hot.seconds)


def _tree(samples: Iterable[tuple[Sample, int]]) -> _Node:
    root = _Node()
    for sample, depth in samples:
        node = root
        for place in reversed(sample.stack[: depth + 1]):
            node = node.below.setdefault((place.file, place.line), _Node(place))
            node.add(sample)
    return root


def _hot(top: _Node, second_per_sample: float, steps: tuple[float, float]) -> Hot:
    *_, node = _path(top)
    assert node.place is not None and top.place is not None
    early = node.first * second_per_sample / steps[0]
    late = node.second * second_per_sample / steps[1]
    return Hot(
        location=node.place, within=top.place, seconds=node.count * second_per_sample, samples=node.count,
        early=early, late=late, grows=_grew(node, steps), library=node.leaves.most_common(1)[0][0],
    )  # fmt: skip


def _path(top: _Node) -> Iterator[_Node]:
    """Down from a line of the loop to the innermost one that still holds most of its time."""
    node: _Node | None = top
    while node is not None:
        yield node
        dearest = max(node.below.values(), key=lambda child: child.count, default=None)
        node = dearest if dearest is not None and dearest.count >= top.count / 2 else None


def _halves(scope: Scope) -> tuple[float, float]:
    """Steps in the first and in the second half of the training time."""
    begin = min(loop.start for loop in scope.training)
    end = max(loop.stop for loop in scope.training)
    early = sum(float(loop.count[loop.end <= (begin + end) / 2].sum()) for loop in scope.training)
    late = sum(loop.steps for loop in scope.training) - early
    return max(1.0, early), max(1.0, float(late))


def _grew(node: _Node, steps: tuple[float, float]) -> bool:
    """Whether a step spends clearly more time here later on: by more than chance and by more than a third."""
    if node.first + node.second < 20 or node.second < 10:
        return False
    ratio = (node.second / steps[1]) / (max(node.first, 0.5) / steps[0])
    # Neighbouring samples often see one and the same slow call, so the error is taken as twice Poisson's.
    error = 2 * float(np.sqrt(1 / max(node.first, 0.5) + 1 / node.second))
    return ratio > 1.33 and float(np.log(ratio)) > 1.64 * error
