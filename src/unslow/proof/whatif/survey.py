"""What a first run of the script showed: which switches it reaches, and how it trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from unslow.facts.whatif import (
    DatasetBatched,
    DatasetRebatched,
    FitStarted,
    ModelCompiled,
    Switched,
    WeightsUpdated,
)
from unslow.proof.trials import Trial

S = TypeVar("S", bound=Switched)


@dataclass(frozen=True)
class Survey:
    """Facts recorded by the switches of a run in which no setting was requested."""

    switched: tuple[Switched, ...]
    lost: Mapping[str, str]

    def of(self, kind: type[S]) -> list[S]:
        return [fact for fact in self.switched if isinstance(fact, kind)]

    @property
    def updates(self) -> list[WeightsUpdated]:
        return self.of(WeightsUpdated)

    @property
    def trains_by_keras(self) -> bool:
        """fit(), train_on_batch() and the like: the arguments of `compile` decide how they run."""
        compiled = bool(self.of(ModelCompiled))
        return compiled and any(
            fact.fit or (fact.way == "function" and not fact.users) for fact in self.updates
        )

    @property
    def fits(self) -> list[FitStarted]:
        return self.of(FitStarted) if any(fact.fit for fact in self.updates) else []

    @property
    def runs_eagerly(self) -> bool:
        """Each update is called from Python, op by op: there is no graph to compile or optimize."""
        return bool(self.updates) and all(
            fact.way not in ("function", "session") for fact in self.updates
        )

    @property
    def has_session(self) -> bool:
        return any(fact.way == "session" for fact in self.updates)

    @property
    def functions(self) -> list[WeightsUpdated]:
        """The user's own tf.functions that update weights."""
        return [fact for fact in self.updates if fact.way == "function" and fact.users]

    @property
    def batches(self) -> list[DatasetBatched]:
        """The calls of tf.data's batch() that make training batches."""
        inner = self.inner
        return [fact for fact in self.of(DatasetBatched) if fact.place not in inner]

    @property
    def inner(self) -> list[str]:
        return sorted({fact.place for fact in self.of(DatasetRebatched)})

    @property
    def examples(self) -> int:
        """Examples in a step, or 0 where they cannot be seen."""
        arrays = [fact.size for fact in self.fits if fact.arrays]
        rows = [fact.rows for fact in self.updates if fact.rows]
        sizes = [fact.size for fact in self.batches]
        return int(next(iter(arrays + (sizes if self.fits else rows + sizes)), 0))


def place_of(facts: Sequence[Switched]) -> str:
    """Where the user's code reached a switch: `train.py:12`, or nothing."""
    for fact in facts:
        if fact.stack:
            return f"{fact.stack[0].file}:{fact.stack[0].line}"
    return ""


def survey_of(trial: Trial) -> Survey:
    return Survey(trial.switched, trial.lost)
