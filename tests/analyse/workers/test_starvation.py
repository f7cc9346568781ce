"""Steps that wait for an element inside of their call: which ones, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.sketches.jobs import JobSketch
from unslow.analyse.workers.job import Floats
from unslow.analyse.workers.starvation import starvation_of
from unslow.analyse.workers.step_account import table_of
from unslow.facts.data import PipelineReading

JOB = JobSketch("a job", steps=200)
PLAIN = JOB.run()


def readings(
    waits: Sequence[float], at: Sequence[int], iterator: int = 1, first: int = 0
) -> Iterator[PipelineReading]:
    """Of an iterator that begins after a step; its n-th element is waited for `waits[n - 1]`.

    As the recorder writes them: what was waited for since the last reading counts at the next one.
    """
    for number, elements in enumerate(at):
        counted = at[max(0, number - 1)]
        yield PipelineReading(
            time=float(PLAIN.loops[0].end[first + elements - 1]),
            process=1,
            iterator=iterator,
            dataset=1,
            step=first + elements,
            elements=elements,
            wait=sum(waits[at[0] : counted]),
            over=counted - at[0],
        )


def starvation(*facts: PipelineReading) -> Floats:
    run = replace(JOB, more=facts).run()
    return starvation_of(run, [0, 1], table_of(JOB.records()))


def test_each_iterator_has_its_own_wait() -> None:
    """The second begins at step 151, and is first read 20 steps later."""
    slow = readings([0.03] * 150, (2, 10, 40, 100))
    quick = readings([0.0] * 50, (20, 30, 40), iterator=2, first=150)
    found = starvation(*slow, *quick)
    assert not found[0].any()
    assert found[1, :150] == pytest.approx(0.03, rel=0.01)
    assert found[1, 150:] == pytest.approx(0, abs=1e-4)


def test_input_that_becomes_slow_makes_later_steps_wait() -> None:
    found = starvation(*readings([0.0] * 100 + [0.03] * 100, (2, 10, 50, 100, 150, 180)))
    assert found[1, :98] == pytest.approx(0, abs=1e-4)
    assert found[1, 102:] == pytest.approx(0.03, rel=0.01)


def test_an_iterator_of_python_is_no_wait_inside_of_the_step() -> None:
    facts = readings([0.03] * 200, (2, 10, 50, 100))
    assert not starvation(*(one.replace(fetches=one.elements) for one in facts)).any()


def test_a_step_that_is_missing_has_no_wait() -> None:
    records = JOB.records()
    records[1] = records[1][50:]
    run = replace(JOB, more=tuple(readings([0.03] * 200, (2, 10, 50, 100)))).run()
    found = starvation_of(run, [0, 1], table_of(records))
    assert not found[1, :50].any() and np.isfinite(found).all()
