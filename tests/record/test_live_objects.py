"""The one pass over what a process holds when a recording begins late."""

from __future__ import annotations

import sys
import threading
from types import ModuleType

import pytest

from unslow.record.engine import live_objects


class BaseOptimizer:
    pass


class Adam(BaseOptimizer):
    pass


@pytest.fixture
def optimizers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("keras.src.optimizers.base_optimizer")
    module.BaseOptimizer = BaseOptimizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("optimizers")
def test_objects_of_derived_classes_are_found() -> None:
    kept = [Adam(), Adam()]
    living = live_objects.find_living()
    assert {id(one) for one in living.optimizers} == {id(one) for one in kept}
    assert living.described().optimizers == 2 and living.complete


@pytest.mark.usefixtures("optimizers")
def test_a_process_with_too_many_objects_is_not_gone_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_objects, "_MOST_BLOCKS", 10)
    kept = Adam()
    living = live_objects.find_living()
    assert living.optimizers == [] and not living.complete and kept


@pytest.mark.usefixtures("optimizers")
def test_nothing_is_kept_alive_afterwards() -> None:
    import weakref

    held = Adam()
    gone = weakref.ref(held)
    living = live_objects.find_living()
    del living, held
    assert gone() is None


@pytest.mark.usefixtures("optimizers")
def test_tuples_that_another_thread_is_filling_are_left_alone() -> None:
    problems: list[SystemError] = []
    over = threading.Event()

    def fill() -> None:
        try:
            while not over.is_set():
                tuple(number for number in range(50))
        except SystemError as problem:
            problems.append(problem)

    filling = threading.Thread(target=fill)
    filling.start()
    for _ in range(30):
        live_objects.find_living()
    over.set()
    filling.join()
    assert problems == []
