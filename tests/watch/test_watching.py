"""Many runs at once: found, looked at, left when they are over; damaged ones are named once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.watch.folders import Growing
from unslow.errors import UnslowError
from unslow.watch.disks import Disks
from unslow.watch.targets import Target
from unslow.watch.watching import LONGEST, SHORTEST, Watching


def watching(place: Path, clock: Growing, notes: list[str], many: bool = True) -> Watching:
    return Watching(Target(place, many), notes.append, clocks=clock.clocks())


def test_runs_that_begin_later_are_found_and_ended_ones_are_left(tmp_path: Path) -> None:
    notes: list[str] = []
    old = Growing(tmp_path / "old")
    old.ended("exit 0")
    first = Growing(tmp_path / "first")
    watch = watching(tmp_path, first, notes)
    watch.poll()
    assert [run.name for run in watch.runs.values()] == ["first"]
    Growing(tmp_path / "second")
    first.ended("exit 1")
    first.now += 20
    alerts = watch.poll()
    assert [(alert.run, alert.matter.value) for alert in alerts] == [("first", "died")]
    assert [run.name for run in watch.runs.values()] == ["second"]
    assert watch.died and not watch.over and not notes


def test_a_single_run_is_over_when_it_ends(tmp_path: Path) -> None:
    run = Growing(tmp_path / "run")
    watch = watching(run.folder, run, [], many=False)
    watch.look_at_first()
    assert not watch.over
    run.ended("exit 0")
    assert [alert.matter.value for alert in watch.poll()] == ["done"] and watch.over


def test_a_damaged_run_among_others_is_named_once_and_passed_over(tmp_path: Path) -> None:
    notes: list[str] = []
    good = Growing(tmp_path / "good")
    Growing(tmp_path / "bad")
    (tmp_path / "bad" / "run.json").write_text('{"version": 2, "comm')
    watch = watching(tmp_path, good, notes)
    for _ in range(3):
        good.steps(20)
        watch.poll()
    assert len(notes) == 1 and notes[0].startswith("bad cannot be watched: its run.json is cut off")
    assert [run.name for run in watch.runs.values()] == ["good"]


def test_a_damaged_run_that_was_named_is_an_error(tmp_path: Path) -> None:
    run = Growing(tmp_path / "run")
    (run.folder / "run.json").write_text("[]")
    with pytest.raises(UnslowError, match="was not written by unslow"):
        watching(run.folder, run, [], many=False).look_at_first()


def test_rest_keeps_the_cost_in_bounds(tmp_path: Path) -> None:
    watch = watching(tmp_path, Growing(tmp_path / "run"), [])
    assert watch.rest(0.001) == SHORTEST
    assert watch.rest(0.05) == pytest.approx(5.0)
    assert watch.rest(9.0) == LONGEST


class Space:
    f_frsize = 4096
    f_blocks = 25_000_000  # 100 GB

    def __init__(self, free: float) -> None:
        self.f_bavail = int(free / self.f_frsize)


def test_a_full_disk_is_reported_once_however_many_runs_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [Growing(tmp_path / name) for name in ("a", "b")]
    watch = watching(tmp_path, runs[0], [])
    monkeypatch.setattr(os, "statvfs", lambda folder: Space(1e6))
    alerts = []
    for _ in range(4):
        for run in runs:
            run.steps(20)
        alerts += watch.poll()
    (alert,) = [each for each in alerts if each.matter.value == "disk"]
    assert "is full: nothing more can be saved or recorded" in alert.text


def test_a_disk_that_fills_is_reported_with_the_time_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks, found = Disks(), []
    for at in range(100):
        free = 50e9 - 2e8 * at
        monkeypatch.setattr(os, "statvfs", lambda folder, free=free: Space(free))
        found.append(disks.poll(tmp_path, 15.0 * at))
    (full,) = [each for each in found if each is not None]
    assert full.rate == pytest.approx(2e8 / 15, rel=0.1)
    assert full.left == pytest.approx(full.room / full.rate)


def test_a_disk_that_cannot_be_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(folder: Path) -> None:
        raise OSError(errno.EIO, "away")

    monkeypatch.setattr(os, "statvfs", away)
    assert Disks().poll(tmp_path, 1.0) is None
