"""A profiler window with very many events is let go unread: making a profile of them takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from unslow.record.engine.start import Recording
from unslow.record.probes.functions.compiled import Call, Compiled, InspectedCall
from unslow.record.probes.functions.unusual_calls import Calls
from unslow.record.probes.profiler import window
from unslow.record.probes.profiler.step_windows import StepWindows

_MILLISECOND = 1_000_000


class _Process:
    """What the process has used so far, as the system would say."""

    def __init__(self) -> None:
        self.worked = self.worked_here = self.heap = self.scheduled = 0

    def runs(self, events: int, heap_per_event: int = 140) -> None:
        """Other threads run small ops."""
        self.worked += events * 1200
        self.heap += events * heap_per_event


class _Session:
    """Stands in for TensorFlow's session of the profiler."""

    stopped = exported = 0

    def start(self, folder: str, options: object) -> None:
        pass

    def stop(self) -> bytes:
        type(self).stopped += 1
        return b"profile"

    def export_to_tb(self) -> None:
        type(self).exported += 1


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> _Process:
    used = _Process()
    monkeypatch.setattr(window.time, "process_time_ns", lambda: used.worked + used.worked_here)
    monkeypatch.setattr(window.time, "thread_time_ns", lambda: used.worked_here)
    monkeypatch.setattr(window, "heap_bytes", lambda: used.heap)
    monkeypatch.setattr(window, "_scheduled", lambda: used.scheduled)
    return used


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> type[_Session]:
    kind = type("_Session", (_Session,), {})
    module = ModuleType(window._PROFILER)
    module.ProfilerSession = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, window._PROFILER, module)
    return kind


def _opened() -> window.Window:
    opened = window.open_window()
    assert opened is not None
    return opened


def test_the_bound_on_events_is_the_smaller_of_work_and_memory(
    process: _Process, session: type[_Session]
) -> None:
    loop, compute, buffer = _opened(), _opened(), _opened()
    process.runs(200_000)
    assert loop.most_events() == 200_000
    process.heap = 0
    assert compute.most_events() == 0  # much work, and nothing kept
    process.heap, process.worked = 1 << 30, 12 * _MILLISECOND
    assert buffer.most_events() == 10_000  # much memory, and little work


def test_work_of_the_thread_that_prepares_adds_no_events(
    process: _Process, session: type[_Session]
) -> None:
    opened = _opened()
    process.worked_here, process.heap = 5000 * _MILLISECOND, 1 << 30
    assert opened.most_events() == 0


def test_without_the_allocators_numbers_nothing_is_known(
    process: _Process, session: type[_Session]
) -> None:
    process.heap = -1
    opened = _opened()
    process.worked = 10_000 * _MILLISECOND
    assert opened.most_events() == 0


def test_a_window_that_is_discarded_is_never_made_into_a_profile(session: type[_Session]) -> None:
    opened = _opened()
    window.stop_window(opened)
    assert opened.session is None
    assert session.stopped == 0


def _first_call(recording: Recording, meanwhile: Callable[[], None], xla: bool = False) -> str:
    """The facts of a call that traced and then ran."""
    recorder = recording.recorder
    calls = Calls(recorder, recording.steps, recording.watcher)
    lane = recorder.local.lane
    options = SimpleNamespace(attributes={"_XlaMustCompile": xla})
    function = SimpleNamespace(_name="train")
    call = Call(lane, function, Compiled(1, "direct", ()), (), {})  # type: ignore[arg-type]
    calls._prepare(call)
    calls._trace(lambda *args: None)("type", "context", "graph", options)
    meanwhile()
    calls._ended(InspectedCall(call, 1, 1, (), ["first"]))
    return "\n".join(recorder.log.pending)


def test_a_call_with_many_events_is_split_by_the_work_of_its_own_thread(
    recording: Recording, process: _Process, session: type[_Session]
) -> None:
    def fills_a_buffer() -> None:
        process.runs(400_000)
        process.scheduled = 1

    text = _first_call(recording, fills_a_buffer)
    assert session.stopped == 0
    assert '"prepare_ns": 1' in text and '"call_ns"' in text and '"trace"' not in text


def test_a_call_with_few_events_is_read(
    recording: Recording, process: _Process, session: type[_Session]
) -> None:
    text = _first_call(recording, lambda: process.runs(10_000))
    assert session.stopped == 1
    assert '"trace": "call-' in text


def test_what_xla_compiles_is_always_read(
    recording: Recording, process: _Process, session: type[_Session]
) -> None:
    text = _first_call(recording, lambda: process.runs(400_000), xla=True)
    assert session.stopped == 1
    assert '"trace": "call-' in text


def _steps(recording: Recording, process: _Process, events: int) -> StepWindows:
    """A window that is open for ten steps, each with some events."""
    windows = StepWindows(recording.recorder, recording.steps, recording.watcher)
    lane = recording.recorder.local.lane
    windows._open(lane, steps=10)
    for _ in range(10):
        recording.steps.led += 1
        process.runs(events)
        windows._stepped(lane, recording.steps.led)
    return windows


@pytest.mark.parametrize(
    ("events", "steps", "exported"),
    [
        pytest.param(3_000, 10, 1, id="a window of usual steps has all of them"),
        pytest.param(30_000, 2, 1, id="steps with many events: it closes early"),
        pytest.param(1_000_000, 1, 0, id="a step with a long loop is not read"),
    ],
)
def test_a_window_closes_before_its_steps_have_too_many_events(
    recording: Recording,
    process: _Process,
    session: type[_Session],
    events: int,
    steps: int,
    exported: int,
) -> None:
    _steps(recording, process, events)
    assert session.exported == exported
    assert f'"steps": {steps}' in "\n".join(recording.recorder.log.pending)
