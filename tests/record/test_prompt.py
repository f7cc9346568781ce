"""The interval at which threads ask for Python's lock is the program's own wherever it matters."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from unslow.record.prompt import Prompt


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    usual = sys.getswitchinterval()
    yield
    sys.setswitchinterval(usual)


def test_a_watcher_beside_one_thread_asks_sooner_while_it_sleeps_only() -> None:
    usual, prompt = sys.getswitchinterval(), Prompt()
    prompt.before_sleep(2)
    assert sys.getswitchinterval() < usual
    prompt.awake()
    assert sys.getswitchinterval() == usual


def test_a_program_with_more_threads_keeps_its_interval() -> None:
    usual, prompt = sys.getswitchinterval(), Prompt()
    prompt.before_sleep(3)
    assert sys.getswitchinterval() == usual


def test_an_interval_that_the_program_chose_stays() -> None:
    prompt = Prompt()
    prompt.before_sleep(2)
    sys.setswitchinterval(0.01)
    prompt.awake()
    prompt.before_sleep(2)
    assert sys.getswitchinterval() == pytest.approx(0.01)
