"""Stack samples, added up by place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from unslow.analyse.run.recorded import Recorded
from unslow.analyse.run.samples import samples_of
from unslow.facts.phase import Phase
from unslow.facts.process import Samples, StackSeen
from unslow.facts.schema import Place


@pytest.mark.parametrize(
    ("leaf", "phase", "told"),
    [
        ("numpy", Phase.OTHER, "numpy"),
        ("unslow", Phase.BUILD, "tensorflow"),
        ("unslow", Phase.GC, "python"),
    ],
)
def test_below_a_wrapper_of_ours_runs_what_the_wrapper_is_around(
    leaf: str, phase: Phase, told: str
) -> None:
    stack = (Place("train.py", 7, "main"),)
    seen = StackSeen(id=1, stack=stack, leaf=leaf, phase=int(phase))
    facts = {StackSeen: [seen], Samples: [Samples(since=0.0, time=1.0, counts=((1, 5),))]}
    process = cast(Recorded, SimpleNamespace(index=0, of=facts.__getitem__))
    (sample,) = samples_of(process, [])
    assert sample.leaf == told
