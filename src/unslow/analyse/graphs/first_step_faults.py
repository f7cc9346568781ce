"""What of a slow first step could be had cheaper: constants, Python work, XLA in a short run."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs import first_step, repeated_preparation
from unslow.analyse.graphs.first_step import FirstStep, nodes_traced
from unslow.analyse.graphs.repeated_preparation import (
    FEWEST_COMPILATIONS,
    avoidable_seconds,
    calls_for_shapes,
    recompiled_steps,
    usual_in_loop,
)
from unslow.analyse.graphs.unusual_calls import Call, number_of
from unslow.analyse.places import innermost
from unslow.analyse.scopes import Sources
from unslow.facts.functions import Constants, Trace
from unslow.facts.schema import Fact
from unslow.model import Location, Loop, Run

READS = (*first_step.READS, *repeated_preparation.READS, Constants)
_MANY_CONSTANTS = 8 << 20  # bytes that make a graph expensive (judgement)
_PER_NODE = 2e-3  # seconds that tracing and preparing a node may take
# Seconds per node of a trace that did other work; 31 ms was seen on a busy machine.
_PYTHON_PER_NODE = 40e-3
_LONG_TRACE = 1.5  # seconds (judgement)
_LONG_COMPILATION = 2.0  # seconds (judgement)
# A step that XLA has not compiled was seen to take up to twice as long: no more is promised.
_SLOWER_WITHOUT_XLA = 1.0
_MOST_SAVED = 0.5  # of what was spent, which a fix must save (judgement)
_BEFORE = 1.0  # seconds: the first call may trace before its step begins


class Kind(enum.Enum):
    CONSTANTS = "constants"
    PYTHON = "python"
    XLA = "xla"


@dataclass(frozen=True)
class Fault:
    """A part of the first step that could be had cheaper."""

    kind: Kind
    title: str
    location: Location | None
    seconds: float
    in_first_step: bool = True  # all of it


def first_step_fault(run: Run, loop: Loop, first: FirstStep) -> Fault | None:
    """The first reason that applies; None where all of it is needed."""
    judges = (_constants, _python_work, _xla)
    return next((fault for judge in judges if (fault := judge(run, loop, first))), None)


def _constants(run: Run, loop: Loop, first: FirstStep) -> Fault | None:
    """Arrays baked into the graph: they are copied through tracing, optimizing and loading it."""
    baked = [constants for constants in run.facts(Constants) if _in_first_step(constants, loop)]
    worst = max(baked, key=lambda constants: constants.bytes, default=None)
    if worst is None or worst.bytes < _MANY_CONSTANTS:
        return None
    calls = [call for call in first.calls if call.fact.time >= worst.time]
    took = sum(call.fact.took for call in calls)
    spent = took - first.usual
    saved = spent - _PER_NODE * nodes_traced(run, calls)
    if saved < _MOST_SAVED * spent:
        return None
    shape = "×".join(map(str, worst.shape))
    title = f"{say.size(worst.bytes)} of constants are baked into the graph of {worst.name}() (the "
    title += f"largest array: {shape}): its first call takes {say.time(took)}"
    return Fault(Kind.CONSTANTS, title, innermost(worst.stack), saved)


def _python_work(run: Run, loop: Loop, first: FirstStep) -> Fault | None:
    """A trace that took far longer than its nodes can explain: its Python code did other work."""
    nodes, spent = nodes_traced(run, first.calls), first.parts["trace"]
    if not nodes or spent < max(_LONG_TRACE, _PYTHON_PER_NODE * nodes):
        return None
    traces = [trace for trace in run.facts(Trace) if _in_first_step(trace, loop)]
    longest = max(traces, key=lambda trace: trace.took, default=None)
    title = f"tracing took {say.time(spent)} for {nodes:,} nodes: the Python code of the function "
    title += "did other work meanwhile"
    where = None
    if longest is not None:  # its code begins with its decorators
        where = Sources(run.sources).definition(Location(*longest.place))
    return Fault(Kind.PYTHON, title, where, spent - _PER_NODE * nodes)


def _xla(run: Run, loop: Loop, first: FirstStep) -> Fault | None:
    """Compilations that the run is too short for, whatever XLA gains."""
    before = first.parts["XLA compile"]
    again = _compiled_again(run, loop) if before else _Again()
    spent = before + again.seconds
    rest = loop.total - first.seconds - again.seconds
    saved = spent - _SLOWER_WITHOUT_XLA * rest
    if spent < _LONG_COMPILATION or saved < _MOST_SAVED * spent:
        return None
    longest = max(first.calls, key=_compiling, default=None)
    title = f"XLA compiled for {say.time(spent)} before the first step, and all "
    if again.count:
        title = f"XLA compiled for {say.time(spent)} in {1 + again.count} steps, and all "
    title += f"{loop.steps - 1 - again.count:,} others together took {say.time(rest)}"
    where = longest.caller if longest is not None else None
    return Fault(Kind.XLA, title, where, saved, in_first_step=not again.count)


@dataclass(frozen=True)
class _Again:
    """Compilations after the first, too few for a cause of their own: `xla-recompile`."""

    count: int = 0
    seconds: float = 0.0


def _compiled_again(run: Run, loop: Loop) -> _Again:
    count, seconds = 0, 0.0
    for calls in calls_for_shapes(run):
        number = number_of(calls)
        if number < FEWEST_COMPILATIONS and loop.holds(calls[0].fact):
            count += number
            seconds += avoidable_seconds(calls, otherwise=usual_in_loop(run, calls)) or 0.0
    found = recompiled_steps(run, loop)
    if found is not None and found.steps < FEWEST_COMPILATIONS:
        count, seconds = count + found.steps, seconds + found.seconds
    return _Again(count, seconds)


def _compiling(call: Call) -> float:
    return call.fact.profile.compile if call.fact.profile is not None else 0.0


def _in_first_step(fact: Fact, loop: Loop) -> bool:
    return fact.process == loop.process and loop.start - _BEFORE <= fact.time <= loop.end[0]
