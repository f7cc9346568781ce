"""What a dense gradient of a table was put together from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from unslow.record.probes.memory.table_gradients import dense_gradient

TABLE = [1000, 8]


class Shape:
    def __init__(self, sides: list[int]) -> None:
        self._sides = sides
        self.rank = len(sides)

    def as_list(self) -> list[int]:
        return self._sides

    def num_elements(self) -> int:
        product = 1
        for side in self._sides:
            product *= side
        return product


@dataclass
class Kind:
    is_integer: bool = False


@dataclass
class Tensor:
    op: Any
    shape: Shape
    dtype: Kind = field(default_factory=Kind)
    graph: Any = None


class Op:
    def __init__(self, kind: str, *inputs: Tensor, sides: list[int] | None = None) -> None:
        self.type = kind
        self.name = kind.lower()
        self.inputs = inputs
        self.outputs = [Tensor(self, Shape(TABLE if sides is None else sides))]


def made(kind: str, *inputs: Tensor, sides: list[int] | None = None) -> Tensor:
    return Op(kind, *inputs, sides=sides).outputs[0]


def rows(number: int = 32) -> Tensor:
    """A lookup's gradient as a whole table."""
    indices = Tensor(Op("Placeholder"), Shape([number]), Kind(is_integer=True))
    values = made("Reshape", sides=[number, 8])
    return made("UnsortedSegmentSum", values, indices)


def penalty() -> Tensor:
    scale = made("Mul", made("Const", sides=[]), sides=[])
    return made("Mul", made("ReadVariableOp", sides=TABLE), scale)


def test_a_lookup_in_a_masked_table_is_dense() -> None:
    found = dense_gradient(made("Mul", rows(), made("Const")), TABLE)
    assert found is not None
    assert (found.touched, found.penalized) == (32, False)


@pytest.mark.parametrize("sum_of_parts", ["AddN", "AddV2"])
def test_a_penalty_on_the_table_fills_the_gradient(sum_of_parts: str) -> None:
    found = dense_gradient(made(sum_of_parts, penalty(), rows()), TABLE)
    assert found is not None
    assert (found.touched, found.penalized) == (32, True)
    assert {"mul", "unsortedsegmentsum", sum_of_parts.lower()} <= set(found.ops)


def test_two_lookups_and_a_penalty_whose_sum_is_clipped() -> None:
    added = made("AddN", rows(32), penalty(), rows(16))
    found = dense_gradient(made("Identity", made("Mul", added, made("Const"))), TABLE)
    assert found is not None
    assert (found.touched, found.penalized) == (48, True)


def test_a_table_that_also_makes_the_logits_needs_all_rows() -> None:
    logits = made("MatMul", made("Softmax"), made("Relu"))
    assert dense_gradient(made("AddN", logits, rows()), TABLE) is None
    weighted = made("Mul", logits, made("ReadVariableOp"))
    assert dense_gradient(made("AddN", weighted, rows()), TABLE) is None


def test_a_penalty_without_a_lookup_is_no_table() -> None:
    assert dense_gradient(made("AddN", penalty(), penalty()), TABLE) is None


def test_the_gradient_of_a_layer_is_no_table() -> None:
    assert dense_gradient(made("MatMul", made("Relu")), TABLE) is None
