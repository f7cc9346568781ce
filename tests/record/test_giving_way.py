"""How long the program could not go on while we worked beside it."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pytest

from unslow.record.engine import giving_way
from unslow.record.engine.giving_way import GivingWay


class Clock:
    """The processor time of a thread that has just begun, and the time on the wall."""

    def __init__(self) -> None:
        self.now = self.wall = 0.0
        self.rests = 0

    def thread_time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.wall

    def sleep(self, seconds: float) -> None:
        self.rests += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(giving_way, "time", made)
    return made


@pytest.fixture
def schedule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the kernel says of this thread: ran, waited for a processor, turns."""
    file = tmp_path / "schedstat"
    file.write_text("0 0 0")
    made = GivingWay.__init__

    def init(self: GivingWay, new_thread: bool = False) -> None:
        made(self, new_thread)
        self._schedule = str(file)

    monkeypatch.setattr(GivingWay, "__init__", init)
    return file


@pytest.mark.usefixtures("schedule")
def test_the_longest_work_between_two_rests_is_known(clock: Clock) -> None:
    with GivingWay() as beside:
        for worked in (0.01, 0.03, 0.02):
            clock.now += worked
            beside.rest()
        clock.now += 0.005
    assert beside.longest == pytest.approx(0.03)


@pytest.mark.usefixtures("schedule")
def test_a_rest_comes_only_when_it_is_due(clock: Clock) -> None:
    with GivingWay() as beside:
        for _ in range(1000):
            clock.now += 0.0001
            beside.rest()
    assert 30 < clock.rests < 60
    assert beside.longest < 0.003


def test_time_without_a_processor_counts_as_ours(clock: Clock, schedule: Path) -> None:
    with GivingWay(new_thread=True) as beside:
        clock.now = 0.01
        schedule.write_text("10000000 50000000 2")
        beside.rest()
        clock.now = 0.02
    assert beside.longest == pytest.approx(0.06)
    assert beside.waited == pytest.approx(0.05)


def test_what_the_kernel_says_is_read() -> None:
    found = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    if not found.exists():
        pytest.skip("this kernel does not tell")
    assert GivingWay()._waited_for_processor() >= 0.0
    assert Path(GivingWay()._schedule) == found


@pytest.fixture
def collecting() -> None:
    assert gc.isenabled()


@pytest.mark.usefixtures("collecting")
def test_our_objects_make_no_collection_due() -> None:
    disable = gc.disable
    with GivingWay() as beside:
        assert not gc.isenabled()
        beside.rest()
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.disable is disable


@pytest.mark.usefixtures("collecting")
def test_python_collects_again_after_a_while(clock: Clock) -> None:
    with GivingWay() as beside:
        clock.now, clock.wall = 0.01, 31.0
        beside.rest()
        assert gc.isenabled()
    assert gc.isenabled()


@pytest.mark.usefixtures("collecting")
def test_a_program_that_disables_collections_meanwhile_has_its_way() -> None:
    disable = gc.disable
    try:
        with GivingWay():
            gc.disable()
            assert gc.disable is disable
        assert not gc.isenabled()
        with GivingWay():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.usefixtures("collecting")
def test_what_somebody_held_off_before_us_is_let_go() -> None:
    disable = gc.disable
    beside = GivingWay()
    disable()
    beside.hold_off(begun=True)
    assert not gc.isenabled()
    beside.let_go()
    assert gc.isenabled()
    assert gc.disable is disable


@pytest.mark.usefixtures("collecting")
def test_what_the_program_disabled_before_us_stays_so() -> None:
    gc.disable()
    try:
        with GivingWay():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects old objects bit by bit")
@pytest.mark.usefixtures("collecting")
def test_no_collection_is_due_when_garbage_is_collected_again() -> None:
    made: list[int] = []
    with GivingWay() as beside:
        kept = [[] for _ in range(10_000)]  # type: ignore[var-annotated]
        gc.callbacks.append(lambda phase, info: made.append(info["generation"]))
        try:
            beside.let_go()
            assert gc.get_count()[0] < 100
        finally:
            gc.callbacks.pop()
    assert max(made) < 2
    assert len(kept) == 10_000


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects old objects bit by bit")
@pytest.mark.usefixtures("collecting")
def test_garbage_that_the_program_makes_meanwhile_does_not_pile_up(clock: Clock) -> None:
    made = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            made.append((info["generation"], info["collected"]))

    gc.callbacks.append(collected)
    try:
        with GivingWay() as beside:
            for _ in range(3):
                for _ in range(20_000):
                    circle: list[object] = []
                    circle.append(circle)
                clock.now += 0.01
                beside.rest()
            assert max(generation for generation, _ in made) < 2
            assert min(collected for _, collected in made) > 19_000
            assert len(made) == 3
    finally:
        gc.callbacks.remove(collected)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects old objects bit by bit")
@pytest.mark.usefixtures("collecting")
def test_all_objects_are_not_collected_however_busy_the_machine_is(clock: Clock) -> None:
    generations = []
    note = lambda phase, info: generations.append(info["generation"])  # noqa: E731
    threshold = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(700, 10, 0)  # one is due at all times
    try:
        with GivingWay() as beside:
            generations.clear()
            kept: list[list[object]] = []
            for _ in range(14):
                kept.extend([] for _ in range(11_000))
                clock.now, clock.wall = clock.now + 0.01, clock.wall + 2.0
                beside.rest()
            assert set(generations) == {0, 1}
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)
