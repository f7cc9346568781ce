"""Reading the program's objects without disturbing it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from unslow.record.engine.own_attributes import attribute_values, attributes
from unslow.record.engine.safe_inspection import instances_of


class Tensor:
    pass


class Derived(Tensor):
    pass


def test_objects_of_exactly_one_class_are_found() -> None:
    kept = [Tensor(), Tensor(), Derived()]
    assert {id(one) for one in instances_of([Tensor])} == {id(one) for one in kept[:2]}


def test_tuples_that_another_thread_is_filling_are_left_alone() -> None:
    """Fails within a second with a plain loop over gc.get_objects()."""
    problems: list[SystemError] = []
    until = time.monotonic() + 1.5

    def numbers() -> Iterator[int]:
        yield from range(300)

    def fill() -> None:
        while time.monotonic() < until and not problems:
            try:
                tuple(numbers())
            except SystemError as problem:
                problems.append(problem)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=fill)
    thread.start()
    try:
        while thread.is_alive():
            instances_of([Tensor])
    finally:
        thread.join()
        sys.setswitchinterval(interval)
    assert not problems


def test_a_proxy_whose_dict_cannot_be_read_has_no_attributes() -> None:
    wrapt = pytest.importorskip("wrapt")  # comes with TensorFlow

    class Wrapper(wrapt.ObjectProxy):  # type: ignore[misc]
        pass

    proxy = Wrapper({"kept": 1})
    assert attributes(proxy) == {}
    assert attribute_values(proxy) == []
