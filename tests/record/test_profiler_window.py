"""The profiler's own messages are kept from the user's stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from unslow.record.probes.profiler import muted_stderr, window
from unslow.record.probes.profiler.muted_stderr import muted


class BusySession:
    """Another session is active, so this one cannot start; it says when it goes."""

    def start(self, folder: str, options: object) -> None:
        raise RuntimeError("Another profiling session active.")

    def __del__(self) -> None:
        os.write(2, b"I0000 00:00:1 1 profiler_session.cc:150] Profiler session tear down.\n")


def test_a_session_that_cannot_start_goes_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = SimpleNamespace(ProfilerSession=BusySession)
    monkeypatch.setitem(sys.modules, window._PROFILER, module)  # type: ignore[arg-type]
    assert window.open_window() is None
    assert capfd.readouterr().err == ""


def test_the_profilers_own_lines_are_kept_from_stderr_and_others_passed_on() -> None:
    with stderr_in_a_pipe() as reader:
        with muted():
            os.write(
                2,
                b"I0000 00:00:1 1 profiler_session.cc:117] Profiler session initializing.\nthe user's line\n"
                b"I0000 00:00:2 1 save_profile.cc:150] Collecting XSpace to repository: a.pb\n",
            )
            os.write(
                2, b"W0000 00:00:1 1 session_manager.cc:55] host_tracer_level expects an i value.\n"
            )
        assert os.read(reader, 10_000) == b"the user's line\n"


def test_stderr_is_restored_when_two_threads_are_muted_one_after_the_other() -> None:
    """The one that came first leaves first: what it restores is not what the other one found."""
    with stderr_in_a_pipe() as reader:
        first, second = muted(), muted()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        os.write(2, b"while one is muted\n")
        second.__exit__(None, None, None)
        os.write(2, b"after both\n")
        assert os.read(reader, 10_000) == b"while one is muted\nafter both\n"


def test_a_fork_of_a_muted_process_has_the_real_stderr_and_can_be_muted() -> None:
    with stderr_in_a_pipe() as reader:
        with muted():
            child = os.fork()
            if child == 0:
                os.write(2, b"child\n")
                with muted():
                    os.write(2, b"muted child\n")
                os._exit(0)
            os.waitpid(child, 0)
        os.write(2, b"parent\n")
        assert os.read(reader, 10_000) == b"child\nmuted child\nparent\n"


def test_a_program_that_redirects_stderr_meanwhile_keeps_it_so() -> None:
    with stderr_in_a_pipe(), stderr_in_a_pipe() as reader:
        other = os.dup(2)
        with stderr_in_a_pipe():
            with muted():
                os.dup2(other, 2)
            os.write(2, b"redirected\n")
            assert os.read(reader, 10_000) == b"redirected\n"
        os.close(other)


def test_a_program_that_closes_our_descriptors_sees_no_error() -> None:
    with stderr_in_a_pipe(), muted():
        held = muted_stderr._redirection
        os.close(held._holder)
        os.close(held._real)


@contextmanager
def stderr_in_a_pipe() -> Iterator[int]:
    saved, (reader, writer) = os.dup(2), os.pipe()
    os.set_blocking(reader, False)  # nothing to read is a failure, not a wait
    os.dup2(writer, 2)
    try:
        yield reader
    finally:
        os.dup2(saved, 2)
        for descriptor in (saved, reader, writer):
            os.close(descriptor)
