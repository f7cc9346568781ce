"""The profiler's own messages are kept from the user's stderr."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from unslow.record.probes.profiler import window


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
    saved, (reader, writer) = os.dup(2), os.pipe()
    os.dup2(writer, 2)
    try:
        with window._muted():
            os.write(
                2,
                b"I0000 00:00:1 1 profiler_session.cc:117] Profiler session initializing.\nthe user's line\n"
                b"I0000 00:00:2 1 save_profile.cc:150] Collecting XSpace to repository: a.pb\n",
            )
            os.write(
                2, b"W0000 00:00:1 1 session_manager.cc:55] host_tracer_level expects an i value.\n"
            )
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(writer)
    assert os.read(reader, 10_000) == b"the user's line\n"
    os.close(reader)
