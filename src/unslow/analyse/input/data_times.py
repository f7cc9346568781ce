"""What of a loop's time its data takes: starting iterators, and waiting in compiled steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unslow.analyse.grouping import grouped
from unslow.analyse.input import waits as waits_module
from unslow.analyse.input.waits import Wait, waits
from unslow.analyse.places import line_of
from unslow.facts.data import IteratorMade
from unslow.facts.keras import Fit
from unslow.model import Location, Loop, Phase, Run

READS = (*waits_module.READS, Fit, IteratorMade)
# What `fit` is given as arrays; it makes a pipeline over them itself.
_ARRAYS = frozenset(("ndarray", "EagerTensor", "DataFrame", "Series", "list", "tuple", "dict"))


@dataclass(frozen=True)
class DataTime:
    """Seconds of one loop."""

    hidden: float = 0.0  # of compiled steps, which wait for data; first batches included
    made: float = 0.0  # of what Python spends on data, for making iterators
    first: float = 0.0  # of `hidden`, for the first batches of iterators that Keras makes of arrays
    made_at: Location | None = None

    @property
    def starting(self) -> float:
        """What a pass over the data costs before it has its first batch."""
        return self.made + self.first


NONE = DataTime()


def data_times(run: Run) -> Mapping[Loop, DataTime]:
    waiting = {wait.loop: wait for wait in waits(run)}
    return {loop: _of_loop(run, loop, waiting.get(loop)) for loop in run.loops}


def _of_loop(run: Run, loop: Loop, wait: Wait | None) -> DataTime:
    made, place = _making(run, loop)
    hidden = first = 0.0
    if wait is not None:
        hidden = wait.hidden * wait.steps
        first = wait.hidden_starts * wait.steps if _is_of_arrays(run, loop) else 0.0
    return DataTime(hidden, min(made, loop.phase(Phase.INPUT)), min(first, hidden), place)


def _making(run: Run, loop: Loop) -> tuple[float, Location | None]:
    """Seconds in which a loop makes the iterators for its passes, and where most of it is."""
    made = [one for one in run.facts(IteratorMade, loop.process) if not one.evaluates]
    taken: dict[Location | None, float] = {}
    for facts in grouped((one for one in made if not one.graph), lambda one: one.key).values():
        inside = sum(map(loop.holds, facts)) / len(facts)
        where = Location(*facts[-1].stack[0]) if facts[-1].stack else None
        taken[where] = taken.get(where, 0.0) + facts[-1].sum * inside
    most = max(taken, key=lambda where: taken[where], default=None)
    return sum(taken.values()), most


def _is_of_arrays(run: Run, loop: Loop) -> bool:
    """Whether Keras makes the pipeline of a loop: its start is not that of stages of the user's."""
    fits = [one for one in run.facts(Fit, loop.process) if one.stack]
    here = [one for one in fits if line_of(one.stack[0]) == line_of(loop.location)]
    return bool(here) and all(one.data in _ARRAYS for one in here)
