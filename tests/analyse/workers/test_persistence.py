"""A worker that is late all the time is told from one that noise of the machine hits."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import Job
from unslow.analyse.workers.persistence import PARTS, is_persistent

STEPS = 400


def job_with(late: np.ndarray, blamed: np.ndarray | float = 0.01, step: float = 0.02) -> Job:
    """A job of two workers; `late`: for each step the worker that the other waits for, or -1."""
    hand = Hand(inside=step)
    job = job_of(JobSketch("two", workers=(hand, hand), steps=STEPS).run())
    assert job is not None
    culprit = late.astype(np.int32)
    waited = np.where(late >= 0, blamed, 0.0).astype(np.float32)
    return Job(**{**vars(job), "culprit": culprit, "blamed": waited})


def bursts(workers: str) -> np.ndarray:
    """Who is late in stretches as long as each other: "01-" is worker 0, worker 1, nobody."""
    names = [-1 if worker == "-" else int(worker) for worker in workers]
    return np.repeat(names, STEPS // len(names))


def test_a_worker_that_is_always_late_is_persistent() -> None:
    assert is_persistent(job_with(np.full(STEPS, 1)), 1)


def test_a_worker_that_is_late_in_most_steps_is_persistent() -> None:
    late = np.random.default_rng(1).choice([1, 1, 1, 0, -1], STEPS)
    assert is_persistent(job_with(late), 1)
    assert not is_persistent(job_with(late), 0)


@pytest.mark.parametrize("late", ["-1-1-11-", "1111----", "1-------", "11011111"])
def test_a_worker_that_is_late_in_bursts_is_not(late: str) -> None:
    """As programs beside the job cause them: these cost more than half of a straggler's wait."""
    assert not is_persistent(job_with(bursts(late)), 1)


def test_noise_with_a_memory_is_rarely_taken_for_a_straggler() -> None:
    random = np.random.default_rng(3)
    taken = 0
    for _ in range(200):
        late = np.repeat(random.choice([-1, 0, 1], STEPS // 20), 20)  # 20 bursts
        taken += is_persistent(job_with(late, random.exponential(0.01, STEPS)), 1)
    assert taken <= 4


def test_a_job_in_which_nobody_is_late_has_none() -> None:
    job = job_with(np.full(STEPS, -1))
    assert not is_persistent(job, 0)
    assert not is_persistent(job, 1)


@pytest.mark.parametrize(("minutes", "persistent"), [(2, False), (15, True)])
def test_a_worker_that_is_late_for_many_minutes_is_persistent(
    minutes: int, persistent: bool
) -> None:
    """A job of 100 minutes, in steps of 15 seconds."""
    late = np.full(STEPS, -1)
    late[200 : 200 + 4 * minutes] = 1
    assert is_persistent(job_with(late, 3.0, step=15.0), 1) is persistent


def test_parts_are_enough_for_the_level_of_the_test() -> None:
    assert 2 * 0.5**PARTS <= 0.01
