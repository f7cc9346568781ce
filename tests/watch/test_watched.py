"""One run from beginning to end: each matter is reported once, in time, and a healthy run is quiet."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.watch.folders import Growing
from unslow.watch import watched as watched_module
from unslow.watch.alert import Alert, Matter
from unslow.watch.watched import WatchedRun


class Watched:
    """A run and the one that watches it, looked at every five seconds."""

    def __init__(self, folder: Path, host: str = "elsewhere", pid: int = 4711) -> None:
        self.run = Growing(folder, host, pid)
        self.watched = WatchedRun(self.run.folder, clocks=self.run.clocks())
        self.alerts: list[Alert] = []

    def steps(self, seconds: float, step: float = 0.1, leak: float = 0.0) -> Watched:
        for _ in range(round(seconds / 5)):
            self.run.steps(5, step, leak)
            self.poll()
        return self

    def idle(self, seconds: float) -> Watched:
        for _ in range(round(seconds / 5)):
            self.run.idle(5)
            self.poll()
        return self

    def poll(self) -> None:
        self.alerts += self.watched.poll()

    @property
    def matters(self) -> list[str]:
        return [alert.matter.value for alert in self.alerts]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "run")


def test_a_healthy_run_is_silent_until_it_is_done(watched: Watched) -> None:
    watched.steps(900)
    assert not watched.alerts
    watched.run.ended("exit 0")
    watched.poll()
    watched.poll()
    assert watched.matters == ["done"] and watched.watched.over
    assert "9,000 steps" in watched.alerts[0].text


def test_a_slow_down_is_reported_once_within_a_minute(watched: Watched) -> None:
    watched.steps(600)
    began = watched.run.now
    watched.steps(600, step=0.12)
    assert watched.matters == ["slower"]
    (alert,) = watched.alerts
    assert alert.time - began <= 60
    assert alert.numbers["share"] == pytest.approx(0.2, abs=0.01)
    assert "120 ms a step instead of 100 ms" in alert.text


def test_a_stall_is_reported_once_and_the_next_one_again(watched: Watched) -> None:
    watched.steps(120).idle(300)
    assert watched.matters == ["stalled"] and "no step for" in watched.alerts[0].text
    watched.steps(120).idle(300)
    assert watched.matters == ["stalled", "stalled"]


def test_steps_that_a_full_disk_does_not_take_are_no_stall(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.steps(120)
    monkeypatch.setattr(watched_module, "is_full", lambda folder: True)
    watched.idle(300)
    assert not watched.alerts


def test_a_leak_is_reported_once_with_the_time_that_is_left(watched: Watched) -> None:
    watched.steps(300).steps(600, leak=10e6)
    assert watched.matters == ["memory"]
    numbers = watched.alerts[0].numbers
    assert numbers["left"] == pytest.approx(numbers["room"] / 10e6, rel=0.2)


def test_a_run_that_was_killed_has_died(watched: Watched) -> None:
    watched.steps(60)
    watched.run.ended("killed by SIGKILL")
    watched.poll()
    assert watched.matters == ["died"] and "killed by SIGKILL" in watched.alerts[0].text


def test_a_detached_recording_is_no_death(watched: Watched) -> None:
    watched.steps(60)
    watched.run.ended("running on")
    watched.poll()
    assert watched.matters == ["done"] and "the training goes on" in watched.alerts[0].text


@pytest.mark.parametrize(
    ("how", "matter"), [("exit", "done"), ("ValueError: no such batch", "died")]
)
def test_a_training_that_ended_while_attached_ended_as_its_process_did(
    watched: Watched, how: str, matter: str
) -> None:
    watched.steps(60)
    watched.run.exit(how)
    watched.run.ended("ended while attached", attached=4711)
    watched.poll()
    assert watched.matters == [matter]
    assert "600 steps since unslow attached" in watched.alerts[0].text


def test_a_process_that_disappears_with_its_launcher_has_died(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    watched = Watched(tmp_path / "run", socket.gethostname(), child.pid)
    watched.steps(60).idle(20)
    assert watched.matters == ["died"] and "killed?" in watched.alerts[0].text


def test_an_exception_is_named(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    watched = Watched(tmp_path / "run", socket.gethostname(), child.pid)
    watched.run.steps(60)
    watched.run.exit("ValueError: no such batch")
    watched.idle(20)
    assert watched.matters == ["died"] and "ValueError: no such batch" in watched.alerts[0].text


def test_an_exception_is_named_beside_what_the_launcher_knows(watched: Watched) -> None:
    watched.steps(60)
    watched.run.exit("ValueError: no such batch")
    watched.run.ended("exit 1")
    watched.poll()
    assert watched.alerts[0].text == "died after 600 steps: exit 1, ValueError: no such batch"


def test_the_end_is_left_to_a_launcher_that_lives(tmp_path: Path) -> None:
    """A command may go on after its training: a shell script that does more."""
    watched = Watched(tmp_path / "run", socket.gethostname(), os.getppid())
    watched.steps(60)
    watched.run.exit()
    watched.idle(50)
    assert not watched.alerts


def test_the_end_is_ours_to_tell_where_we_are_the_launcher(tmp_path: Path) -> None:
    """`watch PID` attaches by itself."""
    watched = Watched(tmp_path / "run", socket.gethostname(), os.getpid())
    watched.steps(60)
    watched.run.exit()
    watched.idle(50)
    assert [alert.matter for alert in watched.alerts] == [Matter.DONE]


def test_a_torn_line_and_a_torn_row_are_waited_for(watched: Watched) -> None:
    watched.steps(60)
    logs = {each.suffix: each for each in watched.run.folder.iterdir()}
    for suffix, torn in ((".events", b'{"k": "tick", "t'), (".steps", b"\0" * 50)):
        with logs[suffix].open("ab") as file:
            file.write(torn)
    watched.idle(5)
    assert not watched.alerts and watched.watched.steps == 600


def test_an_alert_is_plain_data(watched: Watched) -> None:
    watched.steps(600).steps(100, step=0.2)
    line = watched.alerts[0].as_json()
    assert line["kind"] == Matter.SLOWER.value and line["run"] == "run"
    assert str(line["time"]).endswith("Z") and str(line["since"]) < str(line["time"])
