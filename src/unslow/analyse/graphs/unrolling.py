"""Python loops that tracing unrolled into a graph, and what that cost before the first step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs.traces import usual_calls
from unslow.analyse.graphs.unusual_calls import (
    Call,
    known_usual,
    seconds_beyond,
    unusual_calls,
)
from unslow.analyse.grouping import grouped
from unslow.facts.functions import FirstRun, FunctionTotals, Unrolled, UnusualCall
from unslow.model import Location, Loop, Run

READS = (Unrolled, UnusualCall, FirstRun, FunctionTotals)
_FEWEST_REPEATS = 16  # a judgement: unrolling fewer iterations is no burden
_MOST_NODES = 0.5  # of the graph, which the loop must make up
# Of the uses of variables: where more have one of their own, it is a stack of layers.
_OWN_VARIABLES = 0.3
# Measured on TensorFlow 2.21: a loop of the graph takes a microsecond longer per op of its body
# than the unrolled ops do, and at most doubles the time of a step.
_ROLLED_OP = 1e-6
_PREPARED = 2.0  # times its trace: preparing a graph was seen to take no longer than tracing it


@dataclass(frozen=True)
class UnrolledLoop:
    """A loop of Python that the graph holds many times."""

    fact: Unrolled
    loop: Loop  # that trains, or repeats, what was traced
    extra: float  # seconds of the first calls beyond usual ones
    caller: Location

    @property
    def by_library(self) -> bool:
        """Whether a library loops, not a line of the user's."""
        return self.fact.loop is None

    @property
    def once(self) -> float:
        """Seconds saved before the first step; the body stays, once more for its gradients."""
        spared = self.fact.repeated - 2 * self.fact.repeated / self.fact.repeats
        return self.extra * spared / self.fact.nodes

    @property
    def slower_step(self) -> float:
        """Seconds that a step takes longer with a loop of the graph."""
        return min(_ROLLED_OP * self.fact.repeated, self.loop.typical())

    def location(self, run: Run) -> Location:
        """The loop's own line; where a library loops, the user's line that calls or traces it."""
        if self.fact.loop is None:
            return say.place(run, self.fact.stack[0] if self.fact.stack else self.caller)
        depth, first, _ = self.fact.loop
        return say.place(run, self.fact.stack[depth]._replace(line=first))


def unrolled_loops(run: Run) -> Iterator[UnrolledLoop]:
    calls = unusual_calls(run)
    called = []
    for fact in filter(_is_loop, run.facts(Unrolled)):
        call = _call_around(fact, calls)
        if fact.session:
            yield from _in_session(run, fact)
        elif call is not None:
            called.append((fact, call))
    for found in grouped(called, lambda pair: pair[0].place).values():
        yield from _in_function(run, found)


def _is_loop(fact: Unrolled) -> bool:
    is_layers = fact.own > _OWN_VARIABLES * fact.touches
    is_most = fact.repeated >= _MOST_NODES * fact.nodes
    return fact.repeats >= _FEWEST_REPEATS and is_most and not is_layers


def _in_session(run: Run, fact: Unrolled) -> Iterator[UnrolledLoop]:
    """The graph was built before the first step, and made ready in it."""
    loop = run.loop_of(fact)
    if loop is not None and loop.style == "session" and fact.stack:
        extra = max(0.0, float(loop.seconds[0]) - loop.typical())
        yield UnrolledLoop(fact, loop, extra, loop.location)


def _in_function(run: Run, found: Sequence[tuple[Unrolled, Call]]) -> Iterator[UnrolledLoop]:
    loop = _loop_of(run, found[0][1])
    if loop is None:
        return
    calls = list({call.fact.time: call for _, call in found}.values())
    usual = _usual(run, loop, calls)
    extra = seconds_beyond(calls, usual)
    fact, last = found[-1]
    yield UnrolledLoop(fact, loop, extra, last.caller or loop.location)


def _call_around(fact: Unrolled, calls: Sequence[Call]) -> Call | None:
    """The call of a compiled function that a trace was part of: the next to end that traced."""
    mine = [call for call in calls if call.fact.process == fact.process and call.was("traced")]
    return next((call for call in mine if call.fact.time >= fact.time), None)


def _loop_of(run: Run, call: Call) -> Loop | None:
    """The loop that a call belongs to: the one under way, or the next to begin."""
    loops = run.loops_of(call.fact.process)
    later = [loop for loop in loops if loop.stop >= call.fact.time]
    return min(later, key=lambda loop: loop.start, default=None)


def _usual(run: Run, loop: Loop, calls: Sequence[Call]) -> float:
    """Seconds of a call that traces nothing; the only step of a loop is no such call."""
    known = known_usual(calls)
    others, seconds = usual_calls(run, calls[0].fact.function)
    if others:
        known.append(seconds / others)
    if known:
        return min(known)
    if loop.steps > 1:
        return loop.typical()
    return min(max(0.0, call.fact.took - _PREPARED * call.fact.traced) for call in calls)
