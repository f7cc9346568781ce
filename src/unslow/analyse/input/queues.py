"""How long the steps of a session's loop stand still for a queue that threads of the program fill."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import inspected_steps
from unslow.analyse.input.waits import processor
from unslow.facts.sessions import InspectedRun
from unslow.model import Location, Loop, Run

_LOOKS = 3  # steps that must have been looked at


@dataclass(frozen=True)
class QueueWait:
    loop: Loop
    looks: int
    step: float  # seconds, the first one left out
    per_step: float  # of it in which only the dequeue was at work
    threads: int  # that fill the queue
    location: Location  # of the line that made it
    busy: float  # seconds of a step in which all processors would be busy with what it needs: it cannot take less

    @property
    def share(self) -> float:
        return self.per_step / self.step

    @property
    def after(self) -> float:
        """Seconds of a step if more threads filled the queue: the rest of the step, or the processors, set the pace."""
        return min(self.step, max(self.step - self.per_step, self.busy))


def drawn(run: Run, loop: Loop) -> list[list[InspectedRun]]:
    """By inspected step: its updates that took their batch from a queue."""
    steps = [[ran for ran in step if ran.queue] for step in inspected_steps(run, loop)]
    return [step for step in steps if step]


def queue_waits(run: Run) -> Iterator[QueueWait]:
    """One for each loop that takes its batches from a queue whose making was seen."""
    for loop in run.loops:
        steps = drawn(run, loop)
        later = steps[
            len(steps) // 2 :
        ]  # looks come ever further apart: these stand for most steps of the loop
        made = [ran.made[0] for step in later for ran in step if ran.made]
        rows = loop.count[1:]
        if len(steps) < _LOOKS or not made or not rows.sum():
            continue
        step = float((loop.seconds[1:] * rows).sum() / rows.sum())
        wait = min(step, median(sum(ran.queue_wait for ran in found) for found in later))
        cores = next(
            (one.machine.get("cores") for one in run.processes if one.index == loop.process), None
        )
        busy = processor(run, loop)
        floor = busy / cores if cores and math.isfinite(busy) else 0.0
        yield QueueWait(
            loop=loop,
            looks=len(later),
            step=step,
            per_step=wait,
            threads=later[-1][-1].filled_by,
            location=say.place(run, made[-1]),
            busy=floor,
        )
