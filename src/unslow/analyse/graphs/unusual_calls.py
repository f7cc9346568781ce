"""Calls of compiled functions that were not like the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from unslow.analyse.grouping import grouped, known
from unslow.analyse.places import innermost
from unslow.analyse.run.thinned import weighted
from unslow.facts.functions import CallProfile, UnusualCall
from unslow.model import Location, Loop, Run

FEW_RESETS = 3  # in the training: one that happens less often may have been meant


@dataclass(frozen=True)
class Call:
    """A first call, one after a reset, one with new shapes, or one that was just long."""

    fact: UnusualCall
    weight: int  # calls that this one stands for, where many were thinned out

    @property
    def caller(self) -> Location | None:
        return innermost(self.fact.stack)

    @property
    def reset(self) -> Location | None:
        return Location(*self.fact.place) if self.fact.place is not None else None

    def was(self, reason: str, but_not: str = "") -> bool:
        """Whether a reason for its being unusual is known, and another one is not."""
        return reason in self.fact.why and but_not not in self.fact.why


def unusual_calls(run: Run) -> list[Call]:
    return [Call(call, weight) for call, weight in weighted(run.facts(UnusualCall))]


def calls_in(run: Run, loop: Loop) -> list[Call]:
    return [call for call in unusual_calls(run) if loop.holds(call.fact)]


def calls_after_resets(run: Run) -> dict[Location, list[Call]]:
    """Calls in the training that had to prepare their function again, by the line that reset it."""
    reset = [call for call in unusual_calls(run) if call.was("reset", but_not="traced")]
    in_loops = [call for call in reset if run.in_training(call.fact)]
    return {
        where: calls
        for where, calls in grouped(in_loops, lambda call: call.reset).items()
        if where is not None and number_of(calls) >= FEW_RESETS
    }


def number_of(calls: Sequence[Call]) -> int:
    """Calls that some stand for."""
    return sum(call.weight for call in calls)


def known_usual(calls: Sequence[Call]) -> list[float]:
    """Seconds of a usual call, where the recorder knew it."""
    return [call.fact.usual for call in calls if call.fact.usual > 0]


def seconds_beyond(calls: Sequence[Call], usual: float) -> float:
    """What all that some calls stand for took beyond usual ones."""
    return sum(max(0.0, call.fact.took - usual) * call.weight for call in calls)


def profiles(calls: Sequence[Call]) -> list[CallProfile]:
    """What profiler windows saw of some calls."""
    return known(call.fact.profile for call in calls)


def prepared_share(seen: Sequence[CallProfile]) -> float:
    """The median share of profiled calls in which something was prepared or compiled."""
    return median((profile.prepare + profile.compile) / profile.call for profile in seen)
