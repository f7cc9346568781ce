"""Which broadcasts of a graph are only made to be reduced."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from unslow.record.probes.memory.broadcasts import reduced_broadcasts

ROWS, OTHERS, WIDTH = 1200, 1600, 128
LARGE = (ROWS, OTHERS, WIDTH)
LEFT = (ROWS, OTHERS)


class Graph:
    """Stands for TensorFlow's: ops with a type, tensors with a shape and consumers."""

    def __init__(self) -> None:
        self.operations: list[Any] = []
        self.results: set[str] = set()

    def op(self, kind: str, shape: tuple[int | None, ...], *inputs: Any) -> Any:
        name = f"{kind}_{len(self.operations)}"
        op = SimpleNamespace(type=kind, name=name, inputs=list(inputs))
        users: list[Any] = []
        known = None if None in shape else math.prod(side or 0 for side in shape)
        described = SimpleNamespace(num_elements=lambda: known)
        op.users = users
        tensor = SimpleNamespace(
            name=f"{name}:0",
            shape=described,
            dtype=SimpleNamespace(size=4),
            consumers=lambda: users,
            op=op,
        )
        op.outputs = [tensor]
        for each in inputs:
            each.op.users.append(op)
        self.operations.append(op)
        return tensor

    def inputs(self) -> tuple[Any, Any]:
        return self.op("Placeholder", (ROWS, 1, WIDTH)), self.op("Placeholder", (1, OTHERS, WIDTH))

    def found(self) -> list[tuple[str, float, int, float]]:
        return [
            (each.op.type, each.bytes, each.copies, each.result)
            for each in reduced_broadcasts(self.operations, self.results)
        ]


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_all_pairs_that_are_squared_and_summed_are_found(graph: Graph) -> None:
    difference = graph.op("Sub", LARGE, *graph.inputs())
    graph.op("Shape", (3,), difference)
    square = graph.op("Square", LARGE, difference)
    graph.op("Sqrt", LEFT, graph.op("Sum", LEFT, square))
    size = 4.0 * math.prod(LARGE)
    assert graph.found() == [("Sub", size, 2, 4.0 * math.prod(LEFT))]


def test_all_pairs_that_the_function_returns_are_needed(graph: Graph) -> None:
    difference = graph.op("Sub", LARGE, *graph.inputs())
    graph.op("Sum", LEFT, difference)
    graph.results.add(difference.name)
    assert not graph.found()


def test_a_kernel_matrix_that_is_decomposed_is_needed(graph: Graph) -> None:
    x, y = graph.op("Placeholder", (8000, 1)), graph.op("Placeholder", (1, 8000))
    kernel = graph.op("Exp", (8000, 8000), graph.op("Sub", (8000, 8000), x, y))
    graph.op("Cholesky", (8000, 8000), kernel)
    graph.op("MatMul", (8000, 1), kernel, x)
    assert not graph.found()


def test_a_bias_that_is_added_to_large_activations_makes_nothing_larger(graph: Graph) -> None:
    states, bias = graph.op("Placeholder", LARGE), graph.op("Placeholder", (WIDTH,))
    graph.op("Mean", LEFT, graph.op("AddV2", LARGE, states, bias))
    assert not graph.found()


def test_a_convolution_is_no_broadcast(graph: Graph) -> None:
    images, kernel = graph.op("Placeholder", (64, 224, 224, 3)), graph.op("Const", (3, 3, 3, 64))
    filtered = graph.op("Conv2D", (64, 224, 224, 64), images, kernel)
    graph.op("Max", (64, 64), filtered)
    assert not graph.found()


def test_a_shape_that_is_not_known_is_left_alone(graph: Graph) -> None:
    difference = graph.op("Sub", (None, OTHERS, WIDTH), *graph.inputs())
    graph.op("Sum", (None, OTHERS), difference)
    assert not graph.found()


def test_the_gradients_reductions_do_not_keep_it(graph: Graph) -> None:
    x, y = graph.inputs()
    difference = graph.op("Sub", LARGE, x, y)
    distance = graph.op("Sum", LEFT, graph.op("Square", LARGE, difference))
    back = graph.op("Mul", LARGE, difference, graph.op("ExpandDims", (*LEFT, 1), distance))
    graph.op("Sum", (ROWS, WIDTH), back)
    graph.op("Sum", (OTHERS, WIDTH), graph.op("Neg", LARGE, back))
    assert [(kind, copies) for kind, _, copies, _ in graph.found()] == [("Sub", 4)]
