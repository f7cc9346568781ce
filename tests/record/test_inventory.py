"""What an inventory says of the user's arrays, and that it runs none of their code."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from unslow.facts.memory import Holding
from unslow.record.probes.memory.array_walk import ArrayWalk

SCOPE = ("train.py", "<module>")
FAR = 10**18  # nanoseconds: never over


class Own:
    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("the program's own code ran")

    def __len__(self) -> int:
        raise AssertionError("the program's own code ran")


def walked(fed: dict[int, str] | None = None, until: int = FAR, **names: Any) -> list[Holding]:
    walk = ArrayWalk(lambda value: type(value) is Own, fed or {}, time.thread_time_ns() + until)
    for name, value in names.items():
        walk.visit(SCOPE, name, value, 0)
    return walk.held()


def megabytes(number: int) -> Any:
    return np.ones(number << 18, np.float32)


def test_a_view_and_its_array_are_held_once_by_the_arrays_own_name() -> None:
    x = megabytes(8)
    [held] = walked(train=x[:10], x=x)
    assert (held.path, held.bytes) == ("x", 8 << 20)


def test_a_view_keeps_all_of_an_array_that_has_no_name() -> None:
    [held] = walked(train=megabytes(8)[:10])
    assert (held.path, held.bytes) == ("train", 8 << 20)


def test_arrays_in_a_long_list_are_added_up() -> None:
    [held] = walked(images=[megabytes(1) for _ in range(30)])
    assert (held.type, held.bytes, held.shape) == ("list", 30 << 20, (30, 1 << 18))


def test_an_attribute_is_named_without_running_the_programs_code() -> None:
    [held] = walked(buffer=Own(data={"x": megabytes(8)}))
    assert held.path == "buffer.data['x']"


def test_what_a_function_closes_over_is_found() -> None:
    captured = megabytes(8)
    [held] = walked(batches=lambda: captured)
    assert held.path == "captured"


def test_what_was_given_to_a_keras_call_is_marked() -> None:
    x = megabytes(8)
    [held] = walked({id(x): "fit"}, x=x)
    assert held.fed == "fit"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_one_hot_rows_are_recognized(dtype: Any) -> None:
    rows = np.eye(1000, dtype=dtype)[np.arange(8000) % 1000]
    [held] = walked(y=rows)
    assert held.one_hot


def test_a_matrix_with_other_numbers_is_not_one_hot() -> None:
    [held] = walked(y=np.ones((2000, 1000)))
    assert not held.one_hot


def test_a_file_that_is_mapped_into_memory_is_not_held(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", megabytes(8))
    assert not walked(x=np.load(tmp_path / "x.npy", mmap_mode="r"))


def test_an_inventory_ends_when_its_time_is_over() -> None:
    assert not walked(until=-1, many={"x": megabytes(8)})
