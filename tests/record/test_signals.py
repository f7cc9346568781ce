"""A probe that fails is dropped and named; the others go on."""

from __future__ import annotations

from collections.abc import Callable

from tests.record.standins import Clock, compiled
from tests.record.test_fast_path import WARM, is_noted, repeat
from unslow.record.engine.signals import Signal
from unslow.record.engine.start import Recording


def signal_and_losses() -> tuple[Signal[[int]], list[str]]:
    lost: list[str] = []
    return Signal(lambda probe, problem: lost.append(f"{probe}: {problem}")), lost


def refuse(number: int) -> None:
    raise ValueError(f"no {number}")


def test_every_subscriber_is_called() -> None:
    signal, _ = signal_and_losses()
    seen: list[int] = []
    signal.subscribe("one", seen.append)
    signal.subscribe("two", seen.append)
    signal.send(3)
    assert seen == [3, 3]


def test_a_subscriber_that_raises_is_dropped_and_its_probe_is_lost() -> None:
    signal, lost = signal_and_losses()
    seen: list[int] = []
    signal.subscribe("bad", refuse)
    signal.subscribe("good", seen.append)
    signal.send(1)
    signal.send(2)
    assert seen == [1, 2]
    assert lost == ["bad: no 1"]


def test_a_subscriber_may_leave_while_the_signal_is_sent() -> None:
    signal, _ = signal_and_losses()
    seen: list[int] = []

    def once(number: int) -> None:
        signal.unsubscribe(once)

    signal.subscribe("once", once)
    signal.subscribe("always", seen.append)
    signal.send(1)
    signal.send(2)
    assert seen == [1, 2]


def test_a_silenced_probe_hears_nothing() -> None:
    signal, _ = signal_and_losses()
    seen: list[int] = []
    signal.subscribe("gone", seen.append)
    signal.silence("gone")
    signal.send(1)
    assert not seen
    assert not signal


def lose_calls(recording: Recording) -> None:
    """The probe `calls`, which only explains unusual calls, fails at its first."""

    def fail(_: object) -> None:
        raise ValueError("broken")

    signals = recording.recorder.signals
    for signal in (signals.call_begins, signals.call_was_unusual):
        signal.silence("calls")
        signal.subscribe("calls", fail)


def test_a_lost_diagnostic_probe_does_not_keep_calls_off_the_fast_path(
    recording: Recording, clock: Clock
) -> None:
    step: Callable[[], object] = compiled(recording)
    lose_calls(recording)
    repeat(step, WARM, clock)
    assert recording.recorder.probes["calls"].startswith("lost")
    assert is_noted(recording)
