"""Every style of training loop: steps counted exactly, phases that add up, the user's line, the same output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.conftest import EXAMPLES, Recorded, header, marked

STYLES = sorted((EXAMPLES / "styles").glob("*.py"))


@pytest.mark.parametrize("script", STYLES, ids=lambda path: path.stem)
def test_a_style_is_cut_into_its_steps_and_prints_what_it_prints_alone(
    script: Path, record: Callable[..., Recorded], alone: Callable[[Path], tuple[str, int]]
) -> None:
    recorded = record(script)
    loops = recorded.report["loops"]
    assert [loop["steps"] for loop in loops] == [int(word) for word in header(script, "steps")]
    assert [loop["line"] for loop in loops] == [
        f"{script.name}:{line}" for line in marked(script, "loop")
    ]
    for loop in loops:
        assert sum(loop["phases"].values()) == pytest.approx(loop["seconds"], rel=0.01)
    assert (recorded.done.stdout, recorded.done.returncode) == alone(script)
