"""What `fix --brief` hands to a person or a coding agent."""

from __future__ import annotations

from dataclasses import replace

from unslow.analyse.sketches.sketch import Sketch
from unslow.model import Diagnosis, Evidence, Finding, Fix, Location, Refusal, Safety
from unslow.report import brief
from unslow.report.view.brief import briefs_of

SOURCE = "import tensorflow as tf\n\n\ndef step(x):\n    y = tf.sqrt(x)\n    return y.numpy()\n"


def diagnosis(answer: Fix | Refusal | None) -> Diagnosis:
    run = replace(Sketch("any").run(), sources={"train.py": SOURCE}, folder="a folder/run")
    finding = Finding(
        "eager-calls",
        "`step` runs op by op",
        Location("train.py", 5, "step"),
        3.0,
        (Evidence("ops per second", 900),),
        advice="Compile it.",
    )
    fixes = {} if answer is None else {0: answer}
    return Diagnosis(run, (finding,), fixes, (), 0.0, 0.0, 0.0)


def test_a_refusal_is_told_with_its_line_and_the_whole_function() -> None:
    found = diagnosis(Refusal("`.numpy()` needs the value", Location("train.py", 6)))
    text = brief.dumps(briefs_of(found), "python train.py")
    assert "needs the value" in text and "train.py:6" in text
    assert "from line 4" in text and "return y.numpy()" in text
    assert "unslow prove 'a folder/run' --diff my.patch" in text


def test_a_cause_without_an_edit_says_so() -> None:
    (row,) = briefs_of(diagnosis(None))
    assert row["no_diff"] == "no automatic edit exists for this form of the cause"
    assert row["cure"].startswith("Put the body of the loop")


def test_a_finding_with_a_fix_needs_no_brief() -> None:
    assert briefs_of(diagnosis(Fix("compile it", Safety.CLOSE, {"train.py": ""}))) == []


def test_only_costs_that_there_are_are_named_and_numbers_are_plain() -> None:
    found = diagnosis(None)
    finding = replace(found.findings[0], seconds=0.0, frees=2e9)
    finding = replace(finding, evidence=(Evidence("peak", "2.67 GB"), Evidence("first", "1. line")))
    text = brief.dumps(briefs_of(replace(found, findings=(finding,))), "python train.py")
    assert "**What it costs**: 2.00 GB of the peak.\n" in text
    assert "- peak: 2.67 GB\n- first: 1\\. line\n" in text
