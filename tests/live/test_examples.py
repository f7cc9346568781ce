"""The examples for real: recorded, found first at the marked line, fixed; the key ones proved and quiet afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.examples import Example, all_examples
from tests.live.conftest import Recorded, unslow

# Recorded afresh in every test run; the others are covered by their recordings and by
# `make live-all`. The one that is proved is recorded there.
KEY = {"graph_growth", "retracing", "input_bound"}
PROVED = {"eager_step"}
SICK = [e for e in all_examples() if e.expected]
HEALTHY = [e for e in all_examples() if e.expected is None]


def slow_unless(examples: list[Example], key: set[str]) -> list[object]:
    return [
        pytest.param(
            example,
            id=example.name,
            marks=(
                *(() if example.path.stem in key else (pytest.mark.slow,)),
                *(
                    ()
                    if example.possible
                    else (pytest.mark.skip("the machine does not let it limit its memory"),)
                ),
            ),
        )
        for example in examples
    ]


@pytest.mark.parametrize("example", slow_unless(SICK, KEY))
def test_an_example_is_found_first_at_its_marked_line(
    example: Example, record: Callable[..., Recorded]
) -> None:
    assert_found_first(example, record(example.path).report)


def assert_found_first(example: Example, report: dict[str, Any]) -> None:
    first = report["findings"][0]
    assert first["cause"] == example.expected
    lines = example.lines(str(example.expected))
    assert not lines or first["location"]["line"] in lines


@pytest.mark.parametrize("example", slow_unless(HEALTHY, set()))
def test_a_healthy_example_stays_quiet(example: Example, record: Callable[..., Recorded]) -> None:
    report = record(example.path).report
    assert report["healthy"], [(one["cause"], one["title"]) for one in report["findings"]]


@pytest.mark.parametrize("example", slow_unless(SICK, PROVED))
def test_an_automatic_fix_is_proved_and_the_fixed_script_is_quiet(
    example: Example, tmp_path: Path
) -> None:
    script = tmp_path / example.path.name
    shutil.copy(example.path, script)
    for helper in example.path.parent.glob(f"{example.path.stem}_helpers"):
        shutil.copytree(helper, tmp_path / helper.name)
    assert unslow(["run", "--json", "before.json", script.name], tmp_path).returncode == 0
    assert_found_first(example, json.loads((tmp_path / "before.json").read_text()))
    fixed = unslow(["fix", "--only", str(example.expected), "--prove", "--apply"], tmp_path)
    assert fixed.returncode == 0, fixed.stderr
    if "no diff" in fixed.stderr or "wrote" not in fixed.stderr:
        pytest.skip(f"no automatic fix: {fixed.stderr.strip().splitlines()[-1]}")
    assert "PROVED" in fixed.stderr
    assert "unslow" not in script.read_text().replace("# unslow", "")
    assert unslow(["run", "--json", "after.json", script.name], tmp_path).returncode == 0
    after = json.loads((tmp_path / "after.json").read_text())
    assert example.expected not in [one["cause"] for one in after["findings"]]
