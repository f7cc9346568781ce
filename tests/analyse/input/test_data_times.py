"""Starting an iterator has a name of its own; waiting for the user's pipeline keeps its own."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.analyse.account import account_of
from unslow.analyse.account_parts import Kind
from unslow.analyse.input.data_times import DataTime, data_times
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.facts.data import IteratorMade
from unslow.facts.keras import Fit
from unslow.model import Finding, Location, Phase, Run

EPOCH = 10  # steps


def iterators(evaluates: bool = False) -> list[Placed]:
    """One for each epoch, of 30 ms, which a line of fit makes."""
    made = IteratorMade(key=f"{evaluates}", iterator=1, dataset=1, took=0.03, stack=stack_at(10))
    steps = range(1, 101, EPOCH)
    return [
        at(step, made.replace(n=count, sum=0.03 * count, evaluates=evaluates))
        for count, step in enumerate(steps, 1)
    ]


def run_of(facts: list[Placed], data: str = "ndarray") -> Run:
    """100 steps of 20 ms, 30 ms longer at the start of an epoch, half of it in the compiled step."""
    starts = np.arange(100) % EPOCH == 0
    seconds = 0.02 + 0.06 * starts
    phases = {Phase.INPUT: 0.03 * starts / seconds, Phase.RUN: (0.02 + 0.03 * starts) / seconds}
    fit = at(1, Fit(data=data, stack=stack_at(10)))
    return Sketch("", seconds.tolist(), phases, [fit, *facts], style="keras").run()  # type: ignore[arg-type]


def of_loop(run: Run) -> DataTime:
    (loop,) = run.loops
    return data_times(run)[loop]


def test_making_iterators_is_no_wait_for_data() -> None:
    run = run_of(iterators())
    assert of_loop(run).made == pytest.approx(0.3)
    parts = {part.name: part for part in account_of(run, []).stretches[-1].parts}
    assert "waiting for data" not in parts
    assert parts["starting an iterator"].kind is Kind.KNOWN
    assert parts["starting an iterator"].location == Location("train.py", 10, "<module>")


def test_iterators_for_validation_are_part_of_it() -> None:
    assert of_loop(run_of(iterators(evaluates=True))).made == 0.0


def test_the_first_batch_of_arrays_is_part_of_the_start_and_that_of_a_dataset_is_a_wait() -> None:
    pipeline = pipeline_facts(Made("Map", 1e-5), wait=1e-6, in_python=False)
    own = [placed for placed in pipeline if not isinstance(placed.fact, IteratorMade)]
    arrays = of_loop(run_of([*own, *iterators()]))
    dataset = of_loop(run_of([*own, *iterators()], data="_PrefetchDataset"))
    assert arrays.first == pytest.approx(9 * 0.03, rel=0.1) and dataset.first == 0.0
    assert arrays.hidden == pytest.approx(dataset.hidden)


def test_what_recreates_iterators_explains_their_start() -> None:
    run = run_of(iterators())
    found = Finding("iterator-rebuilt", "a title", Location("train.py", 10), 0.2, ())
    parts = {part.name: part.seconds for part in account_of(run, [found]).stretches[-1].parts}
    assert parts["starting an iterator"] == pytest.approx(0.1)
