"""Our frames are in no traceback that Python prints, whoever prints it."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType

import pytest

from unslow.record.engine.probe import WRAPPERS, hide_wrappers


def user_code() -> None:
    raise ValueError("mine")


def wrapper() -> None:
    user_code()


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Pytest has hooks of its own; a program has Python's.
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    WRAPPERS.add(wrapper.__code__)
    undo = hide_wrappers()
    yield
    undo()
    WRAPPERS.discard(wrapper.__code__)


@pytest.mark.usefixtures("hidden")
def test_a_thread_that_ends_by_an_error_does_not_show_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    thread = threading.Thread(target=wrapper)
    thread.start()
    thread.join()
    shown = capfd.readouterr().err
    assert "in user_code" in shown and "in wrapper" not in shown


@pytest.mark.usefixtures("hidden")
def test_an_error_that_nobody_can_catch_does_not_show_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Held:
        def __del__(self) -> None:
            wrapper()

    Held()
    shown = capfd.readouterr().err
    assert "in user_code" in shown and "in wrapper" not in shown


@pytest.mark.usefixtures("hidden")
def test_a_hook_that_calls_pythons_own_does_not_show_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    try:
        wrapper()
    except ValueError as error:
        sys.__excepthook__(ValueError, error, error.__traceback__)
    shown = capfd.readouterr().err
    assert "in user_code" in shown and "in wrapper" not in shown


@pytest.mark.usefixtures("hidden")
def test_a_hook_that_reads_the_frames_does_not_see_them() -> None:
    try:
        wrapper()
    except ValueError as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[1:] == ["user_code"]


@pytest.mark.usefixtures("hidden")
def test_who_asks_for_one_frame_gets_one_even_if_it_is_a_wrappers() -> None:
    """As pytest does when it shows a failure."""
    try:
        wrapper()
    except ValueError as error:
        inner = error.__traceback__.tb_next  # type: ignore[union-attr]
    alone = TracebackType(None, inner.tb_frame, inner.tb_lasti, inner.tb_lineno)  # type: ignore[union-attr]
    assert [frame.name for frame in traceback.extract_tb(alone)] == ["wrapper"]


@pytest.mark.usefixtures("hidden")
def test_the_hooks_are_still_pythons_own_by_identity() -> None:
    assert sys.excepthook is sys.__excepthook__
    assert threading.excepthook is threading.__excepthook__
    assert sys.unraisablehook is sys.__unraisablehook__


def test_a_hook_that_was_there_before_may_call_pythons_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *given: sys.__excepthook__(*given))
    undo = hide_wrappers()
    try:
        sys.excepthook(KeyError, KeyError("gone"), None)
    finally:
        undo()
    assert capfd.readouterr().err == "KeyError: 'gone'\n"


def test_all_is_put_back() -> None:
    before = (sys.excepthook, sys.__excepthook__, sys.unraisablehook, threading.excepthook)
    hide_wrappers()()
    assert before == (sys.excepthook, sys.__excepthook__, sys.unraisablehook, threading.excepthook)
