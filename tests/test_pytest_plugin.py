"""What the pytest plugin says about a recorded test; the plugin in a real pytest is in tests/live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import by_id
from unslow.diagnose import diagnose
from unslow.model import Diagnosis
from unslow.pytest_plugin import Limits, exceeded, limits_of


def steady(**lost: str) -> Diagnosis:
    return diagnose(Sketch("steady", [0.01] * 100, lost=lost).run(), with_fixes=False)


def test_a_step_within_its_limit_passes() -> None:
    assert exceeded(steady(), Limits(max_step=0.02)) == []


def test_a_step_beyond_its_limit_is_named_with_both_numbers() -> None:
    assert exceeded(steady(), Limits(max_step=0.005)) == [
        "train.py:10: a step takes 0.01 s, 0.005 s allowed"
    ]


def test_a_cause_that_must_not_be_there_is_named() -> None:
    cause = by_id("gc-pauses")
    assert cause is not None
    diagnosis = diagnose(cause.FIRES[0].run(), [cause], with_fixes=False)
    assert exceeded(diagnosis, Limits(no=("retracing",))) == []
    assert "gc-pauses" in exceeded(diagnosis, Limits(no=("gc-pauses",)))[0]


def test_a_cause_that_was_not_judged_does_not_pass() -> None:
    (problem,) = exceeded(steady(gc="broken"), Limits(no=("gc-pauses",)))
    assert problem.startswith("gc-pauses could not be judged")


def test_a_test_that_trains_nothing_does_not_pass() -> None:
    diagnosis = diagnose(Sketch("nothing", ()).run(), with_fixes=False)
    assert exceeded(diagnosis, Limits()) == ["unslow saw no training step in this test"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), {"max_stp": 1}), "max_stp"),
        (((0.5,), {}), "0.5"),
        (((), {"no": ["retracin"]}), "retracing"),
    ],
    ids=["misspelled option", "bare number", "misspelled cause"],
)
def test_a_wrong_marker_is_an_error(arguments: tuple[Any, dict[str, Any]], message: str) -> None:
    marker = pytest.Mark("unslow", *arguments, _ispytest=True)
    with pytest.raises(pytest.UsageError, match=message):
        limits_of(marker)


def test_pytest_finds_the_plugin() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nunslow = "unslow.pytest_plugin"\n' in project
