"""Facts that were recorded while a loop ran."""

from __future__ import annotations

from typing import TypeVar

from unslow.facts.schema import Fact
from unslow.model import Loop, Run

F = TypeVar("F", bound=Fact)


def facts_during(run: Run, loop: Loop, kind: type[F]) -> list[F]:
    """In the order of time."""
    return [fact for fact in run.facts(kind, loop.process) if loop.holds(fact)]
