"""What can be attached to is decided before anything is done to a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from unslow.attach.target import find, target_of
from unslow.errors import UnslowError


@pytest.fixture
def python() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", "print('ready', flush=True); import time; time.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_number_that_no_process_has_is_refused() -> None:
    with pytest.raises(UnslowError, match="there is no such process"):
        target_of(2**22 + 1)


def test_a_process_that_is_not_python_is_refused() -> None:
    shell = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(UnslowError, match="not a Python process"):
            target_of(shell.pid)
    finally:
        shell.kill()
        shell.wait()


def test_a_python_process_without_tensorflow_is_refused(python: subprocess.Popen[bytes]) -> None:
    with pytest.raises(UnslowError, match="has not loaded TensorFlow"):
        target_of(python.pid)


def test_a_process_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_text(*_: object, **__: object) -> str:
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_text", read_text)
    with pytest.raises(UnslowError, match="another user"):
        target_of(os.getpid())


def test_a_stopped_process_is_refused_with_what_to_type(
    python: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unslow.attach.target._uses_tensorflow", lambda files: True)
    python.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, python.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(UnslowError, match=f"kill -CONT {python.pid}"):
        target_of(python.pid)


def test_a_name_that_nothing_matches_is_refused() -> None:
    with pytest.raises(UnslowError, match="no process no_such_script"):
        find("no_such_script.py")
