"""Models that one line of a loop makes, or compiles, repeatedly, and what each time costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.places import by_users, function_of, line_of
from unslow.analyse.sampled_time import untimed_seconds_at
from unslow.facts.memory import Compile, Model
from unslow.facts.schema import Place, Stack
from unslow.model import Loop, Phase, Run

READS = (Compile, Model)
FEW_MODELS = 3  # a judgement: up to here it may be a search over a few models


@dataclass(frozen=True)
class Remade:
    """A line that makes, or compiles, the same model in many turns of a loop."""

    loop: Loop
    made: Sequence[Model] | Sequence[Compile]
    traced: Sequence[int]  # rows of the loop: the steps that had to trace again
    kinds: int = 1  # different models, each of which is recreated

    @property
    def stack(self) -> Stack:
        """Of most of them: the first one may have been made before the loop."""
        return Counter(one.stack for one in self.made).most_common(1)[0][0]

    @property
    def is_model(self) -> bool:
        """False: the model stays, and is compiled again."""
        return isinstance(self.made[0], Model)

    @property
    def line_in_loop(self) -> Place:
        """The line in the function that also trains the model: a factory may make it elsewhere."""
        training = set(map(function_of, self.loop.stack))
        near = (place for place in self.stack if function_of(place) in training)
        return next(near, self.stack[0])


def remade_model(run: Run, loop: Loop) -> Remade | None:
    """What most steps of a loop had to trace again for."""
    found = [*_models(run, loop), *_compiles(run, loop)]
    often = [remade for remade in found if len(remade.traced) >= FEW_MODELS]
    return max(often, key=lambda remade: len(remade.traced), default=None)


def _models(run: Run, loop: Loop) -> Iterator[Remade]:
    """Models of equal weights that one line makes."""
    made = by_users(run.facts(Model, loop.process))
    for models in grouped(made, lambda model: line_of(model.stack[0])).values():
        alike = _alike(_outermost(models))
        first = {model.weights: model for model in reversed(alike)}
        again = [model for model in alike if model is not first[model.weights]]
        traced = _traced_after(loop, [model.time - model.ago for model in again])
        yield Remade(loop, alike, traced, kinds=len(first))


def _outermost(models: Iterable[Model]) -> list[Model]:
    """One per step: a Sequential makes a functional model inside of itself, at the same line."""
    return [made[0] for made in grouped(models, lambda model: model.step).values()]


def _alike(models: Sequence[Model]) -> list[Model]:
    """Models that share the shapes of their weights with many others."""
    number = Counter(model.weights for model in models if model.weights)
    return [model for model in models if number[model.weights] > FEW_MODELS]


def _compiles(run: Run, loop: Loop) -> Iterator[Remade]:
    """compile() calls for one and the same model at one line."""
    made = [call for call in by_users(run.facts(Compile, loop.process)) if call.model]
    for calls in grouped(made, lambda call: (call.stack[0], call.model)).values():
        yield Remade(loop, calls, _traced_after(loop, [call.time for call in calls[1:]]))


def _traced_after(loop: Loop, times: Sequence[float]) -> list[int]:
    """The rows of the steps that end next after some moments, and trace."""
    rows = np.unique(np.searchsorted(loop.end, times))
    inside = rows[(rows > 0) & (rows < len(loop.end))]
    traced: list[int] = inside[loop.phases[inside, Phase.TRACE] > 0].tolist()
    return traced


def remaking_seconds(run: Run, remade: Remade) -> float:
    """What tracing, building and preparing take in those steps, and making the model."""
    loop = remade.loop
    usual = np.median(loop.phases[:, Phase.RUN])
    phases = loop.phases[list(remade.traced)]
    beyond = np.maximum(0.0, phases[:, Phase.RUN] - usual)
    preparing = float((phases[:, Phase.TRACE] + phases[:, Phase.BUILD] + beyond).sum())
    needed_again = len(remade.traced) / len(remade.made)
    return preparing + untimed_seconds_at(run, loop, remade.stack[0]) * needed_again


def memory_kept(run: Run, remade: Remade) -> float:
    """Bytes that stay each time, from the second model to the last; 0 where none do."""
    ticks = run.process_of(remade.loop).ticks
    rss = ticks.columns.get("rss")
    if rss is None:
        return 0.0
    ends = remade.loop.end[[remade.traced[0], remade.traced[-1]]]
    begin, end = np.searchsorted(ticks.time, ends)
    if not begin < end < len(rss):
        return 0.0
    return max(0.0, float(rss[end] - rss[begin]) / (len(remade.traced) - 1))


def has_weights(run: Run, remade: Remade) -> bool:
    """Whether the models have weights when they are compiled, not only at their first batch."""
    numbers = {made.model for made in remade.made}
    counts = [call.weights for call in run.facts(Compile) if call.model in numbers]
    return min(counts, default=0) > 0
