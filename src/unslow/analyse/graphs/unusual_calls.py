"""Calls of compiled functions that were not like the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from unslow.analyse.run.thinned import weighted
from unslow.facts.functions import CallProfile, UnusualCall
from unslow.facts.schema import Stack
from unslow.model import Location, Run

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


def unusual_calls(run: Run) -> list[Call]:
    return [Call(call, weight) for call, weight in weighted(run.facts(UnusualCall))]


def calls_after_resets(run: Run) -> dict[Location, list[Call]]:
    """Calls in the training that had to prepare their function again, by the line that reset it."""
    found: dict[Location, list[Call]] = defaultdict(list)
    for call in unusual_calls(run):
        is_reset = "reset" in call.fact.why and "traced" not in call.fact.why
        if is_reset and call.reset is not None and in_training(run, call):
            found[call.reset].append(call)
    few = [where for where, calls in found.items() if sum(c.weight for c in calls) < FEW_RESETS]
    for where in few:
        del found[where]
    return dict(found)


def profiles(calls: Sequence[Call]) -> list[CallProfile]:
    """What profiler windows saw of some calls."""
    found = [call.fact.profile for call in calls]
    return [profile for profile in found if profile is not None]


def prepared_share(seen: Sequence[CallProfile]) -> float:
    """The median share of profiled calls in which something was prepared or compiled."""
    return median((profile.prepare + profile.compile) / profile.call for profile in seen)


def innermost(stack: Stack) -> Location | None:
    """The user's innermost line of a stack."""
    return Location(*stack[0]) if stack else None


def in_training(run: Run, call: Call) -> bool:
    """Whether a call belongs to a training loop; its first step counts, what precedes it not."""
    loops = run.loops_of(call.fact.process)
    return any(loop.start <= call.fact.time <= loop.stop + 1e-6 for loop in loops)
