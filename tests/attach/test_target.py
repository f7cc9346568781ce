"""What can be attached to is decided before anything is done to a process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.parametrize(("user", "why"), [(1, "another user"), (0, "more rights than this shell")])
def test_a_process_that_may_not_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, user: int, why: str
) -> None:
    own = Path("/proc/self").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: own + user)

    def read_text(*_: object, **__: object) -> str:
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_text", read_text)
    with pytest.raises(UnslowError, match=why):
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


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a process that the system does not have."""
    monkeypatch.setattr("unslow.attach.target._PROC", tmp_path)
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "stat").write_text("7 (python) S 1")
    (folder / "environ").write_bytes(b"")
    (folder / "cmdline").write_bytes(b"python\0train.py\0")
    (folder / "cwd").symlink_to(tmp_path)
    (folder / "exe").write_bytes(b"\x7fELF\x02")
    rows = ("/usr/bin/python3.11", "/usr/lib/libc.so.6", "/lib/tensorflow/libtensorflow_cc.so.2")
    (folder / "maps").write_text("".join(f"0-1 r-xp 0 0:0 1 {row}\n" for row in rows))
    return folder


def test_a_32_bit_python_is_refused(made_up: Path) -> None:
    (made_up / "exe").write_bytes(b"\x7fELF\x01")
    with pytest.raises(UnslowError, match="32-bit"):
        target_of(7)


def test_a_python_that_cannot_load_code_is_refused(made_up: Path) -> None:
    (made_up / "maps").write_text("0-1 r-xp 0 0:0 1 /opt/python3.11\n")
    with pytest.raises(UnslowError, match="linked statically"):
        target_of(7)


def test_a_process_that_ends_while_it_is_read_is_refused(made_up: Path) -> None:
    (made_up / "cwd").unlink()
    with pytest.raises(UnslowError, match="it ended just now"):
        target_of(7)


def test_a_process_that_has_ended_and_was_not_waited_for_is_refused(made_up: Path) -> None:
    (made_up / "stat").write_text("7 (python) Z 1")
    with pytest.raises(UnslowError, match="has ended"):
        target_of(7)


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs a compiler")
def test_a_static_executable_named_python_is_refused_for_real(tmp_path: Path) -> None:
    source = tmp_path / "sleep.c"
    source.write_text("#include <unistd.h>\nint main(void) { sleep(60); return 0; }\n")
    binary = tmp_path / "python3.11"
    words = ["gcc", "-static", "-o", str(binary), str(source)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("the C library cannot be linked statically here")
    with subprocess.Popen([binary]) as process:
        try:
            while str(binary) not in Path(f"/proc/{process.pid}/maps").read_text():
                pass  # Popen returns before the system has mapped all of a program
            with pytest.raises(UnslowError, match="linked statically"):
                target_of(process.pid)
        finally:
            process.kill()
