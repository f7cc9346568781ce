"""Two runs side by side."""

from __future__ import annotations

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.compare import Comparison, compare
from unslow.diagnose import diagnose
from unslow.model import Phase


def compared(before: float, after: float) -> Comparison:
    rng = np.random.default_rng(0)
    runs = [
        Sketch("a run", list(level * rng.lognormal(0, 0.1, 400))).run() for level in (before, after)
    ]
    one, other = (diagnose(run, [], with_fixes=False) for run in runs)
    return compare(one, other)


def test_a_run_that_is_slower_is_surely_so() -> None:
    (loop,) = compared(0.01, 0.012).loops
    assert loop.low > 1.1 and loop.high < 1.3


def test_a_run_against_itself_has_one_inside_its_interval() -> None:
    (loop,) = compared(0.01, 0.01).loops
    assert loop.low < 1 < loop.high


def test_a_cause_that_is_no_longer_found_is_gone() -> None:
    sick = Sketch("collections", [0.01] * 100, phases={Phase.GC: 0.2}).run()
    well = Sketch("none", [0.01] * 100).run()
    found = compare(diagnose(sick, with_fixes=False), diagnose(well, with_fixes=False))
    assert found.gone == ("gc-pauses",) and not found.new
