"""Calls of Keras models and of compiled functions, beside the steps, with rows of data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.analyse.grouping import grouped, largest_of_each
from unslow.facts.functions import Trace, UnusualCall
from unslow.facts.memory import Inventory
from unslow.facts.schema import Place, Stack
from unslow.model import Run

READS = (Inventory, Trace, UnusualCall)
_FAMILY = " from "  # "16 from #50": the graph works on variables of the model that begins with #50


@dataclass(frozen=True)
class DataCall:
    """A call of a model or of a compiled function with rows of data."""

    name: str
    rows: int
    stack: Stack  # the user's line that makes it, innermost first
    row: tuple[int, ...] = ()  # the shape of one; of compiled functions only
    models: frozenset[str] = frozenset()  # whose variables a compiled function works on
    compiled: bool = False
    until: float = math.inf  # the end of the first call with so many rows: later ones reuse memory

    @property
    def place(self) -> Place:
        return self.stack[0]


def data_calls(run: Run, process: int) -> dict[Place, DataCall]:
    """By the line that makes the call; of compiled functions the one with most rows."""
    compiled = largest_of_each(
        _compiled_calls(run, process), lambda call: call.place, lambda call: call.rows
    )
    taken = run.facts(Inventory, process)
    models = [each.call for each in taken if each.call and each.call.stack]
    eager = {call.stack[0]: DataCall(call.name, call.rows, call.stack) for call in models}
    return {**compiled, **eager}


def _compiled_calls(run: Run, process: int) -> Iterator[DataCall]:
    """Calls of compiled functions that update no weights."""
    traces = grouped(run.facts(Trace, process), lambda trace: trace.function)
    for call in run.facts(UnusualCall, process):
        known = traces.get(call.function, ())
        shape = largest_shape(call)
        updates = any(trace.updates for trace in known)
        if updates or not (known and call.stack and shape[0]):
            continue
        yield DataCall(
            name=call.name,
            rows=shape[0],
            stack=call.stack,
            row=shape[1:],
            models=frozenset(map(model_of, known)),
            compiled=True,
            until=call.time,
        )


def largest_shape(call: UnusualCall) -> tuple[int, ...]:
    """Of the arguments of a call, the one with most numbers; without rows where none has any."""
    with_rows = (shape for shape in call.shapes if shape)
    return max(with_rows, key=math.prod, default=(0,))


def model_of(trace: Trace) -> str:
    """The model whose variables a graph works on; empty where it has none."""
    return trace.weights.partition(_FAMILY)[2]
