"""Getting into a process and out of it again, and every way in which that can go wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attach.conftest import RUNS, Start
from unslow.analyse.run.assemble import load
from unslow.attach import inject, session
from unslow.attach.session import attached
from unslow.attach.target import target_of
from unslow.errors import UnslowError
from unslow.record.engine.attached import STATE

if sys.version_info < (3, 14):
    pytest.importorskip("hypno")
by_ptrace = pytest.mark.skipif(sys.version_info >= (3, 14), reason="sys.remote_exec traces nothing")
by_remote_exec = pytest.mark.skipif(sys.version_info < (3, 14), reason="needs sys.remote_exec")

OTHER_USER = 65534  # nobody
PYTHONS = os.environ.get("UNSLOW_ATTACH_PYTHONS", "").split() or [sys.executable]

# Traces all threads of a process, as a debugger does (PTRACE_SEIZE).
TRACER = """
import ctypes, sys, time
seize = ctypes.CDLL(None).ptrace
print(sum(abs(seize(0x4206, int(thread), None, None)) for thread in sys.argv[1:]), flush=True)
time.sleep(60)
"""
# Prints what was left in the process after a line on its stdin.
TELLS = """
import gc, traceback
def state():
    hooks = (sys.excepthook, traceback.walk_tb, sys.getswitchinterval, list(sys.meta_path))
    settings = (sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), list(gc.callbacks))
    return hooks, settings, sys.getprofile(), sys.gettrace(), threading.active_count()
before = state()
while not held.closed:
    sum(range(1000))
    if sys.stdin.readable() and __import__("select").select([sys.stdin], [], [], 0)[0]:
        break
after = state()
try:
    import unslow_is_installed
except ImportError:
    pass
print(before == after, "unslow.attached" in sys.modules, flush=True)
"""


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.parametrize("python", PYTHONS)
def test_everything_is_taken_out_again(start: Start, tmp_path: Path, python: str) -> None:
    process = start(TELLS, python)
    with attached(target_of(process.pid), tmp_path / "run") as recording:
        assert recording.state() == "recording"
        time.sleep(0.3)
    assert recording.disarming is not None
    assert said(process) == "True False"
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def test_unslow_need_not_be_installed_in_the_process(start: Start, tmp_path: Path) -> None:
    finds = "import importlib.util; print(importlib.util.find_spec('unslow'), flush=True)\n"
    process = start(f"{finds}{RUNS}", sys.executable, "-I", "-S")
    assert process.stdout is not None
    assert process.stdout.readline() == "None\n"
    with attached(target_of(process.pid), tmp_path / "run") as recording:
        assert recording.state() == "recording"


def test_a_second_recorder_is_refused_and_told_where_the_first_one_writes(
    start: Start, tmp_path: Path
) -> None:
    process = start()
    target = target_of(process.pid)
    with (
        attached(target, tmp_path / "first"),
        pytest.raises(UnslowError, match="recorded already") as refused,
        attached(target, tmp_path / "second"),
    ):
        pass
    assert f"unslow live {tmp_path / 'first'}" in str(refused.value)
    assert not (tmp_path / "second").exists()


def test_a_process_of_unslow_run_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSLOW_RUN", "/tmp/run-7")
    process = start("time.sleep(60)", sys.executable, "-S")
    with pytest.raises(UnslowError, match="unslow live /tmp/run-7"):
        target_of(process.pid)


def test_a_process_that_ends_before_it_is_entered_is_named(start: Start, tmp_path: Path) -> None:
    process = start()
    target = target_of(process.pid)
    process.kill()
    process.wait()
    with pytest.raises(UnslowError, match="ended"), attached(target, tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_a_process_that_ends_while_attached_leaves_its_recording(
    start: Start, tmp_path: Path
) -> None:
    process = start()
    with attached(target_of(process.pid), tmp_path / "run") as recording:
        process.kill()
        process.wait()
        assert recording.is_over() and recording.has_ended()
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text())["ended"] == "ended while attached"
    )
    assert recording.disarming is None


@pytest.mark.parametrize(("last", "how"), [("", "exit"), ("1 / 0", "ZeroDivisionError: ")])
def test_how_a_process_ended_while_attached_is_recorded(
    start: Start, tmp_path: Path, last: str, how: str
) -> None:
    process = start(f"sys.stdin.readline()\n{last}")
    with attached(target_of(process.pid), tmp_path / "run"):
        process.communicate("\n")
    (run,) = load(str(tmp_path / "run")).processes
    assert run.how.startswith(how)


def test_a_process_that_has_not_imported_tensorflow_is_refused_from_inside(
    start: Start, tmp_path: Path
) -> None:
    process = start(f"del sys.modules['tensorflow']\nprint('gone', flush=True)\n{RUNS}")
    assert process.stdout is not None
    process.stdout.readline()
    with (
        pytest.raises(UnslowError, match="has not imported TensorFlow"),
        attached(target_of(process.pid), tmp_path / "run"),
    ):
        pass


def _processor_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11])


@by_ptrace
def test_a_native_call_that_keeps_the_lock_is_waited_for_and_then_left_alone(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject, "_PATIENCE", 0.5)
    process = start(
        "sum(range(6 * 10**8))\ntime.sleep(1)\n"
        "print('back', 'unslow.attached' in sys.modules, flush=True)\ntime.sleep(60)"
    )
    begun = _processor_ticks(process.pid)
    while _processor_ticks(process.pid) < begun + 20:  # it is in the call, and not on its way to it
        time.sleep(0.02)
    with (
        pytest.raises(UnslowError, match="long native call"),
        attached(target_of(process.pid), tmp_path / "run"),
    ):
        pass
    assert process.stdout is not None
    assert process.stdout.readline() == "back False\n"
    assert process.poll() is None
    assert not (tmp_path / "run").exists()


def test_a_process_that_is_stopped_while_attached_is_left_when_it_goes_on(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LEAVES", 0.5)
    process = start()
    with attached(target_of(process.pid), tmp_path / "run") as recording:
        process.send_signal(signal.SIGSTOP)
    assert recording.disarming is None and not recording.has_ended()
    process.send_signal(signal.SIGCONT)
    end = time.monotonic() + 10
    while recording.state() == "recording" and time.monotonic() < end:
        time.sleep(0.05)
    assert recording.state() == "detached"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_process_of_another_user_is_refused_for_real(start: Start) -> None:
    process = start()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
        try:
            target_of(process.pid)
        except UnslowError as refused:
            os.write(writer, str(refused).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"it belongs to another user" in os.read(reader, 1000)
    os.close(reader)
    os.close(writer)


@by_ptrace
def test_a_process_that_somebody_else_traces_is_refused_with_what_to_do(
    start: Start, tmp_path: Path
) -> None:
    process = start()
    words = [sys.executable, "-c", TRACER, *os.listdir(f"/proc/{process.pid}/task")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as tracer:
        assert tracer.stdout is not None
        if tracer.stdout.readline() != "0\n":
            pytest.skip("tracing is not allowed here at all")
        with pytest.raises(UnslowError, match="ptrace_scope"):
            attached(target_of(process.pid), tmp_path / "run").__enter__()
        tracer.kill()


def test_a_full_disk_ends_the_recording_and_not_the_process(start: Start, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        process = start(TELLS)
        with attached(target_of(process.pid), disk / "run") as recording:
            rest = os.open(disk / "rest", os.O_WRONLY | os.O_CREAT)
            with pytest.raises(OSError, match="No space left"):
                while True:
                    os.write(rest, bytes(4096))
            os.close(rest)
            time.sleep(2.5)
        assert "No space left" in recording.problem
        assert said(process) == "True False"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_the_process_may_not_enter_is_named(start: Start, tmp_path: Path) -> None:
    process = start()
    (tmp_path / "closed").mkdir(mode=0o700)

    class User:
        st_uid = st_gid = OTHER_USER

    from unslow.attach import reach

    why = reach._unreachable(target_of(process.pid), tmp_path / "closed", User())  # type: ignore[arg-type]
    assert why.startswith("its user may not enter")


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_fifty_rounds_leave_nothing_behind(start: Start, tmp_path: Path, python: str) -> None:
    process = start(python=python)
    sizes, pauses = [], []
    for number in range(50):
        with attached(target_of(process.pid), tmp_path / f"run-{number}") as recording:
            time.sleep(0.1)
        assert recording.disarming is not None
        pauses.append(max(recording.arming.worked, recording.disarming.worked))
        sizes.append(_resident(process.pid))
    print(f"MB after rounds 1, 10, 30, 50: {[sizes[at] for at in (0, 9, 29, 49)]}")
    print(f"longest pause {1e3 * max(pauses):.0f} ms")
    assert process.poll() is None
    assert sizes[-1] - sizes[9] < 2.0
    assert max(pauses) < 0.1


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_the_state_file_is_as_long_as_it_was(start: Start, tmp_path: Path) -> None:
    process = start()
    with attached(target_of(process.pid), tmp_path / "run"):
        pass
    assert len((tmp_path / "run" / STATE).read_bytes()) == 4096


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_is_a_way_in_where_there_is_no_other(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject, "_ways", lambda target, folder: [("gdb", inject._gdb)])
    process = start(TELLS)
    with attached(target_of(process.pid), tmp_path / "run") as recording:
        assert recording.way == "gdb" and recording.state() == "recording"
        time.sleep(0.3)
    assert recording.disarming is not None
    assert said(process) == "True False"


def test_a_process_that_nobody_waited_for_has_ended(start: Start, tmp_path: Path) -> None:
    process = start()
    target = target_of(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(UnslowError, match="it ended meanwhile"):
        attached(target, tmp_path / "run").__enter__()


@by_remote_exec
def test_a_main_thread_that_sleeps_is_named_and_later_does_nothing(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject, "_PATIENCE", 0.5)
    monkeypatch.setattr(inject.shutil, "which", lambda name: None)  # no other way in
    process = start("time.sleep(3)\nprint('back', 'unslow' in sys.modules, flush=True)")
    with pytest.raises(UnslowError, match="its main thread has not run any Python"):
        inject.inject(target_of(process.pid), tmp_path / "run")
    out, errors = process.communicate(timeout=60)
    assert (out, errors) == ("back False\n", "")
    assert list(tmp_path.glob("*.attach.py")) == []
