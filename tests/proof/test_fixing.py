"""Several fixes are proved as one change, and peeled back where that is not proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import load
from unslow.causes.gc_pauses import _BY_PROGRAM
from unslow.model import Diagnosis, Finding, Location, Proof, Quality, Run, Verdict
from unslow.planning import fixes_for
from unslow.proof import fixing
from unslow.proof.fixing import Outcome, Wanted, planned, proved
from unslow.proof.question import Question
from unslow.proof.trials import Side

SOURCE = "import gc\nfor s in data:\n    gc.collect()\n    train()\n    gc.collect()\n"
OTHER_WEIGHTS = Quality(seeds=6, before=1.0, after=1.0, worst_gap=0.1, margin=0.2, same=True)


def proof(verdict: Verdict, quality: Quality | None = None) -> Proof:
    return Proof(verdict, 2.0, 1.9, 2.1, (2.0,), (1.0,), 10, 0.0, 0.0, "", quality=quality)


@pytest.fixture
def diagnosis(tmp_path: Path) -> Diagnosis:
    """Two findings, each of which has a fix of its own."""
    (tmp_path / "train.py").write_text(SOURCE)
    run = replace(Sketch("any").run(), cwd=str(tmp_path), sources={"train.py": SOURCE})
    findings = tuple(
        Finding("gc-pauses", "", Location("train.py", line), 1.0, (), detail=_BY_PROGRAM)
        for line in (3, 5)
    )
    fixes = fixes_for(findings, run, load()[0])
    return Diagnosis(run, findings, fixes, (), 0.0, 0.0, 0.0)


def test_two_findings_with_the_same_fix_are_one_change(diagnosis: Diagnosis) -> None:
    first = diagnosis.findings[0]
    after = replace(first, stretch="after the last step", seconds=0.5)
    twice = replace(
        diagnosis, findings=(first, after), fixes=dict.fromkeys((0, 1), diagnosis.fixes[0])
    )
    [outcome] = planned(twice)
    assert outcome.step.finding is first


Judge = Callable[[int], Proof]


@pytest.fixture
def outcomes(diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Outcome]]:
    """The outcomes when a proof depends on how many collections the change takes out."""

    def of(judge: Judge, wanted: Wanted | None = None) -> list[Outcome]:
        def side(run: Run, folder: str, texts: Mapping[str, str]) -> Side:
            return Side([], "", {"train.py": texts.get("train.py", SOURCE)})

        def answer(before: Side, after: Side, question: Question, progress: object) -> Proof:
            taken_out = [one.texts["train.py"].count("collect") for one in (before, after)]
            return judge(taken_out[0] - taken_out[1])

        monkeypatch.setattr(fixing, "side_of", side)
        monkeypatch.setattr(fixing, "prove", answer)
        return list(proved(diagnosis, "", wanted or Wanted(), lambda text: None))

    return of


def test_what_holds_together_is_proved_once(outcomes: Callable[..., list[Outcome]]) -> None:
    found = outcomes(lambda fixes: proof(Verdict.PROVED if fixes == 2 else Verdict.UNSURE))
    assert [outcome.accepted for outcome in found] == [True, True]
    assert found[0].proof is found[1].proof


def test_what_fails_together_is_proved_one_by_one(outcomes: Callable[..., list[Outcome]]) -> None:
    seen: list[int] = []

    def judge(fixes: int) -> Proof:
        seen.append(fixes)
        first_alone = fixes == 1 and len(seen) == 2
        return proof(Verdict.PROVED if first_alone else Verdict.RESULTS_DIFFER)

    found = outcomes(judge)
    assert seen == [2, 1, 1]
    assert [outcome.accepted for outcome in found] == [True, False]
    assert found[0].step.after["train.py"].count("collect") == 1


def test_other_weights_need_consent(outcomes: Callable[..., list[Outcome]]) -> None:
    agreed = outcomes(lambda fixes: proof(Verdict.PROVED, OTHER_WEIGHTS))
    assert all(outcome.accepted for outcome in agreed)
    refused = outcomes(
        lambda fixes: proof(Verdict.PROVED, OTHER_WEIGHTS), Wanted(other_weights=False)
    )
    assert [outcome.lacks_consent for outcome in refused] == [True, True]
