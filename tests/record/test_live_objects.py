"""The one pass over what a process holds when a recording begins late."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from types import ModuleType

import pytest

from unslow.record.engine import live_objects, reachable
from unslow.record.engine.frames import UserCode


class BaseOptimizer:
    pass


class Adam(BaseOptimizer):
    pass


@pytest.fixture
def optimizers(monkeypatch: pytest.MonkeyPatch) -> None:
    # A process that has run other tests holds far more than a training does.
    monkeypatch.setattr(reachable, "_MOST_OBJECTS", 10_000_000)
    module = ModuleType("keras.src.optimizers.base_optimizer")
    module.BaseOptimizer = BaseOptimizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


class Trainer:
    __slots__ = ("optimizer",)

    def __init__(self, optimizer: Adam) -> None:
        self.optimizer = optimizer


def living_in(hold: Callable[[Callable[[], None]], None]) -> live_objects.Living:
    """What is found while another thread is inside a function that was called by `hold`.

    `hold` has no assert: pytest makes calls of locals() of them, and such frames are left alone.
    """
    arrived, over = threading.Event(), threading.Event()

    def wait() -> None:
        arrived.set()
        over.wait()

    thread = threading.Thread(target=hold, args=(wait,))
    thread.start()
    arrived.wait()
    try:
        return live_objects.find_living(UserCode(), lambda: None)
    finally:
        over.set()
        thread.join()


def _as_local(wait: Callable[[], None]) -> None:
    kept = [Adam(), Adam()]
    wait()
    del kept


def _in_attributes(wait: Callable[[], None]) -> None:
    kept = {"trainer": Trainer(Adam())}
    wait()
    del kept


def _in_a_closure(wait: Callable[[], None]) -> None:
    optimizer = Adam()

    def step() -> Adam:
        return optimizer

    called = functools.partial(step)
    wait()
    del called


@pytest.mark.usefixtures("optimizers")
@pytest.mark.parametrize(
    ("hold", "number"), [(_as_local, 2), (_in_attributes, 1), (_in_a_closure, 1)]
)
def test_objects_that_the_program_can_reach_are_found(
    hold: Callable[[Callable[[], None]], None], number: int
) -> None:
    living = living_in(hold)
    assert living.described().optimizers == number and living.complete


@pytest.mark.usefixtures("optimizers")
def test_objects_of_the_users_modules_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("train")
    module.__file__ = "/home/somebody/train.py"
    module.optimizer = Adam()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "train", module)
    living = live_objects.find_living(UserCode(), lambda: None)
    assert living.optimizers == [module.optimizer]


@pytest.mark.usefixtures("optimizers")
def test_a_program_that_holds_too_much_is_not_gone_through_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reachable, "_MOST_OBJECTS", 10)
    assert not live_objects.find_living(UserCode(), lambda: None).complete


@pytest.mark.usefixtures("optimizers")
def test_nothing_is_kept_alive_afterwards() -> None:
    gone: list[weakref.ref[Adam]] = []

    def hold(wait: Callable[[], None]) -> None:
        held = Adam()
        gone.append(weakref.ref(held))
        wait()

    living = living_in(hold)
    assert len(living.optimizers) == 1
    del living
    assert gone[0]() is None


@pytest.mark.usefixtures("optimizers")
def test_the_program_goes_on_again_and_again_meanwhile() -> None:
    rests: list[None] = []
    kept = [object() for _ in range(1000)]
    live_objects.find_living(UserCode(), lambda: rests.append(None))
    assert len(rests) > 1 and kept


class Computes:
    ran = False

    def __getattribute__(self, name: str) -> object:
        type(self).ran = True
        return object.__getattribute__(self, name)


def test_no_code_of_the_program_runs() -> None:
    def hold(wait: Callable[[], None]) -> None:
        kept = [Computes()]
        wait()
        del kept

    living_in(hold)
    assert not Computes.ran


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
    for _ in range(3):
        live_objects.find_living(UserCode(), lambda: None)
    over.set()
    filling.join()
    assert problems == []
