"""What a probe puts in place is taken out again, whatever is under way on other threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from unslow.record.engine.arm import Arming
from unslow.record.engine.probe import Probe
from unslow.record.engine.start import Recording


class Wraps(Probe):
    name = "wraps"

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {}


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(str(tmp_path))
    yield made
    made.end()


@pytest.fixture
def probe(recording: Recording) -> Probe:
    return Wraps(recording.recorder, recording.steps, recording.watcher)


def _wrapper(original: Callable[[], int]) -> Callable[[], int]:
    def call() -> int:
        return original()

    return call


def test_a_wrapper_that_comes_after_the_end_is_not_put_in(probe: Probe) -> None:
    owner: Any = SimpleNamespace(run=lambda: 1)
    before = owner.run
    probe.disarm()
    probe.replace(owner, "run", _wrapper)
    assert owner.run is before


def test_a_wrapper_that_is_being_made_at_the_end_is_taken_out(probe: Probe) -> None:
    owner: Any = SimpleNamespace(run=lambda: 1)
    before = owner.run

    def make(original: Callable[[], int]) -> Callable[[], int]:
        probe.disarm()  # as another thread may do at any moment
        return _wrapper(original)

    probe.replace(owner, "run", make)
    assert owner.run is before


def test_what_happens_in_the_program_is_not_sent_once_we_leave(recording: Recording) -> None:
    sent: list[str] = []
    signals = recording.recorder.signals
    signals.trace_begins.subscribe("wraps", lambda: sent.append("trace"))
    signals.tick.subscribe("wraps", lambda: sent.append("tick"))
    signals.ignore_program()
    signals.trace_begins.send()
    signals.tick.send()
    assert "trace" not in sent and "tick" in sent


class WrapsFunction(Wraps):
    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"inner": lambda module: self.replace(module, "write", _wrapper)}


def _imported_before(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A module with a function, and one that imported it under another name."""
    inner: Any = ModuleType("inner")
    interface: Any = ModuleType("interface")
    inner.write = interface.summarize = lambda: 1
    for module in (inner, interface):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return inner, interface


def test_a_function_is_wrapped_under_all_names_of_other_modules(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, interface = _imported_before(monkeypatch)
    before = inner.write
    parts = (recording.recorder, recording.steps, recording.watcher)
    arming = Arming(recording.recorder, [WrapsFunction(*parts), WrapsFunction(*parts)])
    arming.install()
    arming.follow_aliases(lambda: None)
    assert inner.write is not before
    assert interface.summarize is inner.write
    arming.uninstall()
    assert inner.write is before
    assert interface.summarize is before
