"""When the verdict on a running training is known, and what is judged of a run recorded that way."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, Example
from unslow.analyse.run.assemble import load
from unslow.cli import main
from unslow.diagnose import diagnose
from unslow.live.judge import Judge
from unslow.live.known import Stability


def judged(judge: Judge, *causes: str) -> Judge:
    judge.judged += 1
    judge.certain = [
        {"cause": cause, "location": {"file": "train.py", "line": 7}} for cause in causes
    ]
    return judge


def known_at(verdicts: list[tuple[float, tuple[str, ...]]], wanted: float) -> float | None:
    stability, judge = Stability(wanted), Judge()
    for now, causes in verdicts:
        if stability.is_known(judged(judge, *causes), now):
            return now
    return None


def test_the_same_verdict_for_the_wanted_time_is_known() -> None:
    verdicts = [(at, ("retracing",)) for at in (4.0, 10.0, 20.0, 36.0, 62.0, 104.0)]
    assert known_at(verdicts, 60) == 104.0
    assert known_at(verdicts, 20) == 36.0


def test_another_finding_starts_the_time_again() -> None:
    before = [(at, ("retracing",)) for at in (4.0, 10.0, 20.0)]
    after = [(at, ("retracing", "input-bound")) for at in (36.0, 62.0, 104.0)]
    assert known_at([*before, *after], 60) == 104.0
    assert known_at([*before, *after], 70) is None


def test_no_problem_found_is_a_verdict() -> None:
    assert known_at([(at, ()) for at in (4.0, 10.0, 80.0)], 60) == 80.0


def test_one_diagnosis_is_never_enough() -> None:
    stability, judge = Stability(0.0), judged(Judge(), "retracing")
    assert not stability.is_known(judge, 1e6) and not stability.is_known(judge, 2e6)


def at_lowest_rate(example: Example, place: Path, share: float) -> Path:
    """A recording as if its process had been asked for the lowest rate after a share of its lines."""
    with zipfile.ZipFile(example.recording) as packed:
        packed.extractall(place)
    log = max(place.glob("*.events"), key=lambda each: each.stat().st_size)
    lines = log.read_text().splitlines()
    times = [json.loads(line)["t"] for line in lines]
    moment = int(min(times) + share * (max(times) - min(times)))
    fact = json.dumps({"k": "lowest_rate", "t": moment, "steps": 1})
    log.write_text("\n".join([*lines, fact]) + "\n")
    return place


@pytest.mark.parametrize("name", ["retracing", "input_bound_fit"])
def test_the_part_in_detail_is_judged_and_the_rest_is_named(name: str, tmp_path: Path) -> None:
    example = Example(EXAMPLES / f"{name}.py")
    run = load(str(at_lowest_rate(example, tmp_path / "run", 0.8)))
    diagnosis = diagnose(run, with_fixes=False)
    assert diagnosis.findings[0].cause == example.expected
    assert "since then" in run.at_lowest_rate and "steps" in run.at_lowest_rate
    assert run.processes[0].ended == pytest.approx(run.seconds)


def test_a_run_in_detail_to_its_end_says_nothing_of_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(Example(EXAMPLES / "retracing.py").recording) as packed:
        packed.extractall(tmp_path)
    assert load(str(tmp_path)).at_lowest_rate == ""


def test_a_wrong_time_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "--until", "tomorrow", "train.py"])
    assert left.value.code == 2 and "write known, or known:5m" in capsys.readouterr().err
