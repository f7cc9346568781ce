"""The user's containers over the inspections of a loop, and what they hold out of sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unslow.analyse.grouping import grouped
from unslow.analyse.memory.process_memory import tensors_held
from unslow.analyse.stats.robust import ratio
from unslow.facts.memory import Container, Containers, Live
from unslow.model import Loop, Run

READS = (Containers, Live)
_FEWEST_INSPECTIONS = 3  # a judgement: two readings have no later half to compare with
_LASTING = 0.5  # of its rate over the whole loop, which growth must keep in its later half
_PER_STEP = 0.3, 1 / 0.3  # elements that a container gets in a step, where one is added in most
_MUCH_MORE = 4.0  # times what containers show: the rest must be out of sight (judgement)
# Elements whose size is known in full: nothing can be hidden behind them.
_TRANSPARENT = frozenset(
    [
        "tensor",
        "array",
        "ndarray",
        "list",
        "tuple",
        "dict",
        "set",
        "float",
        "int",
        "str",
        "bool",
        "NoneType",
    ]
)


@dataclass(frozen=True)
class ContainerSeries:
    """One container at the inspections of a loop."""

    steps: tuple[int, ...]
    seen: tuple[Container, ...]

    @property
    def last(self) -> Container:
        return self.seen[-1]

    @property
    def bytes_per_step(self) -> float:
        """0 where it no longer grows at the end."""
        middle = len(self.seen) // 2
        sizes = [container.bytes for container in self.seen]
        whole, late = self._per_step(sizes, 0), self._per_step(sizes, middle)
        return whole if late >= _LASTING * whole else 0.0

    @property
    def elements_per_step(self) -> float:
        return self._per_step([container.length for container in self.seen], 0)

    @property
    def may_hide_tensors(self) -> bool:
        is_transparent = self.last.element.partition(" ")[0] in _TRANSPARENT
        return self.elements_per_step > 0 and not is_transparent

    def _per_step(self, values: Sequence[float], since: int) -> float:
        return ratio(values[-1] - values[since], self.steps[-1] - self.steps[since])


def container_series(run: Run, loop: Loop) -> list[ContainerSeries]:
    """The containers that were seen often enough during a loop to tell how they grow."""
    found = []
    for inspection in run.facts_during(loop, Containers):
        found += [(inspection.step, container) for container in inspection.found]
    by_name = grouped(found, lambda seen: (seen[1].file, seen[1].function, seen[1].path))
    often = [seen for seen in by_name.values() if len(seen) >= _FEWEST_INSPECTIONS]
    return [ContainerSeries(*zip(*seen, strict=True)) for seen in often]


def hidden_tensors(
    run: Run, loop: Loop, found: Sequence[ContainerSeries]
) -> tuple[ContainerSeries, float] | None:
    """The one container whose elements must hold tensors out of sight, with bytes per step.

    A tape does: Python holds ever more tensors, and just one container gets an element per step.
    """
    tensors = tensors_held(run, loop) or 0.0
    unbounded = [series for series in found if not series.last.bounded]
    visible = sum(series.bytes_per_step for series in unbounded)
    hiding = [series for series in unbounded if series.may_hide_tensors]
    if len(hiding) != 1 or tensors <= _MUCH_MORE * visible:
        return None
    least, most = _PER_STEP
    return (hiding[0], tensors) if least <= hiding[0].elements_per_step <= most else None
