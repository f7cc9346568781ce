"""Facts that were recorded while a loop ran."""

from __future__ import annotations

from typing import TypeVar

from unslow.facts.schema import Fact
from unslow.model import Loop, Run

F = TypeVar("F", bound=Fact)


def facts_during(run: Run, loop: Loop, kind: type[F]) -> list[F]:
    """In the order of time."""
    return [fact for fact in run.facts(kind, loop.process) if loop.holds(fact)]


def in_training(run: Run, fact: Fact) -> bool:
    """Whether a fact belongs to a loop; its first step counts, what precedes it does not."""
    loops = run.loops_of(fact.process)
    return any(loop.start <= fact.time <= loop.stop + 1e-6 for loop in loops)
