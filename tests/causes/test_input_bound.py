"""Elements that are made and thrown away, and pipelines that are all that a program does."""

from __future__ import annotations

from typing import Any

import pytest

from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.causes.input_bound import InputBound
from unslow.diagnose import diagnose
from unslow.facts.data import BuiltStage, Dataset, IteratorMade, ModelNode, PipelineReading
from unslow.facts.schema import Place
from unslow.model import Certainty, Diagnosis, Finding, Phase
from unslow.report.view import view_of

_SKETCHES = {sketch.says: sketch for sketch in (*InputBound.FIRES, *InputBound.QUIET)}


def only_finding(says: str) -> Finding:
    (found,) = InputBound().detect(_SKETCHES[says].run())
    return found


@pytest.mark.parametrize(
    ("says", "share"),
    [
        ("three of four elements are made for other workers", "75%"),
        ("nothing trains, and each of four iterators skips as much as it takes", "50%"),
    ],
)
def test_the_line_that_throws_away_is_named_with_the_map_that_works(says: str, share: str) -> None:
    found = only_finding(says)
    assert str(found.location) == "train.py:6"
    assert f"throws away {share} of what the map at train.py:5 makes" in found.title


def test_a_validation_is_charged_for_what_it_throws_away() -> None:
    found = only_finding("a validation for whose elements 2 times as many are made")
    assert found.title.startswith("each validation throws away 25 elements")
    assert found.seconds == pytest.approx(3 * 25 * 0.018 / 2 / 2)  # two threads, and half of it


def own_work(**more: Any) -> Diagnosis:
    """Nothing trains, and 85 ms of 100 ms are waiting for a map that uses both cores."""
    source = Made("TensorSlice", 1e-4, line=4)
    work = Made("ParallelMap", 0.17, parallelism=2, tuned=True, asynchronous=True, line=5)
    return diagnose(
        Sketch(
            *("the pipeline only", [0.1] * 200),
            phases={Phase.INPUT: 0.85, Phase.RUN: 0.15},
            style="data",
            trains=False,
            facts=pipeline_facts(source, work, wait=0.085, steps=200),
            **more,
        ).run()
    )


def test_a_program_that_only_runs_its_pipeline_is_told_so() -> None:
    diagnosis = own_work()
    assert [(one.cause, one.fault) for one in diagnosis.findings] == [("input-bound", False)]
    text = view_of(diagnosis)["verdict"]["text"]
    assert "No problem found" in text
    assert "The pipeline's own work takes 85% of a step, in 2 threads, at train.py:5" in text


def test_a_busy_machine_is_no_reason_to_be_silent_about_it() -> None:
    cpu = {"ran": 0.4, "user_cpu": 0.4, "machine_cpu": 1.0, "waited": 1.0}
    diagnosis = own_work(
        ticks={name: [5 * each * of for of in range(5)] for name, each in cpu.items()}
    )
    assert [one.cause for one in diagnosis.findings] == ["noisy-machine", "input-bound"]
    assert "at train.py:5" in view_of(diagnosis)["verdict"]["text"]


def _turn(number: int, skipped: int, source: int = 100) -> list[Placed]:
    """A turn of a loop over `dataset.skip(number * 10).take(10)`."""
    stages = (
        BuiltStage(kind="Take", stack=stack_at(6), inputs=(1,), count=10, length=10),
        BuiltStage(
            kind="Skip", stack=stack_at(6), inputs=(2,), count=skipped, length=100 - skipped
        ),
        BuiltStage(kind="TensorSlice", stack=stack_at(4), length=source),
    )
    names = ["Root", "FiniteTake", "FiniteSkip", "TensorSlice"]
    nodes = tuple(
        ModelNode(id=each, name=name, inputs=(each + 1,) if each < 4 else (), elements=10.0)
        for each, name in enumerate(names, start=1)
    )
    made = IteratorMade(iterator=number, dataset=number, stack=stack_at(8), n=number)
    reading = PipelineReading(iterator=number, dataset=number, step=10, elements=10, nodes=nodes)
    facts = [Dataset(dataset=number, stages=stages), made, reading]
    return [at(10 * number, fact) for fact in facts]


@pytest.mark.parametrize(("source", "expected"), [(100, [20]), (200, [10, 10])])
def test_turns_that_skip_another_number_share_one_pipeline(
    source: int, expected: list[int]
) -> None:
    facts = [*_turn(1, 0), *_turn(2, 10, source)]
    assert [one.batches for one in pipelines(Sketch("turns", facts=facts).run())] == expected


def test_a_stage_whose_work_was_never_seen_is_a_guess_without_a_time() -> None:
    source = Made("TensorSlice", 0.0, line=4, elements=0)
    asked = BuiltStage(kind="Map", function=Place("train.py", 3, "load"))
    decode = Made("ParallelMap", 0.0, line=5, elements=0, asynchronous=True, asked=asked)
    buffers = (Made("Shuffle", 0.02, line=6), Made("Prefetch", line=7, asynchronous=True))
    facts = pipeline_facts(source, decode, *buffers, wait=0.006)
    run = Sketch("", phases={Phase.INPUT: 0.6, Phase.RUN: 0.3}, facts=facts).run()
    [finding] = diagnose(run, [InputBound()]).findings
    assert "whose work was done before it could be read" in finding.title
    assert finding.certainty is Certainty.LIKELY
    assert "0 µs" not in finding.title
    assert [item.label for item in finding.evidence] == [
        *("wait per step", "share of the step", "measured by", "likely stage")
    ]
