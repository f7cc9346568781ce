"""Seconds per line from stack samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.model import Location, Run, Sample
from unslow.report.view.line_times import line_times

OUTER, INNER = Location("train.py", 10), Location("model.py", 3)


def run_with(*samples: Sample, watched_from: float = 0.0) -> Run:
    run = Sketch("", (0.1,) * 100, samples=samples, ticks={"rss": [1e8] * 10}).run()
    process = run.processes[0]
    ticks = replace(process.ticks, time=np.linspace(watched_from, 10.0, 10))
    return replace(run, processes=(replace(process, ticks=ticks),))


def sample(stack: tuple[Location, ...], *bins: tuple[float, float, int]) -> Sample:
    count = sum(number for _, _, number in bins)
    return Sample(stack, "python", 0, True, count, 0, count, bins=bins)


def test_the_lines_of_a_bundle_share_its_time() -> None:
    times = line_times(
        run_with(sample((INNER, OUTER), (2.0, 4.0, 30)), sample((OUTER,), (2.0, 4.0, 10)))
    )
    assert times["train.py", 10].inclusive == pytest.approx(2.0)
    assert times["train.py", 10].innermost == pytest.approx(0.5)
    assert times["model.py", 3].inclusive == pytest.approx(1.5)


def test_a_slower_rate_of_sampling_changes_nothing() -> None:
    times = line_times(run_with(sample((OUTER,), (0.0, 2.0, 100), (2.0, 4.0, 3))))
    assert times["train.py", 10].inclusive == pytest.approx(4.0)


def test_the_first_bundle_begins_with_the_watcher_and_not_with_the_program() -> None:
    times = line_times(run_with(sample((OUTER,), (0.0, 4.0, 10)), watched_from=3.5))
    assert times["train.py", 10].inclusive == pytest.approx(0.5)


def test_a_line_that_calls_itself_counts_once() -> None:
    times = line_times(run_with(sample((OUTER, OUTER), (0.0, 2.0, 10))))
    assert times["train.py", 10].inclusive == pytest.approx(2.0)


def test_a_bundle_without_samples_from_a_damaged_recording_is_no_time() -> None:
    times = line_times(run_with(sample((OUTER,), (0.0, 2.0, 0))))
    assert sum(each.inclusive for each in times.values()) == 0.0
