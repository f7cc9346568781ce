"""The runs of a session's training step, from the steps that were inspected."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.places import Line
from unslow.analyse.stats.robust import ratio
from unslow.cause import CannotJudge
from unslow.facts.schema import Place
from unslow.facts.sessions import InspectedRun
from unslow.model import Location, Loop, Phase, Run
from unslow.syntax.nodes import inside, lines_of
from unslow.syntax.tree import tree_of

_INSPECTIONS = 2  # steps that must agree
_SHORT = 20  # steps of a loop that may end before it was inspected
_NOWHERE = Place("", 0)


@dataclass(frozen=True)
class Site:
    """One line that runs the session in every step, as the inspections saw it."""

    location: Location
    fetches: tuple[str, ...]
    updates: bool
    per_step: float
    seconds: float  # of one run
    share: float  # of all the seconds that the step's runs take
    own: float  # seconds of a run's kernels that the update, or the run fed alike, does not need
    mergeable: bool  # always fed as the update before or after it
    update: Line | None  # that update, where the inspections agree on one
    like: Line | None  # whose run it is fed as, where the update is fed otherwise
    before: bool  # fed as the update after it
    after: bool
    runs: Sequence[InspectedRun]

    @property
    def line(self) -> Line:
        return self.location.file, self.location.line

    @property
    def random(self) -> bool:
        return any(run.random for run in self.runs)

    @property
    def draws(self) -> bool:
        return any(run.draws for run in self.runs)

    @property
    def writes(self) -> bool:
        return any(run.writes for run in self.runs)

    @property
    def depends(self) -> bool:
        return any(run.depends for run in self.runs)

    @property
    def reads_own(self) -> bool:
        return any(run.reads_own for run in self.runs)


def inspected_steps(run: Run, loop: Loop) -> list[list[InspectedRun]]:
    """The runs of each step that was inspected, in order."""
    by_step = grouped(run.facts_during(loop, InspectedRun), lambda ran: ran.cycle)
    return [by_step[cycle] for cycle in sorted(by_step)]


def inspected_loops(run: Run) -> Iterator[Loop]:
    """The loops of a session of which some steps were inspected."""
    for loop in run.loops:
        if loop.style != "session":
            continue
        if len(inspected_steps(run, loop)) >= _INSPECTIONS:
            yield loop
        elif loop.steps > _SHORT:
            raise CannotJudge("no step of the session could be inspected")


def sites(run: Run, loop: Loop) -> list[Site]:
    """The lines that run the session in this loop, in the order of the step."""
    steps = inspected_steps(run, loop)
    everything = list(chain.from_iterable(steps))
    by_line = grouped(everything, lambda ran: (_line(ran), ran.updates))
    return [_site(run, runs, everything) for runs in by_line.values()]


def _seconds(runs: Iterable[InspectedRun]) -> float:
    return sum(ran.took for ran in runs)


def _place(ran: InspectedRun) -> Place:
    return ran.stack[0] if ran.stack else _NOWHERE


def _line(ran: InspectedRun) -> Line:
    return _place(ran)[:2]


def _site(run: Run, runs: Sequence[InspectedRun], everything: Sequence[InspectedRun]) -> Site:
    fetches = chain.from_iterable(ran.fetches for ran in runs)
    steps = len({ran.cycle for ran in everything})
    updates = {ran.update[0][:2] for ran in runs if ran.update}
    return Site(
        location=say.place(run, _place(runs[0])),
        fetches=tuple(dict.fromkeys(fetches)),
        updates=runs[0].updates,
        per_step=len(runs) / steps,
        seconds=median(ran.took for ran in runs),
        share=ratio(_seconds(runs), _seconds(everything)),
        own=median(_own(ran) for ran in runs),
        mergeable=all(ran.same_before or ran.same_after for ran in runs),
        update=updates.pop() if len(updates) == 1 else None,
        like=_like(runs, everything),
        before=all(ran.same_before for ran in runs),
        after=all(ran.same_after for ran in runs),
        runs=runs,
    )


def _like(runs: Sequence[InspectedRun], everything: Sequence[InspectedRun]) -> Line | None:
    """The one other line whose run is fed as these are in every step; None if there is none."""
    if any(ran.like is None for ran in runs):
        return None
    by_index = {(ran.cycle, ran.index): ran for ran in everything}
    found = {_line(by_index.get((ran.cycle, ran.like or 0), ran)) for ran in runs}
    return found.pop() if len(found) == 1 and found != {_line(runs[0])} else None


def _own(ran: InspectedRun) -> float:
    """Seconds that a run would add to the update's: its own kernels, or by the number of ops."""
    return min(ran.took, ran.own) if ran.timed else ran.took * (1 - ran.shared)


def run_seconds(loop: Loop) -> float:
    """What all runs of the loop take: the median seconds per step, times the steps."""
    seconds = np.sort(loop.phases[1:, Phase.RUN])
    return float(seconds[len(seconds) // 2]) * loop.steps if len(seconds) else 0.0


def fetched(sources: Mapping[str, str], where: Location) -> str:
    """What a line fetches, as the user wrote it; nothing if that is unknown."""
    calls = inside(tree_of(sources.get(where.file, "")).tree, ast.Call)
    for call in (call for call in calls if where.line in lines_of(call)):
        match call:
            case ast.Call(func=ast.Attribute(attr="run"), args=[fetches, *_]):
                return ast.unparse(fetches)
            case ast.Call(func=ast.Attribute(value=fetches, attr="eval")):
                return ast.unparse(fetches)
    return ""
