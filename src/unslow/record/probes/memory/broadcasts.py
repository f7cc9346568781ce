"""Sees large tensors in a traced graph that a broadcast makes and a reduction takes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from unslow.facts.memory import Broadcast
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.probes.functions.traced_graphs import TRACER

_LEAST_BYTES = 32 << 20  # a smaller tensor makes no peak
# Times all of its inputs: an op that adds a bias or a mask to a large tensor makes none larger.
_LARGER = 4
_REDUCED = 4  # times what is left of it: then the large tensor was only a means
_MOST_OPS = 20_000  # of a graph: to inspect more takes too long
_MOST_FOLLOWED = 100  # ops behind one broadcast, with those of its gradient
_MOST_REPORTED = 4  # of a graph, the largest
_COMPILED = "_XlaMustCompile"  # XLA fuses a broadcast with its reduction: there is no such tensor

_ELEMENTWISE = frozenset(
    [
        "Add",
        "AddV2",
        "Sub",
        "Mul",
        "RealDiv",
        "Div",
        "DivNoNan",
        "FloorDiv",
        "FloorMod",
        "Pow",
        "SquaredDifference",
        "Maximum",
        "Minimum",
        "Equal",
        "NotEqual",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "LogicalAnd",
        "LogicalOr",
        "SelectV2",
        "BroadcastTo",
        "Tile",
    ]
)
_REDUCTIONS = frozenset(
    [
        "Sum",
        "Mean",
        "Prod",
        "Max",
        "Min",
        "All",
        "Any",
        "EuclideanNorm",
        "ArgMax",
        "ArgMin",
        "TopKV2",
    ]
)
_ASK_FOR_SHAPE = frozenset(["Shape", "ShapeN", "Size", "Rank"])


class Broadcasts(Probe):
    name = "broadcasts"

    def doors(self) -> Doors:
        place = "tensorflow.python.eager.polymorphic_function"
        wrapped = self.wrapping({"_create_concrete_function": self._create})
        return {f"{place}.tracing_compilation": wrapped}  # seen on 2.15 to 2.21

    def _create(self, original: Function) -> Function:
        local, probe = self.recorder.local, self

        def _create_concrete_function(
            function_type: object, type_context: object, func_graph: object, tracing_options: object
        ) -> object:
            concrete = original(function_type, type_context, func_graph, tracing_options)
            if not local.lane.busy:
                probe._inspect(concrete, tracing_options)
            return concrete

        return _create_concrete_function

    def _inspect(self, concrete: Foreign, options: Foreign) -> None:
        with self.inspection(self.recorder.local.lane):
            operations = concrete.graph.get_operations()
            if len(operations) <= _MOST_OPS and not (options.attributes or {}).get(_COMPILED):
                results = {tensor.name for tensor in concrete.graph.outputs}
                for found in reduced_broadcasts(operations, results):
                    self._emit(str(options.name), found)

    def _emit(self, name: str, found: Reduced) -> None:
        frames = self.recorder.user.of_traceback(found.op.traceback or (), until=TRACER)
        stack = self.recorder.kept(frames)
        self.recorder.emit(
            Broadcast(
                key=f"{name}@{stack[:1]}",
                name=name,
                op=str(found.op.type),
                shape=tuple(found.op.outputs[0].shape.as_list()),
                bytes=found.bytes,
                copies=found.copies,
                result=found.result,
                stack=stack,
                step=self.steps.total,
            )
        )


class Reduced(NamedTuple):
    """A broadcast whose result is only reduced."""

    op: Foreign
    bytes: float  # of the large tensor
    copies: int  # tensors of that size up to the reductions, itself included
    result: float  # bytes of the largest reduction


def reduced_broadcasts(operations: Sequence[Foreign], results: set[str]) -> list[Reduced]:
    """The largest of a graph; `results`: names of the tensors that it returns."""
    found: list[Reduced] = []
    carried: set[str] = set()  # names of ops that belong to a broadcast found before
    for op in operations:
        if op.type not in _ELEMENTWISE or op.name in carried:
            continue
        size = _bytes(op.outputs[0])
        if size < _LEAST_BYTES or size < _LARGER * sum(map(_bytes, op.inputs)):
            continue
        followed = _follow(op, results)
        if followed is not None:
            names, result = followed
            carried |= names
            found.append(Reduced(op, size, len(names), result))
    found.sort(key=lambda each: -each.bytes)
    return found[:_MOST_REPORTED]


def _follow(start: Foreign, results: set[str]) -> tuple[set[str], float] | None:
    """The ops that carry a large tensor on, and bytes of what is left.

    None if something needs all of it.
    """
    elements = _elements(start.outputs[0])
    pending, names, left = deque([start]), {start.name}, 0.0
    while pending:
        op = pending.popleft()
        tensor = op.outputs[0]
        if tensor.name in results or len(names) > _MOST_FOLLOWED:
            return None
        for consumer in _unseen(tensor.consumers(), names):
            made = _elements(consumer.outputs[0]) if consumer.outputs else 0
            if consumer.type in _REDUCTIONS and 0 < made * _REDUCED <= elements:
                left = max(left, *map(_bytes, consumer.outputs))
            elif made == elements and len(consumer.outputs) == 1:
                names.add(consumer.name)
                pending.append(consumer)
            else:
                return None
    return (names, left) if left else None


def _unseen(consumers: Iterable[Foreign], names: set[str]) -> Iterator[Foreign]:
    for consumer in consumers:
        if consumer.name not in names and consumer.type not in _ASK_FOR_SHAPE:
            yield consumer


def _elements(tensor: Foreign) -> int:
    """0 where the shape is not known."""
    return int(tensor.shape.num_elements() or 0)


def _bytes(tensor: Foreign) -> float:
    return float(_elements(tensor) * (tensor.dtype.size or 0))
