"""What the lines of a program make while it trains: variables, metrics, optimizers; and what of it stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.model import Event, Location, Loop, Run

_OFTEN = 0.2  # made per step: what is made once per epoch is made on purpose
_FEW = 10


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


def made_often(run: Run, loop: Loop) -> list[MadeLine]:
    """The lines that make variables, or what holds some, in many a step; models have causes of their own."""
    lines = made_lines(run, loop)
    return [
        line
        for line in lines
        if line.per_step >= _OFTEN and line.count >= _FEW and "model" not in line.kinds
    ]


def made_lines(run: Run, loop: Loop) -> list[MadeLine]:
    """What each line made during a loop: the difference of its running totals."""
    groups: dict[tuple[str, int], dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in run.of("made"):
        if event.process == loop.process and event.data.get("stack"):
            file, line, _ = event.data["stack"][0]
            if loop.style == "keras" and (file, line) == (loop.location.file, loop.location.line):
                continue  # made by Keras inside fit, for a checkpoint: none of the user's lines made it
            groups[str(file), int(line)][str(event.data["what"])].append(event)
    found = []
    for (file, line), kinds in groups.items():
        outer = next(
            (kind for kind in ("model", "optimizer", "metric", "variable") if kind in kinds), None
        )
        if outer is None:
            continue
        count = _during(kinds[outer], loop, "count")
        steps = max(1, min(loop.steps, loop.step_at(kinds[outer][-1].time)))
        variables = _during(kinds["variable"], loop, "count") if "variable" in kinds else 0.0
        # A metric's own seconds hold those of its variables.
        seconds = max(
            _during(events, loop, "took") for kind, events in kinds.items() if kind != "compile"
        )
        found.append(
            MadeLine(
                location=Location(
                    file, line, str(kinds[outer][-1].data["stack"][0][2]), run.line(file, line)
                ),
                kinds=tuple(kinds),
                count=round(count),
                variables=round(variables),
                seconds=seconds,
                per_step=count / max(1, loop.steps),
                steps=steps,
                bytes=_during(kinds["variable"], loop, "amount") if "variable" in kinds else 0.0,
                alive=_alive(kinds[outer], loop),
            )
        )
    return found


def _during(events: Sequence[Event], loop: Loop, key: str) -> float:
    """How much a running total rose while a loop was under way."""
    before = [
        float(e.data.get(key) or 0.0)
        for e in events
        if e.time < loop.start or not e.data.get("steps")
    ]
    after = [float(e.data.get(key) or 0.0) for e in events if e.time <= loop.stop + 1.0]
    return max(after, default=0.0) - max(before, default=0.0)


def _alive(events: Sequence[Event], loop: Loop) -> int:
    """Those that were there by the last count in a loop: a function that returns lets go of all that it held."""
    inside = [event for event in events if event.time <= loop.stop] or events
    return int(inside[-1].data.get("alive") or 0)
