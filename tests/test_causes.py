"""Every cause: its words, its boundary in hand-made runs, and its silence on everybody else's recordings."""

from __future__ import annotations

import pytest

from tests.examples import Example, all_examples, diagnosis_of, marked
from unslow.cause import HEADINGS, Cause, load
from unslow.diagnose import diagnose

CAUSES, BROKEN = load()
RUNNING = [cause for cause in CAUSES if cause.ran]
FIRES = [(cause, sketch) for cause in RUNNING for sketch in cause.FIRES]
QUIET = [(cause, sketch) for cause in RUNNING for sketch in cause.QUIET]
RECORDED = [example for example in all_examples() if example.recording.exists()]


def label(value: object) -> str:
    return value.id if isinstance(value, Cause) else str(getattr(value, "says", value))


def test_every_cause_loads() -> None:
    assert not BROKEN


@pytest.mark.parametrize("cause", CAUSES, ids=label)
def test_a_cause_has_a_title_and_four_headings(cause: Cause) -> None:
    assert cause.title and all(heading in cause.words for heading in HEADINGS)


@pytest.mark.parametrize("cause", RUNNING, ids=label)
def test_a_cause_has_its_boundary_on_both_sides(cause: Cause) -> None:
    assert cause.FIRES and cause.QUIET


@pytest.mark.parametrize(("cause", "sketch"), FIRES, ids=label)
def test_a_cause_fires(cause: Cause, sketch: object) -> None:
    found = diagnose(sketch.run(), [cause], with_fixes=False)  # type: ignore[attr-defined]
    assert [finding.cause for finding in found.findings] == [cause.id] * max(
        1, len(found.findings)
    ), found.not_judged
    for finding in found.findings:
        assert finding.title and finding.evidence


@pytest.mark.parametrize(("cause", "sketch"), QUIET, ids=label)
def test_a_cause_stays_quiet(cause: Cause, sketch: object) -> None:
    found = diagnose(sketch.run(), [cause], with_fixes=False)  # type: ignore[attr-defined]
    assert not [finding for finding in found.findings if finding.fault]
    assert not [one for one in found.not_judged if "failed" in one.reason]


@pytest.mark.parametrize("example", RECORDED, ids=lambda example: example.name)
def test_only_what_an_example_names_is_found_in_its_recording(example: Example) -> None:
    diagnosis = diagnosis_of(example.recording)
    assert not [one for one in diagnosis.not_judged if "failed" in one.reason]
    faults = [finding for finding in diagnosis.findings if finding.fault]
    strangers = [
        (finding.cause, finding.title) for finding in faults if finding.cause not in example.allowed
    ]
    assert not strangers


@pytest.mark.parametrize(
    "example", [e for e in RECORDED if e.expected], ids=lambda example: example.name
)
def test_the_cause_that_an_example_names_comes_first_at_its_line(example: Example) -> None:
    diagnosis = diagnosis_of(example.recording)
    findings = diagnosis.findings
    assert findings and findings[0].cause == example.expected
    where = findings[0].location
    text = diagnosis.run.sources.get(where.file, "") if where is not None else ""
    lines = marked(text, str(example.expected))  # as it was recorded: the example may have moved on
    assert not lines or (where is not None and where.line in lines)
