"""Which of several updates counts the steps that a job's workers share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unslow.record.engine.start import Recording
from unslow.record.engine.steps import Steps


class Owner:
    """Stands for a tf.function."""


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(str(tmp_path))
    yield recording
    recording.end()


def train(recording: Recording, owner: Owner, count: int) -> Steps:
    steps = recording.steps
    for _ in range(count):
        lane = recording.recorder.local.lane
        steps.ended(lane, "function", owner, "step", sys._getframe())
    return steps


def train_elsewhere(recording: Recording, owner: Owner, count: int) -> Steps:
    """The same from another line: another place."""
    return train(recording, owner, count)


def test_a_second_loop_counts_on_after_eight_updates(recording: Recording) -> None:
    first, second = Owner(), Owner()
    train(recording, first, 30)
    assert train_elsewhere(recording, second, 20).led == 30 + 20 - 8


def test_the_rarer_of_two_updates_goes_on_counting(recording: Recording) -> None:
    generator, critic = Owner(), Owner()
    for _ in range(20):
        train(recording, generator, 1)
        train_elsewhere(recording, critic, 5)
    assert recording.steps.led == 20


def test_a_step_that_assigns_many_variables_is_one_step(recording: Recording) -> None:
    """The leader is found in the first of them: its own 24 count."""
    variables = [Owner() for _ in range(24)]
    for _ in range(30):
        for variable in variables:
            train(recording, variable, 1)
    assert recording.steps.led == 24 + 29


def test_a_second_loop_over_many_variables_counts_on(recording: Recording) -> None:
    first, variables = Owner(), [Owner() for _ in range(24)]
    for variable in variables:
        train_elsewhere(recording, variable, 1)
    train(recording, first, 30)
    before = recording.steps.led
    for _ in range(20):
        for variable in variables:
            train_elsewhere(recording, variable, 1)
    assert recording.steps.led == before + 20 - 8
