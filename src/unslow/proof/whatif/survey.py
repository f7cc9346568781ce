"""What a first run of the script showed: which switches it reaches, and how it trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unslow.facts.json_object import JsonObject
from unslow.proof.trials import Trial

Fact = JsonObject


@dataclass(frozen=True)
class Survey:
    """Facts recorded by the switches of a run in which no setting was requested."""

    told: tuple[Fact, ...]
    lost: Mapping[str, str]

    def of(self, what: str) -> list[Fact]:
        return [fact for fact in self.told if fact["what"] == what]

    def has(self, what: str) -> bool:
        return any(fact["what"] == what for fact in self.told)

    @property
    def updates(self) -> list[Fact]:
        return self.of("update")

    @property
    def trains_by_keras(self) -> bool:
        """fit(), train_on_batch() and the like: the arguments of `compile` decide how they run."""
        return self.has("compile") and any(
            fact["fit"] or (fact["kind"] == "function" and not fact["users"])
            for fact in self.updates
        )

    @property
    def fits(self) -> list[Fact]:
        return self.of("fit") if any(fact["fit"] for fact in self.updates) else []

    @property
    def runs_eagerly(self) -> bool:
        """Each update is called from Python, op by op: there is no graph to compile or optimize."""
        return bool(self.updates) and all(
            fact["kind"] not in ("function", "session") for fact in self.updates
        )

    @property
    def has_session(self) -> bool:
        return any(fact["kind"] == "session" for fact in self.updates)

    @property
    def functions(self) -> list[Fact]:
        """The user's own tf.functions that update weights."""
        return [fact for fact in self.updates if fact["kind"] == "function" and fact["users"]]

    @property
    def batches(self) -> list[Fact]:
        """The calls of tf.data's batch() that make training batches."""
        inner = self.inner
        return [fact for fact in self.of("batch") if fact["place"] not in inner]

    @property
    def inner(self) -> list[str]:
        return sorted({fact["place"] for fact in self.of("inner")})

    @property
    def examples(self) -> int:
        """Examples in a step, or 0 where they cannot be seen."""
        arrays = [fact["size"] for fact in self.fits if fact["arrays"]]
        rows = [fact["rows"] for fact in self.updates if fact["rows"]]
        sizes = [fact["size"] for fact in self.batches]
        return int(next(iter(arrays + (sizes if self.fits else rows + sizes)), 0))


def place_of(facts: list[Fact]) -> str:
    """Where the user's code reached a switch: `train.py:12`, or nothing."""
    for fact in facts:
        if fact["stack"]:
            file, line = fact["stack"][0][:2]
            return f"{file}:{line}"
    return ""


def survey_of(trial: Trial) -> Survey:
    return Survey(trial.told, trial.lost)
