"""What is noted of the arguments of compiled functions: their shapes, and the variables of a graph."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from unslow.record.probes.functions.compiled import batch_size, shapes, traces_of
from unslow.record.probes.functions.signatures import weights_of
from unslow.record.probes.functions.unusual_calls import _sides


class _Variable:
    pass


def _graph(*variables: _Variable) -> SimpleNamespace:
    return SimpleNamespace(variables=variables)


def test_arrays_have_shapes_as_tensors_do() -> None:
    tokens = np.zeros((8, 31), np.int32)
    assert shapes((tokens, {"tags": tokens}), {"weight": np.ones(3)}) == ((8, 31), (8, 31), (3,))
    assert batch_size((3.0, tokens)) == 8 * 31


def test_a_tensor_of_a_graph_may_have_sides_that_are_not_known() -> None:
    assert _sides(((None, None, 48), (16, 4), None)) == ((0, 0, 48), (16, 4), ())


def test_graphs_that_share_most_of_their_variables_are_alike() -> None:
    model = [_Variable() for _ in range(10)]
    first, second = [_Variable() for _ in range(3)], [_Variable() for _ in range(3)]
    assert weights_of(_graph(*model, *first)) == weights_of(_graph(*second, *model))


def test_graphs_of_two_models_differ_although_they_share_a_counter() -> None:
    counter = _Variable()
    one, other = [_Variable() for _ in range(10)], [_Variable() for _ in range(10)]
    assert weights_of(_graph(counter, *one)) != weights_of(_graph(counter, *other))


def test_traces_that_another_thread_adds_meanwhile_are_read_again() -> None:
    class Cache:
        asked = 0

        def values(self) -> list[str]:
            self.asked += 1
            if self.asked < 3:
                raise RuntimeError("OrderedDict mutated during iteration")
            return ["trace"]

    assert traces_of(SimpleNamespace(_function_cache=Cache())) == ["trace"]
