"""A disk that does not answer stops our thread, never the training."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from unslow.record.engine import rows, watcher
from unslow.record.engine.start import Recording
from unslow.runfolder.layout import Writer


class Disk:
    """Takes writes until it hangs."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    append = Writer._append

    def waits(self: Writer, which: int, data: bytes) -> None:
        disk.asked.set()
        disk.answers.wait()
        append(self, which, data)

    monkeypatch.setattr(Writer, "_append", waits)
    yield disk
    disk.answers.set()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(str(tmp_path))
    recording.arming.open("tensorflow", ModuleType("tensorflow"))
    yield recording
    recording.end()


def train(recording: Recording, steps: int) -> None:
    lane, frame = recording.recorder.local.lane, sys._getframe()
    for _ in range(steps):
        recording.steps.ended(lane, "function", recording, "step", frame)


def hang(disk: Disk) -> None:
    """Let the disk hang, and wait until our thread has met it."""
    disk.answers.clear()
    disk.asked.clear()


def test_a_training_goes_on_while_its_disk_hangs(disk: Disk, recording: Recording) -> None:
    train(recording, 300)
    while not recording.recorder.watched:
        time.sleep(0.01)
    hang(disk)
    train(recording, 300)
    assert disk.asked.wait(5.0)
    train(recording, 2000)
    assert recording.steps.total == 2600


def test_a_program_does_not_wait_at_its_exit_for_a_disk_that_hangs(
    disk: Disk, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_LONGEST_END", 0.3)
    train(recording, 300)
    while not recording.recorder.watched:
        time.sleep(0.01)
    hang(disk)
    train(recording, 10)
    began = time.monotonic()
    recording.end()
    assert time.monotonic() - began < 3.0


def test_what_waits_for_a_disk_is_bounded_and_its_loss_is_named(
    disk: Disk, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_MOST_WAITING", 1000)
    train(recording, 300)
    while not recording.recorder.watched:
        time.sleep(0.01)
    hang(disk)
    train(recording, 300)
    assert disk.asked.wait(5.0)
    train(recording, 1500)
    assert "did not take them" in recording.recorder.probes["steps"]


def test_everything_is_there_once_the_disk_answers_again(
    disk: Disk, recording: Recording, tmp_path: Path
) -> None:
    from unslow.runfolder import layout

    train(recording, 300)
    while not recording.recorder.watched:
        time.sleep(0.01)
    hang(disk)
    train(recording, 500)
    disk.answers.set()
    recording.end()
    layout.write_header(str(tmp_path), {"command": [], "cwd": ""})
    from unslow.analyse.run.assemble import load

    run = load(str(tmp_path))
    assert run.steps == 800 and not run.notes
