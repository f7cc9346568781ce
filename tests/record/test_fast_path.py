"""Calls that are only noted make the same rows as calls that are looked at one by one."""

from __future__ import annotations

import _thread
import itertools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from tests.record.standins import Clock, compiled, session
from unslow.facts.phase import Phase
from unslow.record.engine.lanes import Lane
from unslow.record.engine.probe import span
from unslow.record.engine.start import Recording
from unslow.runfolder.layout import ROW
from unslow.runfolder.steplog import rows_of

WARM = 400  # rows after which calls are only noted
STEP = 1_000_000


class Rows:
    """The rows that a recording writes."""

    def __init__(self, recording: Recording) -> None:
        self._data = b""
        recording.recorder.writer.rows = self._keep  # type: ignore[method-assign]
        self._recording = recording

    def _keep(self, data: bytes) -> None:
        self._data += data

    def all(self) -> list[tuple[Any, ...]]:
        self._recording.steps.flush(last=True)
        return list(ROW.iter_unpack(rows_of(self._data).tobytes()))


@pytest.fixture(params=[compiled, session], ids=["compiled", "session"])
def step(request: pytest.FixtureRequest, recording: Recording) -> Callable[[], object]:
    return request.param(recording)  # type: ignore[no-any-return]


def repeat(
    step: Callable[[], object],
    times: int,
    clock: Clock,
    before: Mapping[int, Callable[[], None]] = MappingProxyType({}),
) -> None:
    """Call a step from one line, so many times; before some of them something else happens."""
    for index in range(times):
        before.get(index, bool)()
        clock.now += STEP
        step()


def is_noted(recording: Recording) -> bool:
    return recording.recorder.local.lane.fast_path is not None


def test_every_call_is_a_row(
    recording: Recording, clock: Clock, step: Callable[[], object]
) -> None:
    rows = Rows(recording)
    repeat(step, WARM + 1000, clock)
    assert is_noted(recording)
    assert recording.steps.total == WARM + 1000
    written = rows.all()
    assert len(written) == recording.steps.total == recording.steps.led == WARM + 1000
    assert len({row[5] for row in written}) == 1


def test_rows_follow_each_other_without_a_gap(
    recording: Recording, clock: Clock, step: Callable[[], object]
) -> None:
    rows = Rows(recording)
    repeat(step, WARM + 100, clock)
    written = rows.all()[-100:]
    gaps = [later[0] - earlier[0] - later[1] for earlier, later in itertools.pairwise(written)]
    assert sum(gap != 0 for gap in gaps) < 10  # looks of ours, which are kept out of the steps
    assert min(gaps) >= 0


def test_what_happens_between_two_calls_is_in_the_row_that_follows(
    recording: Recording,
    clock: Clock,
    step: Callable[[], object],
) -> None:
    rows, noted = Rows(recording), []

    def read() -> None:
        clock.now += 300_000

    wait = span(recording.recorder, read, int(Phase.SYNC))
    note = lambda: noted.append(is_noted(recording))  # noqa: E731
    repeat(step, WARM + 10, clock, {WARM: wait, WARM + 1: note})
    sync = [row[9 + int(Phase.SYNC)] for row in rows.all()]
    assert sync[WARM] >= 300_000
    assert sum(sync) == sync[WARM]
    assert noted == [True]


def test_a_call_from_another_line_is_another_site(
    recording: Recording, clock: Clock, step: Callable[[], object]
) -> None:
    rows = Rows(recording)

    def elsewhere() -> None:
        clock.now += STEP
        step()

    repeat(step, WARM + 50, clock, {WARM: elsewhere})
    sites = [row[5] for row in rows.all()]
    assert len(sites) == WARM + 51
    assert sites[WARM] != sites[0]
    assert set(sites[:WARM] + sites[WARM + 1 :]) == {sites[0]}


def test_a_call_that_fails_is_no_row(recording: Recording, clock: Clock) -> None:
    step = compiled(recording)
    rows = Rows(recording)
    repeat(step, WARM, clock)
    function = step.__closure__[1].cell_contents  # type: ignore[union-attr]
    with pytest.raises(TypeError):
        function()
    assert not is_noted(recording)
    assert recording.recorder.local.lane.functions == []
    repeat(step, 5, clock)
    assert len(rows.all()) == WARM + 5


def test_what_the_program_lets_go_is_not_kept_alive(recording: Recording, clock: Clock) -> None:
    step = compiled(recording)
    repeat(step, WARM, clock)
    assert is_noted(recording)
    streak, function = recording.recorder.local.lane.fast_path, step.__closure__[1].cell_contents  # type: ignore[union-attr]
    assert not any(getattr(streak, name) is function for name in streak.__slots__)


def test_another_thread_may_stop_it_at_any_moment(
    recording: Recording, clock: Clock, step: Callable[[], object]
) -> None:
    rows, over, usual = Rows(recording), threading.Event(), sys.getswitchinterval()

    def stop() -> None:
        while not over.is_set():
            recording.steps.flush()

    other = threading.Thread(target=stop)
    sys.setswitchinterval(1e-5)
    other.start()
    try:
        repeat(step, 5000, clock)
    finally:
        over.set()
        other.join()
        sys.setswitchinterval(usual)
    assert len(rows.all()) == recording.steps.total == 5000
    assert "steps" not in recording.recorder.probes  # nothing of it was lost


@pytest.mark.parametrize(("interval", "is_exact"), [(1e-6, False), (5e-3, True)])
def test_threads_that_repeat_one_call_each_break_nothing(
    interval: float,
    is_exact: bool,
    recording: Recording,
    clock: Clock,
    step: Callable[[], object],
) -> None:
    """Each enters the fast path and throws the other one out of it, in the middle of its calls.

    Counting takes no lock. With Python's own switch interval no step is lost; with one that no
    program has, a few are.
    """
    rows, usual, problems = Rows(recording), sys.getswitchinterval(), list[BaseException]()

    def work() -> None:
        try:
            repeat(step, 3000, clock)
        except BaseException as problem:  # noqa: BLE001 - whatever reaches a thread
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(3)]
    sys.setswitchinterval(interval)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert problems == []
    assert "steps" not in recording.recorder.probes  # nothing of it was lost
    if is_exact:
        assert len(rows.all()) == recording.steps.total == 9000


def test_who_enters_ends_the_path_of_another_thread(recording: Recording, clock: Clock) -> None:
    step, steps = compiled(recording), recording.steps
    repeat(step, WARM, clock)
    first = steps.fast_path
    assert first is not None
    second = steps.enter_fast_path(Lane(), step, sys._getframe())
    assert second is not None and steps.fast_path is second
    assert first.lane.fast_path is None and first.noted == 0


def test_a_path_that_was_left_before_it_was_followed_is_not_followed(
    recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread ends a row at that moment."""
    step = compiled(recording)
    enter, entered = recording.steps.enter_fast_path, list[object]()

    def leave_at_once(*args: Any) -> Any:
        path = enter(*args)
        if path is not None and not entered:
            entered.append(path)
            recording.steps.leave_fast_path()
        return path

    monkeypatch.setattr(recording.steps, "enter_fast_path", leave_at_once)
    rows = Rows(recording)
    repeat(step, WARM, clock)
    assert entered
    assert len(rows.all()) == WARM


def held_by(step: Callable[[], object]) -> dict[str, Any]:
    """The variables of a stand-in's step, by name."""
    names, cells = step.__code__.co_freevars, step.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


@pytest.mark.timeout(60)
def test_a_call_without_any_python_around_it_goes_through(
    recording: Recording, step: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those that `atexit` makes: the wrapper's frame is the outermost one."""
    raised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: raised.append(problem.exc_value))
    held = held_by(step)
    if "function" in held:
        _thread.start_new_thread(held["function"].__call__, (held["batch"],))
    else:
        _thread.start_new_thread(held["held"].run, (held["train"], held["feed"]))
    while not raised and not recording.steps.total:
        os.sched_yield()
    assert not raised
    assert recording.steps.total == 1
