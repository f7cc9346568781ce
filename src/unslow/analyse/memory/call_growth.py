"""What the process gained while one of the user's lines was inside TensorFlow, outside of steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unslow.analyse.memory.data_calls import DataCall, data_calls
from unslow.facts.memory import MemoryHigh
from unslow.facts.phase import Phase
from unslow.facts.schema import Place, Stack
from unslow.model import Run
from unslow.syntax.nodes import COMPREHENSIONS, lines_of
from unslow.syntax.tree import tree_of

_TENSORFLOW = frozenset(("tensorflow", "keras", "tf_keras"))
_IN_HOOK = int(Phase.HOOKS)
_COMPUTES = frozenset((int(Phase.OTHER), int(Phase.RUN), _IN_HOOK))
_MODULE = "<module>"


@dataclass(frozen=True)
class CallGrowth:
    """New highs of memory in a row, all while one call of the user's was inside TensorFlow."""

    stack: Stack  # the first line that TensorFlow was called from, innermost first
    first: float  # the time of the first high
    last: float
    bytes: float  # gained since the high before them
    level: float  # of the last one
    in_hook: bool  # a callback or hook of the user's ran
    ops: frozenset[str]  # the eager ops that were under way
    call: DataCall | None  # of a model or a compiled function, by this line

    @property
    def place(self) -> Place:
        return self.stack[0]


def call_growth(run: Run, process: int, start: float) -> Iterator[CallGrowth]:
    """`start`: bytes of the process when TensorFlow had been imported."""
    highs = run.facts(MemoryHigh, process)
    calls = data_calls(run, process)
    below = start
    for (caller, call), group in itertools.groupby(highs, lambda high: _caller(high, calls)):
        found = list(group)
        level = found[-1].bytes
        if caller:
            yield CallGrowth(
                stack=call.stack if call is not None else found[0].stack,
                first=found[0].time,
                last=found[-1].time,
                bytes=max(0.0, level - below),
                level=level,
                in_hook=all(high.phase == _IN_HOOK for high in found),
                ops=frozenset(high.op for high in found if high.op),
                call=call,
            )
        below = level


def _caller(high: MemoryHigh, calls: Mapping[Place, DataCall]) -> tuple[Stack, DataCall | None]:
    """From the line that calls a model, a function of the user's or a single op in TensorFlow.

    The lines of a function of the user's are one call of it. Empty where memory grew elsewhere. A
    later call of a compiled function has the memory of its first one: what it gains is not its own.
    """
    if high.leaf not in _TENSORFLOW or high.phase not in _COMPUTES or not high.stack:
        return (), None
    for depth, place in enumerate(high.stack):
        call = calls.get(place)
        if call is not None and high.time <= call.until:
            return high.stack[depth:], call
    innermost = high.stack[0]
    line = innermost.line if innermost.function == _MODULE else 0
    return (innermost._replace(line=line), *high.stack[1:]), None


def is_in_loop(run: Run, stack: Stack) -> bool:
    """Whether a loop of the user's is around one of the lines."""
    return any(_has_loop(run, place) for place in stack)


def _has_loop(run: Run, place: Place) -> bool:
    tree = tree_of(run.sources.get(place.file, ""))
    comprehensions = (node for kind in COMPREHENSIONS for node in tree.every(kind))
    return bool(tree.loops_at(place.line)) or any(
        place.line in lines_of(node) for node in comprehensions
    )
