"""Which losses of two trials can be compared: one name that both sides have, the loss first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Series = Mapping[str, Floats]  # by kind, name and place in the step: "metric train_loss#0"

# What is nearest to what is trained comes first. "value" is the last number a step fetched.
_KINDS = ("loss", "metric", "output", "fetch", "value")


def common_losses(trials: Sequence[Series], fewest: int) -> list[Floats] | None:
    """The loss of every step of each trial, from the best name that all have; None without one."""
    kept = [{name for name, values in one.items() if len(values) >= fewest} for one in trials]
    shared = set.intersection(*kept) if kept else set()
    if not shared:
        return None
    best = min({_base(name) for name in shared}, key=_rank)
    places = sorted(name for name in shared if _base(name) == best)
    return [_mean(one, places) for one in trials]


def _base(name: str) -> str:
    return name.rpartition("#")[0]


def _rank(base: str) -> tuple[bool, int, str]:
    is_loss = "loss" in base.lower()
    return not is_loss, _KINDS.index(base.partition(" ")[0]), base


def _mean(one: Series, places: Sequence[str]) -> Floats:
    """Several losses of a step count as their mean."""
    shortest = min(len(one[name]) for name in places)
    mean: Floats = np.mean([one[name][:shortest] for name in places], axis=0)
    return mean
