"""Data that the training loop makes itself, through a generator or an iterator of the script."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from unslow.analyse.host.hot_lines import is_python
from unslow.analyse.input.python_calls import Stack
from unslow.analyse.loop_phases import is_between_calls
from unslow.analyse.places import Line, line_of, places_of
from unslow.analyse.sampled_time import in_steps, is_at
from unslow.analyse.scopes import Scope
from unslow.model import Location, Phase, Run

_FEWEST_SAMPLES = 8  # fewer may be chance
_BUILDS = 0.1  # of the samples at a line in building layers: it makes models (judgement)


@dataclass(frozen=True)
class MadeInLoop:
    """What the loops of a process spend on making their data."""

    seconds: float
    trained: float  # seconds of all their steps
    steps: int
    samples: Counter[Stack]  # by the lines below that of the training loop


def made_in_loop(run: Run, process: int) -> MadeInLoop | None:
    """None where too little was sampled."""
    scope = Scope(run, process)
    own = [sample for sample in scope.samples if is_between_calls(sample) and is_python(sample)]
    builders = _building_lines(scope)
    counts = Counter[Stack]()
    for sample in own:
        below = scope.frames(sample)[:-1]
        if not is_at(sample, builders) and _makes_data(scope, below):
            counts[below] += sample.in_steps
    if counts.total() < _FEWEST_SAMPLES:
        return None
    return MadeInLoop(
        seconds=scope.other * counts.total() / in_steps(own),
        trained=scope.seconds,
        steps=max(1, scope.steps),
        samples=counts,
    )


def _building_lines(scope: Scope) -> set[Line]:
    """Lines below which layers are built: what a generator makes there are models, not data."""
    places = Counter[Line]()
    building = Counter[Line]()
    for sample in scope.samples:
        here = line_of(sample.stack[0])
        places[here] += sample.in_steps
        building[here] += sample.in_steps * (sample.phase is Phase.BUILD)
    return {here for here, built in building.items() if built > _BUILDS * places[here]}


def _makes_data(scope: Scope, below: Stack) -> bool:
    """Whether the frames below a training loop are those of a generator or an iterator.

    One through which the stack of the updates passes does not make data: it trains.
    """
    return any(_is_maker(scope, place) and not _holds_updates(scope, place) for place in below)


def _is_maker(scope: Scope, place: Location) -> bool:
    return place.function == "__next__" or scope.sources.yields(place)


def _holds_updates(scope: Scope, place: Location) -> bool:
    """Whether the weights are updated in the function around a line, or in what it calls."""
    function = scope.sources.function(place)
    updates = [frame for loop in scope.training for frame in places_of(loop)]
    around = [scope.sources.function(frame) for frame in updates]
    return function is not None and function in around
