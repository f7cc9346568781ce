"""The code that makes one eager step: the user's function, or the lines of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unslow.analyse.graphs.eager_cost import EagerCost
from unslow.analyse.places import function_of
from unslow.analyse.scopes import Sources
from unslow.model import Location, Loop, Run


@dataclass(frozen=True)
class StepCode:
    """Where a step is made: a function by its `def` line, or lines of the loop's own function."""

    location: Location
    function: str  # empty: the body of the loop
    last_line: int = 0  # of the lines in the loop's body

    def holds(self, stack: Sequence[Location]) -> bool:
        """Whether an op was run by this code."""
        return any(self._holds_frame(frame) for frame in stack)

    def _holds_frame(self, frame: Location) -> bool:
        is_between = self.location.line <= frame.line <= self.last_line
        return _same_function(frame, self.location) and (bool(self.function) or is_between)

    def share(self, cost: EagerCost) -> float:
        """The share of a step's ops that this code runs, rather than what else is in the loop."""
        total = sum(count for _, count in cost.lines)
        inside = sum(count for stack, count in cost.lines if self.holds(stack))
        return inside / total if inside else 1.0


def step_code(run: Run, loop: Loop, cost: EagerCost) -> StepCode:
    """The innermost function that holds the tape and the update; else the lines of the loop."""
    frames = loop.stack or (loop.update,)
    in_loop = [frame for frame in frames if _same_function(frame, loop.location)]
    below = frames[: frames.index(in_loop[0])] if in_loop else frames[:-1]
    taped = set(map(function_of, cost.tape or below))
    for frame in below:
        if function_of(frame) in taped:
            return StepCode(Sources(run.sources).definition(frame) or frame, frame.function)
    begins = _first_line(loop, cost)
    return StepCode(begins, "", max(frame.line for frame in (*in_loop, begins)))


def _first_line(loop: Loop, cost: EagerCost) -> Location:
    """The line of the loop that opens the tape."""
    if not cost.tape:
        return loop.update
    in_loop = (frame for frame in cost.tape if _same_function(frame, loop.location))
    return next(in_loop, cost.tape[0])


def _same_function(frame: Location, other: Location) -> bool:
    return function_of(frame) == function_of(other)
