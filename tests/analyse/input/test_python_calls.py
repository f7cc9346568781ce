"""Which line of the user's Python makes the data."""

from __future__ import annotations

from collections import Counter

import pytest

from unslow.analyse.input.python_calls import SHORT_CALL, hottest, lines_inside
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.data import PythonFunction, PythonLine
from unslow.facts.schema import Place
from unslow.model import Location
from unslow.record.probes.data import python_functions

SOURCE = """def prepare(row):
    return [float(value) for value in row]

def batches(reader):
    for row in reader:
        row = prepare(row)
        yield row

def energy(clip):
    clip = clip.numpy()
    total = 0.0
    for value in clip:
        total += value * value
        total -= 1.0
    return total
"""


def hot(**samples: int) -> int:
    """The line that is reported for stacks such as `at_5` or `at_2_6`, innermost first."""
    counts = Counter(
        {
            tuple(Location("train.py", int(line)) for line in name.split("_")[1:]): count
            for name, count in samples.items()
        }
    )
    found = hottest(Sketch("", source=SOURCE).run(), counts)
    assert found is not None
    return found.line


def test_what_a_line_calls_is_reported_where_it_takes_longer() -> None:
    assert hot(at_2_6=80, at_6=10, at_7=10) == 2


def test_a_reader_that_takes_the_time_is_reported_and_not_the_yield() -> None:
    assert hot(at_5=90, at_7=10) == 5


def test_a_loop_whose_time_is_in_its_body_is_reported_by_its_hottest_line() -> None:
    assert hot(at_5=40, at_6=35, at_7=25) == 6


def test_the_lines_of_one_loop_count_together() -> None:
    assert hot(at_10=12, at_13=11, at_14=9) == 13


def line_of_a_function_whose_calls_take(seconds: float) -> int:
    """Samples fell on line 10, which releases Python's lock; the traced calls spent it in 13."""
    function = Place("train.py", 9, "energy")
    releases, computes = Place("train.py", 10, "energy"), Place("train.py", 13, "energy")
    facts = [
        at(90, PythonFunction(token="f", place=function, count=500, took=500 * seconds)),
        at(90, PythonLine(token="f", stack=(releases,), count=40)),
        at(90, PythonLine(token="f", stack=(computes,), count=30.0, way="traced")),
    ]
    run = Sketch("", source=SOURCE, facts=facts).run()
    found = hottest(run, lines_inside(run, 0, {"f"}))
    assert found is not None
    return found.line


def test_a_call_is_short_where_the_probe_says_so() -> None:
    assert pytest.approx(python_functions._SHORT / 1e9) == SHORT_CALL


def test_samples_of_short_calls_do_not_outweigh_what_was_traced() -> None:
    assert line_of_a_function_whose_calls_take(0.0005) == 13
    assert line_of_a_function_whose_calls_take(0.02) == 10
