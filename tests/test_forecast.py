"""What grows: the forecast made from the first half of a recording, against what its second half did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import EXAMPLES, Example
from tests.halves import whole_and_half
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import by_id
from unslow.diagnose import diagnose
from unslow.facts.files import Folder
from unslow.model import Finding, Loop, Phase, Run

WITHIN = 0.2
MEMORY = (
    "graph_growth",
    "graph_growth_assign",
    "graph_growth_deep",
    "graph_growth_gradients",
    "graph_growth_helper",
    "graph_growth_method",
    "hoarded_tensors",
    "native_growth",
    "variables_in_loop_kept",
    "file_growth",
)
TIME = ("graph_growth_method", "graph_growth_keras", "python_overhead", "slow_callbacks_growing")


def growing(run: Run, cause: str | None) -> Finding:
    findings = diagnose(run, with_fixes=False).findings
    return next(finding for finding in findings if finding.cause == cause and finding.grows)


def longest(run: Run) -> Loop:
    return max(run.loops, key=lambda loop: loop.total)


def held(run: Run, finding: Finding) -> tuple[Any, Any]:
    """Steps, and the bytes that were held at them: in the folder that fills, or in the process."""
    if finding.cause == "file-growth":
        seen = [folder for folder in run.facts(Folder) if folder.holds == "checkpoints"]
        return [folder.step for folder in seen], [folder.bytes for folder in seen]
    ticks = run.processes[0].ticks
    return ticks.columns["steps"], ticks.columns["rss"]


def late(loop: Loop, rows: int) -> tuple[float, float]:
    """The step in the middle of the last rows, and what a step takes there."""
    return float(np.mean(loop.number[-rows:])), float(np.median(loop.seconds[-rows:]))


@pytest.mark.parametrize("name", MEMORY)
def test_memory_grows_as_its_first_half_says(name: str, tmp_path: Path) -> None:
    example = Example(EXAMPLES / f"{name}.py")
    whole, half = whole_and_half(example, tmp_path)
    finding = growing(half, example.expected)
    assert finding.forecast is not None and finding.forecast.bytes is not None
    rate = finding.forecast.bytes / finding.forecast.step
    middle, last = longest(half).steps, longest(whole).steps
    at_middle, at_last = np.interp([middle, last], *held(whole, finding))
    assert rate == pytest.approx((at_last - at_middle) / (last - middle), rel=WITHIN)


@pytest.mark.parametrize("name", TIME)
def test_steps_take_as_long_as_their_first_half_says(name: str, tmp_path: Path) -> None:
    example = Example(EXAMPLES / f"{name}.py")
    whole, half = whole_and_half(example, tmp_path)
    forecast = growing(half, example.expected).forecast
    assert forecast is not None and forecast.step_seconds is not None
    if any(
        finding.cause == "noisy-machine" for finding in diagnose(whole, with_fixes=False).findings
    ):
        pytest.skip("the machine was busy with something else, now more and now less")
    rows = len(longest(half).seconds) // 8
    middle, now = late(longest(half), rows)
    last, then = late(longest(whole), rows)
    per_step = (forecast.step_seconds - now) / (forecast.step - middle)
    assert now + per_step * (last - middle) == pytest.approx(then, rel=WITHIN)


def test_pauses_of_the_collector_grow_as_their_first_half_says() -> None:
    pauses = [2e-5 * step for step in range(400)]
    seconds = [0.01 + pause for pause in pauses]
    shares = [pause / second for pause, second in zip(pauses, seconds, strict=True)]
    half = Sketch("the first half", seconds[:200], phases={Phase.GC: shares[:200]}).run()
    cause = by_id("gc-pauses")
    assert cause is not None
    (finding,) = cause.detect(half)
    assert finding.forecast is not None and finding.forecast.step_seconds is not None
    per_step = (finding.forecast.step_seconds - seconds[199]) / (finding.forecast.step - 200)
    assert seconds[199] + 200 * per_step == pytest.approx(seconds[399], rel=WITHIN)
