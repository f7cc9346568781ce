"""Everything together: the experiments of all modules, the claims of all documents, each with its number."""

from __future__ import annotations

from collections.abc import Iterator

from bench.claims import (
    accumulation,
    files,
    first_step,
    inputs,
    kernels,
    loops,
    memory,
    recipes,
    sessions,
    workers,
)
from bench.claims.documents import DOCUMENTS
from bench.claims.experiment import Claim, Experiment

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment
    for module in (
        recipes,
        sessions,
        loops,
        inputs,
        memory,
        accumulation,
        kernels,
        files,
        first_step,
        workers,
    )
    for experiment in module.EXPERIMENTS
)


def claims() -> Iterator[tuple[str, Claim]]:
    """Every claim that is tested, as 3.2: the second of document 3."""
    for document in DOCUMENTS:
        for place, claim in enumerate(document.claims, 1):
            yield f"{document.number}.{place}", claim


def claims_of(experiment: str) -> list[tuple[str, Claim]]:
    return [(number, claim) for number, claim in claims() if claim.experiment == experiment]
