"""How the process's memory changed while a loop ran, and who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during
from unslow.analyse.stats.robust import running_median
from unslow.facts.memory import Container, Containers, Live
from unslow.model import Loop, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats

_FLAT = 0.25  # of the mean: a part that rises by less is flat
_RISING_PARTS = 5  # of seven that must rise: a few jumps may be a few larger batches
_GIVEN_BACK = 0.5  # of what was gained, at any time before: a judgement
_ABOUT_LARGEST = 0.9  # of the largest batch: less asks for clearly less memory (judgement)
_FEWEST_READINGS = 12  # readings of a column, about four a second


@dataclass(frozen=True)
class Rise:
    """What a column gained in the last two thirds of a loop, after the warm-up."""

    gained: float
    per_step: float
    lasting: bool  # the last third rises at least half as fast as the one before; it never fell far
    steady: bool  # it rises most of the time, not in a few jumps


def rise(run: Run, loop: Loop, name: str) -> Rise | None:
    """None with too few readings. Larger batches need more memory, which is no growth with the
    steps: where they came late, only what follows counts."""
    since = _largest_batch_from(loop)
    place, values = _after(since, *during(run, loop, name))
    _, steps = _after(since, *during(run, loop, "steps"))
    if len(values) < _FEWEST_READINGS:
        return None
    total = loop.steps - max(0, loop.step_at(since) - 1)
    if len(steps) == len(values) and steps[-1] > steps[0]:
        place = steps  # not by time: where steps get slower, each still adds the same
    twelfths = place[0] + (place[-1] - place[0]) * (np.arange(12) + 0.5) / 12
    without_spikes = running_median(values, 1)
    cuts = np.interp(twelfths, place, without_spikes).tolist()
    # From the middle of the fifth twelfth to the middle of the last: three twelfths, then four.
    middle, late = cuts[7] - cuts[4], cuts[11] - cuts[7]
    gained = middle + late
    # What gives back much of what it gained is no leak: it rises and falls.
    fallen = float((np.maximum.accumulate(cuts) - cuts).max())
    lasting = gained > 0 and late / 4 > 0.5 * middle / 3 > 0 and fallen < _GIVEN_BACK * gained
    parts = np.diff(cuts[4:])
    steady = bool((parts > _FLAT * gained / len(parts)).sum() >= _RISING_PARTS)
    return Rise(gained, gained / max(1.0, total * 7 / 12), lasting, steady)


def _after(since: float, times: Floats, values: Floats) -> tuple[Floats, Floats]:
    late = times >= since
    return times[late], values[late]


def _largest_batch_from(loop: Loop) -> float:
    """The time from which batches were about as large as they ever were."""
    if loop.elements is None or not loop.elements.max(initial=0.0):
        return loop.start
    row = int(np.argmax(loop.elements >= _ABOUT_LARGEST * loop.elements.max()))
    return float(loop.end[row - 1]) if row else loop.start


def limit(process: Process) -> float:
    """Bytes that the process may use: the container's limit, or else what the machine has."""
    return float(process.machine.get("limit_bytes") or process.machine.get("memory_bytes") or 0)


def used(run: Run, loop: Loop) -> float:
    """The largest share of the limit in use during a loop; 0 where it was not read."""
    process = run.process_of(loop)
    most = limit(process)
    if not most:
        return 0.0
    if process.machine.get("limit_bytes"):
        _, values = during(run, loop, "group_bytes")
        return float(values.max()) / most if len(values) else 0.0
    _, left = during(run, loop, "available")
    return 1 - float(left.min()) / most if len(left) else 0.0


def memory_left(process: Process) -> float:
    """Bytes until the machine, or the container's limit, is full; 0 where that is not known."""
    most = float(process.machine.get("limit_bytes") or 0)
    columns, nothing = process.ticks.columns, np.zeros(0)
    in_use = columns.get("group_bytes", nothing)
    if most and len(in_use):
        return max(0.0, most - float(in_use[-1]))
    return float(next(reversed(columns.get("available", nothing)), 0.0))


def steps_until_full(left: float, bytes_per_step: float) -> str:
    """When memory will be full, in words; nothing where it is not known what is left."""
    steps = say.estimate(left / bytes_per_step)
    return f"out of memory in about {steps:,} steps" if steps else ""


def largest_containers(run: Run, loop: Loop) -> tuple[Container, ...]:
    """The user's growing containers at the last inspection in a loop, the largest first."""
    inspections = run.facts_during(loop, Containers)
    found = inspections[-1].found if inspections else ()
    return tuple(sorted(found, key=lambda container: -container.bytes))


def counted_once(run: Run, loop: Loop) -> bool:
    """Whether the tensors that Python holds were counted a single time in a loop."""
    return len(run.facts_during(loop, Live)) == 1


def tensors_held(run: Run, loop: Loop) -> float | None:
    """Bytes per step that tensors held by Python gained; None where they were not counted.

    After a single count it is all that they hold: they cannot have gained more.
    """
    counts = run.facts_during(loop, Live)
    if not counts:
        return None
    first = counts[0] if counts[-1].step > counts[0].step else Live(step=0)
    return (counts[-1].bytes - first.bytes) / max(1, counts[-1].step - first.step)
