"""A comparison of two recorded runs that are run again in turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.conftest import unslow
from tests.live.test_prove import script


@pytest.mark.slow
def test_both_processes_of_a_pair_are_timed_as_if_they_ran_alone(tmp_path: Path) -> None:
    for name, wait in (("before", "0.02"), ("after", "0.03")):
        (tmp_path / f"{name}.py").write_text(script(wait=wait))
        unslow(["run", "--quiet", "--out", name, f"{name}.py"], tmp_path)
    done = unslow(["compare", "before", "after", "--repeat", "2", "--format", "json"], tmp_path)
    proof = json.loads(done.stdout)["proof"]
    before, after = (min(proof[side]) for side in ("before", "after"))
    assert 0.015 < before < 0.03, done.stderr
    assert after > 1.2 * before, done.stderr
