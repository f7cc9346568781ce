"""Which run belongs to a process: by its log, or by the launcher that started it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.watch.folders import Growing
from unslow.errors import UnslowError
from unslow.watch.targets import run_of_process


def test_a_recorded_process_is_found_by_its_log(tmp_path: Path) -> None:
    Growing(tmp_path / "other", socket.gethostname(), 4711)
    run = Growing(tmp_path / "run", socket.gethostname(), os.getpid())
    assert run_of_process(os.getpid(), tmp_path) == run.folder


def test_the_process_that_launched_a_run_stands_for_it(tmp_path: Path) -> None:
    """`unslow run train.py &` gives the number of the launcher, not of the training."""
    run = Growing(tmp_path / "run", socket.gethostname(), 4711, launcher=os.getpid())
    assert run_of_process(os.getpid(), tmp_path) == run.folder


def test_a_launcher_of_another_machine_is_another_process(tmp_path: Path) -> None:
    Growing(tmp_path / "run", "elsewhere", 4711, launcher=os.getpid())
    assert run_of_process(os.getpid(), tmp_path) is None


def test_a_run_that_has_ended_is_not_that_of_a_process_with_its_number(tmp_path: Path) -> None:
    Growing(tmp_path / "run", socket.gethostname(), os.getpid()).ended("exit 0")
    assert run_of_process(os.getpid(), tmp_path) is None


def test_a_number_that_no_process_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnslowError, match="there is no such process"):
        run_of_process(2**22 + 1, tmp_path)
