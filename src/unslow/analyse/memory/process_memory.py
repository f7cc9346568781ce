"""How the process's memory moved while a loop ran, and who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unslow.analyse.host.machine import during, process_of
from unslow.analyse.stats.robust import running_median
from unslow.model import Loop, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats

_FEWEST = 12  # readings of a column, some four a second


@dataclass(frozen=True)
class Rise:
    """What a column gained in the last two thirds of a loop: its start, with all that warms up, is left out."""

    gained: float
    per_step: float
    lasting: bool  # the last third rises at least half as fast as the one before


def rise(run: Run, loop: Loop, name: str) -> Rise | None:
    """None with too few readings."""
    process = process_of(run, loop)
    place, values = during(process, loop, name)
    _, steps = during(process, loop, "steps")
    if len(values) < _FEWEST:
        return None
    if len(steps) == len(values) and steps[-1] > steps[0]:
        place = steps  # by steps, not by time: where they get slower, what each of them adds is still the same
    twelfths = place[0] + (place[-1] - place[0]) * (np.arange(12) + 0.5) / 12
    cuts = np.interp(twelfths, place, _smooth(values)).tolist()
    middle, late = cuts[7] - cuts[4], cuts[11] - cuts[7]
    gained = cuts[11] - cuts[4]
    # From the middle of the fifth twelfth to the middle of the last: three twelfths, then four.
    return Rise(
        gained,
        gained / max(1.0, loop.steps * 7 / 12),
        gained > 0 and late / 4 > 0.5 * middle / 3 > 0,
    )


def _smooth(values: Floats) -> Floats:
    """Without the spikes of single readings."""
    return running_median(values, 1)


def limit(process: Process) -> float:
    """Bytes that the process may use: the container's limit, or else what the machine has."""
    return float(process.machine.get("limit_bytes") or process.machine.get("memory_bytes") or 0)


def used(process: Process, loop: Loop) -> float:
    """The largest share of the limit in use during a loop; 0 where it was not read."""
    most = limit(process)
    if not most:
        return 0.0
    if process.machine.get("limit_bytes"):
        _, values = during(process, loop, "group_bytes")
        return float(values.max()) / most if len(values) else 0.0
    _, left = during(process, loop, "available")
    return 1 - float(left.min()) / most if len(left) else 0.0


def held(run: Run, loop: Loop) -> list[tuple[str, float]]:
    """The user's own containers and their bytes at the last look, the largest first."""
    looks = [event.data["found"] for event in run.of("containers") if loop.holds(event)]
    latest: list[Any] = list(looks[-1]) if looks else []
    return sorted(
        ((str(entry["path"]), float(entry["bytes"])) for entry in latest), key=lambda pair: -pair[1]
    )


def tensors_held(run: Run, loop: Loop) -> float | None:
    """Bytes per step that tensors held by Python gained; None where they were not counted twice."""
    looks = [event.data for event in run.of("live") if loop.holds(event)]
    if len(looks) < 2 or looks[-1]["step"] <= looks[0]["step"]:
        return None
    gained = float(looks[-1]["bytes"]) - float(looks[0]["bytes"])
    return gained / (float(looks[-1]["step"]) - float(looks[0]["step"]))
