"""What the workers of a job exchange in a step, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse.run.samples import locations
from unslow.analyse.workers.job import CollectiveKind, Job
from unslow.facts.workers import Collective
from unslow.model import Location, Run


def collectives_of(run: Run, job: Job) -> tuple[CollectiveKind, ...]:
    """The collectives of the first worker that has any; all workers run the same program."""
    for worker in job.workers:
        facts = _last(run.facts(Collective, worker.process))
        if facts:
            return tuple(_kinds(facts, job))
    return ()


def _last(facts: Iterable[Collective]) -> list[Collective]:
    """The last fact of each key, which holds their number."""
    return list({fact.key: fact for fact in facts}.values())


def _kinds(facts: list[Collective], job: Job) -> Iterable[CollectiveKind]:
    """Eager ones are counted as they run. What else a step launches is shared out among the built
    ones: how often each was built says how many of them a step has.
    """
    steps = max(1, job.steps)
    eager = {fact.key: launches(fact) / steps for fact in facts if fact.eager}
    built = sum(launches(fact) for fact in facts if not fact.eager)
    left = max(0.0, job.per_step - sum(eager.values()))
    for fact in facts:
        share = launches(fact) / built if built else 0.0
        count = eager[fact.key] if fact.eager else left * share
        yield CollectiveKind(
            what=fact.what,
            location=_place(fact),
            bytes=round(fact.bytes * count / (fact.tensors if fact.sparse else 1)),
            count=count,
            tensors=fact.tensors,
            sparse=fact.sparse,
            eager=fact.eager,
            within=fact.within,
        )


def launches(fact: Collective) -> int:
    """Keys that it asks for, over all times that it was built or run."""
    return fact.n * (fact.tensors if fact.sparse else 1)


def _place(fact: Collective) -> Location | None:
    return next(iter(locations(fact.stack)), None)
