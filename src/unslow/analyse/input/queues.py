"""How long the steps of a session wait for a queue that threads of the program fill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from statistics import median

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import inspected_steps
from unslow.analyse.input.waits import Machine
from unslow.facts.sessions import InspectedRun
from unslow.model import Location, Loop, Run

_INSPECTED = 3  # steps that must have been inspected


@dataclass(frozen=True)
class QueueWait:
    loop: Loop
    inspected: int  # steps
    step: float  # seconds, the first one left out
    per_step: float  # seconds of a step in which only the dequeue ran
    threads: int  # that fill the queue
    location: Location  # of the line that made it
    floor: float  # seconds of a step with all processors busy: it cannot take less

    @property
    def share(self) -> float:
        return self.per_step / self.step

    @property
    def after(self) -> float:
        """Seconds of a step if more threads filled the queue, limited by step or machine."""
        return min(self.step, max(self.step - self.per_step, self.floor))


def drawn(run: Run, loop: Loop) -> list[list[InspectedRun]]:
    """By inspected step: its updates that took their batch from a queue."""
    steps = [[ran for ran in step if ran.queue] for step in inspected_steps(run, loop)]
    return [step for step in steps if step]


def queue_waits(run: Run) -> Iterator[QueueWait]:
    """One for each loop that takes its batches from a queue whose making was seen."""
    for loop in run.loops:
        steps = drawn(run, loop)
        # Inspections are ever further apart: the later half stands for most steps of the loop.
        later = steps[len(steps) // 2 :]
        made = [ran.made for ran in chain.from_iterable(later) if ran.made]
        rows = loop.count[1:]
        if len(steps) < _INSPECTED or not made or not rows.sum():
            continue
        step = float((loop.seconds[1:] * rows).sum() / rows.sum())
        wait = min(step, median(sum(ran.queue_wait for ran in found) for found in later))
        yield QueueWait(
            loop=loop,
            inspected=len(later),
            step=step,
            per_step=wait,
            threads=later[-1][-1].filled_by,
            location=say.place(run, made[-1][0]),
            floor=Machine.during(run, loop).floor,
        )
