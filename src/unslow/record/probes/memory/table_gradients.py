"""Which rows of a table a dense gradient was put together from, and what fills the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from unslow.record.engine.foreign import Foreign

_BACK = 6  # ops between a gradient, or a part of a sum, and the rows it was put together from
_MOST_PARTS = 16  # of a sum; a table is used at a few places
_MOST_PENALTY_OPS = 40
_PASSES_ON = ("Mul", "RealDiv", "Neg", "Identity", "Cast")
_SUM_OF_ROWS = "UnsortedSegmentSum"
_SUMS = ("AddN", "AddV2", "Add")
# What the gradient of a penalty on the weights consists of: each row of the result needs the same
# row of the weights, and numbers that are the same for all.
_ROW_BY_ROW = (
    *_PASSES_ON,
    *_SUMS,
    "Sub",
    "Div",
    "DivNoNan",
    "Sign",
    "Abs",
    "Square",
    "Sqrt",
    "Pow",
    "Maximum",
    "BroadcastTo",
    "Tile",
    "Fill",
    "Reshape",
    "StopGradient",
)
_WEIGHTS = ("ReadVariableOp", "VariableV2", "Variable")


@dataclass
class DenseGradient:
    """A gradient with all rows of a table, for a batch that looked up some of them."""

    indices: list[Foreign] = field(default_factory=list)  # tensors of the rows that were looked up
    penalized: bool = False  # a penalty on all of the weights is added
    ops: list[str] = field(default_factory=list)  # names of those that handle all rows

    @property
    def touched(self) -> int:
        """Rows in a batch; 0 where a shape is not known."""
        counts = [rows_in(indices) for indices in self.indices]
        return sum(counts) if all(counts) else 0


def rows_in(indices: Foreign) -> int:
    """How many rows a tensor of indices has; 0 where its shape is not known."""
    sides = indices.shape.as_list() if indices.shape.rank is not None else []
    return math.prod(side or 0 for side in sides) if sides else 0


def dense_gradient(grad: object, shape: list[int]) -> DenseGradient | None:
    """How a dense gradient was put together from rows; None where it was not.

    Either what is looked up is no variable, but what an op has made of all of it (a mask, a row of
    zeros in front); or a penalty on all of the weights is added to the rows of the batch.
    """
    op = getattr(grad, "op", None) if hasattr(grad, "graph") else None  # an eager tensor has none
    found = DenseGradient()
    if op is None or not _explained(op, shape, found) or not found.indices:
        return None
    return found


def _explained(op: Foreign, shape: list[int], found: DenseGradient) -> bool:
    """Whether all that an op adds up comes from rows of a lookup and from penalties."""
    passed: list[str] = []
    for _ in range(_BACK):
        if op is None or op.type == _SUM_OF_ROWS or op.type in _SUMS:
            break
        passed.append(op.name)
        op = _input_op(op) if op.type in _PASSES_ON else None
    if op is None or op.outputs[0].shape.as_list() != shape:
        return False
    if op.type == _SUM_OF_ROWS:
        found.ops += [*passed, op.name]
        found.indices.append(op.inputs[1])
        return True
    if op.type not in _SUMS or len(op.inputs) > _MOST_PARTS:
        return False
    found.ops += [*passed, op.name]
    return all(_part_explained(tensor.op, shape, found) for tensor in op.inputs)


def _part_explained(op: Foreign, shape: list[int], found: DenseGradient) -> bool:
    penalty = _penalty(op)
    if penalty:
        found.penalized = True
        found.ops += penalty
        return True
    return _explained(op, shape, found)


def _penalty(op: Foreign) -> list[str]:
    """Names of the ops of a penalty on the weights themselves; none where it is something else."""
    names: list[str] = []
    reads = False
    waiting = [op]
    while waiting:
        op = waiting.pop()
        names.append(op.name)
        if op.type in _WEIGHTS:
            reads = True
        elif op.type in _ROW_BY_ROW and len(names) <= _MOST_PENALTY_OPS:
            waiting += [tensor.op for tensor in op.inputs if not _is_number(tensor)]
        elif op.type != "Const":
            return []
    return names if reads else []


def _is_number(tensor: Foreign) -> bool:
    """Whether a tensor is the same for all rows: a single number, or the sides of a shape."""
    return bool(tensor.shape.num_elements() == 1 or tensor.dtype.is_integer)


def _input_op(op: Foreign) -> Foreign:
    inputs: Sequence[Foreign] = op.inputs
    made = [tensor.op for tensor in inputs if tensor.op.type != "Const"]
    return made[0] if made else None
