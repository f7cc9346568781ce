"""What the program's lines make while it trains: variables, metrics, optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.places import by_users, line_of
from unslow.analyse.stats.robust import ratio
from unslow.facts.memory import Made
from unslow.facts.schema import Place
from unslow.model import Location, Loop, Run

READS = (Made,)
_OFTEN = 0.2  # made per step: what is made once per epoch is made on purpose
_FEWEST_MADE = 10
_OUTERMOST = ("model", "optimizer", "metric", "variable")  # what is made holds what comes later
_KEPT = 0.8  # of those made that are still there: from this on they pile up
_KEPT_BYTES = 1e6  # less is no growth worth mentioning


@dataclass(frozen=True)
class MadeLine:
    """What one line makes during a loop."""

    location: Location
    kinds: tuple[str, ...]  # variable, metric, optimizer, model
    count: int  # things of the outermost kind
    variables: int
    per_step: float
    steps: int  # of the loop, when the totals were last written
    seconds: float
    bytes: float  # of its variables
    alive: int  # of the outermost kind, when they were last counted in the loop
    goes_on: bool  # also in the later half: what only the first steps make is no habit

    @property
    def piles_up(self) -> bool:
        return self.alive >= _KEPT * self.count and self.bytes >= _KEPT_BYTES

    @property
    def bytes_kept(self) -> float:
        return self.bytes * min(1.0, ratio(self.alive, self.count))


def made_often(run: Run, loop: Loop) -> list[MadeLine]:
    """Lines that make variables, or what holds some, in many steps; models have their own cause."""
    lines = [line for line in made_lines(run, loop) if "model" not in line.kinds and line.goes_on]
    return [line for line in lines if line.per_step >= _OFTEN and line.count >= _FEWEST_MADE]


def made_lines(run: Run, loop: Loop) -> list[MadeLine]:
    """What each line made during a loop: the difference of its running totals."""
    made = by_users(run.facts(Made, loop.process))
    objects = [each for each in made if each.what in _OUTERMOST and not _is_by_keras(each, loop)]
    by_line = grouped(objects, lambda each: each.stack[0])
    return [_line(run, loop, place, totals) for place, totals in by_line.items()]


def _is_by_keras(made: Made, loop: Loop) -> bool:
    """Whether Keras made it inside fit(), for a checkpoint: no line of the user's did."""
    return loop.style == "keras" and line_of(made.stack[0]) == line_of(loop.location)


def _line(run: Run, loop: Loop, place: Place, made: Sequence[Made]) -> MadeLine:
    kinds = grouped(made, lambda each: each.what)
    totals = kinds[min(kinds, key=_OUTERMOST.index)]
    variables = kinds.get("variable", [])
    count = _rise(totals, loop, "count")
    # A metric's own seconds hold those of its variables.
    seconds = max(_rise(each, loop, "took") for each in kinds.values())
    return MadeLine(
        location=say.place(run, place),
        kinds=tuple(kinds),
        count=round(count),
        variables=round(_rise(variables, loop, "count")),
        seconds=seconds,
        per_step=count / max(1, loop.steps),
        steps=max(1, min(loop.steps, loop.step_at(totals[-1].time))),
        bytes=_rise(variables, loop, "amount"),
        alive=_alive(totals, loop),
        goes_on=_goes_on(totals, loop),
    )


def _goes_on(totals: Sequence[Made], loop: Loop) -> bool:
    """Whether the total still rose in the later half of the steps behind the first."""
    begin = float(loop.end[0])
    middle = begin + (loop.stop - begin) / 2
    return any(each.time >= middle for each in _until(totals, loop))


def _before(totals: Sequence[Made], loop: Loop) -> list[Made]:
    return [each for each in totals if each.time < loop.start or not each.steps]


def _until(totals: Sequence[Made], loop: Loop) -> list[Made]:
    return [each for each in totals if each.time <= loop.stop + 1.0]


def _rise(totals: Sequence[Made], loop: Loop, name: str) -> float:
    """How much a running total rose while a loop was under way."""
    before = [getattr(each, name) for each in _before(totals, loop)]
    after = [getattr(each, name) for each in _until(totals, loop)]
    return float(max(after, default=0.0) - max(before, default=0.0))


def _alive(totals: Sequence[Made], loop: Loop) -> int:
    """At the last count in the loop: a function that returns releases all that it held."""
    inside = [each for each in totals if each.time <= loop.stop] or totals
    return inside[-1].alive
