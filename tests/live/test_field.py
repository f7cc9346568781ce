"""A quick part of the field suite: recorded as strangers' programs are, judged against the expert."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.field.measure import Ran, Turn
from bench.field.programs import EXPERT, PROGRAMS, TWIN, Program
from bench.field.score import judged
from unslow.cli.show import report_on, text_of

# Short ones of every kind: training and not, time and memory, sick and healthy.
QUICK = (
    "a_hmm_scan",
    "a_noisy_regress",
    "b_price_bars",
    "b_solar_panels",
    "c_item_factors",
    "c_ring_gan",
    "c_word_lm",
    "d_env_report",
    "d_lorenz_ensemble",
    "d_oneshot_siamese",
)
UNKNOWN = Turn(Path(), Ran(0.0, 0, 0), Ran(0.0, 0, 0), None)  # speed belongs to `make field`


def report_of(program: Program, place: Path) -> dict[str, Any]:
    folder = place / "program"
    shutil.copytree(program.folder, folder, ignore=shutil.ignore_patterns(EXPERT, TWIN))
    words = [
        sys.executable,
        "-m",
        "unslow",
        "run",
        "-q",
        "--out",
        str(place / "run"),
        *program.command,
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(text_of(report_on(str(place / "run"))[1], "json"))
    return found


@pytest.mark.parametrize("name", QUICK)
def test_the_answer_is_the_experts(name: str, tmp_path: Path) -> None:
    program = Program(PROGRAMS / name)
    score = judged(program, report_of(program, tmp_path), UNKNOWN)
    assert (score.right_cause, score.right_line, score.false_alarms) == (True, True, ()), score.said
