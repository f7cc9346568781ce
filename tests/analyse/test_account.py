"""One account: every second has a name, shares never exceed the whole, large overhead is never healthy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.examples import RECORDED, diagnosis_of
from unslow.analyse.account import account_of
from unslow.analyse.account_parts import Kind
from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.analyse.stretches import IMPORT, PROGRAM, SETUP, TRAINING, stretch_at
from unslow.diagnose import diagnose
from unslow.facts.functions import CallProfile, UnusualCall
from unslow.facts.process import ITERATOR_END
from unslow.facts.schema import Place
from unslow.model import Finding, Location, Phase, Run, Sample
from unslow.report.view import view_of
from unslow.report.view.loops import loop_of

HERE = Location("train.py", 12)


def finding(seconds: float, stretch: str = "") -> Finding:
    return Finding("retracing", "a title", HERE, seconds, (), stretch=stretch)


def sampled(leaf: str, bins: tuple[tuple[float, float, int], ...], phase: Phase) -> Sample:
    return Sample((HERE,), leaf, 0, True, 0, 0, 0, phase, bins)


def parts(run: Run, findings: list[Finding], name: str) -> dict[tuple[str, Kind], float]:
    stretches = [found for found in account_of(run, findings).stretches if found.name == name]
    return {(p.name, p.kind): p.seconds for found in stretches for p in found.parts}


def test_a_finding_explains_overhead_before_compute() -> None:
    run = Sketch("", [0.01] * 101, phases={Phase.RUN: 0.5, Phase.TRACE: 0.5}).run()
    found = parts(run, [finding(0.4)], TRAINING)
    assert found["retracing", Kind.FINDING] == pytest.approx(0.4)
    assert found["tracing functions", Kind.WASTE] == pytest.approx(0.1)
    assert found["TensorFlow runs", Kind.COMPUTE] == pytest.approx(0.505)


def compiled_first(seconds: float) -> Run:
    """A first step of 10 s in which a window saw XLA compile for 8 s."""
    where = (Place("train.py", 12, "<module>"),)
    call = UnusualCall(name="step", why=("first", "traced"), took=9.5, jit=True, stack=where)
    seen = CallProfile(call=9.0, prepare=0.4, compile=8.0, run=0.6)
    phases = {Phase.TRACE: [0.05, *([0.0] * 99)], Phase.RUN: [0.95, *([1.0] * 99)]}
    facts = [at(1, call.replace(**seen._asdict()))]
    return Sketch("", [10.0, *([seconds] * 99)], phases, facts, style="function").run()


def test_what_the_first_run_compiles_is_its_preparation_and_no_compute() -> None:
    found = parts(compiled_first(0.1), [], TRAINING)
    assert found["preparing the first step", Kind.KNOWN] == pytest.approx(0.5 + 8.4)
    assert found["TensorFlow runs", Kind.COMPUTE] == pytest.approx(9.5 - 8.4 + 9.9)


def test_what_is_found_in_the_first_step_takes_from_its_preparation() -> None:
    saved = replace(finding(6.0), in_first_step=True)
    found = parts(compiled_first(0.1), [saved], TRAINING)
    assert found["preparing the first step", Kind.KNOWN] == pytest.approx(0.5 + 8.4 - 6.0)
    assert found["TensorFlow runs", Kind.COMPUTE] == pytest.approx(9.5 - 8.4 + 9.9)


def test_findings_never_claim_more_than_there_is() -> None:
    run = Sketch("", [0.01] * 100, phases={Phase.RUN: 1.0}).run()
    account = account_of(run, [finding(0.8), finding(0.8)])
    claimed = sum(part.seconds for part in account.parts(Kind.FINDING))
    assert claimed == pytest.approx(1.0)
    assert account.overlap == pytest.approx(0.6)


def test_own_python_in_the_steps_that_nothing_names_is_the_rest() -> None:
    run = Sketch("", [0.01] * 100, phases={Phase.RUN: 0.4}, before=0.0).run()
    account = account_of(run, [])
    assert account.unexplained == pytest.approx(0.6)
    assert not account.complete


def test_large_overhead_without_a_finding_is_not_complete() -> None:
    run = Sketch("", [0.1] * 100, phases={Phase.RUN: 0.7, Phase.SAVE: 0.3}).run()
    account = account_of(run, [])
    assert [part.name for part in account.uncovered] == ["saving"]
    assert not account.complete
    assert account_of(run, [finding(3.0)]).complete


def test_ops_called_one_by_one_that_no_finding_covers_are_not_complete() -> None:
    source = "\n" * 9 + "for x in data:\n    train(x)\n    model(x)\n"
    samples = [
        Sample((HERE,), "tensorflow", 0, True, 50, 0, 50, Phase.OTHER, ((1.0, 2.0, 50),)),
    ]
    phases = {Phase.RUN: 0.5}
    sketch = Sketch("", phases=phases, style="function", samples=samples, source=source)
    account = account_of(sketch.run(), [])
    [part] = account.uncovered
    assert (part.name, part.location) == ("calling ops one by one", HERE)
    assert part.seconds == pytest.approx(0.5)
    assert not account.complete
    assert not account_of(sketch.run(), [finding(0.45)]).uncovered
    assert not account_of(replace(sketch, source="").run(), []).uncovered, "it is not repeated"
    assert not account_of(replace(sketch, seconds=[0.3] * 3).run(), []).uncovered, "no habit"


def test_the_same_after_the_last_step_is_not_complete() -> None:
    source = "\n" * 10 + "for x in data:\n    model(x)\n"
    samples = [sampled("tensorflow", ((2.0, 4.0, 100),), Phase.OTHER)]
    phases = {Phase.RUN: 1.0}
    run = Sketch("", phases=phases, samples=samples, source=source, after=2.0).run()
    assert [part.seconds for part in account_of(run, []).uncovered] == [pytest.approx(2.0)]


def test_what_first_steps_pay_for_once_is_no_overhead() -> None:
    trace = [0.9] + [0.0] * 99
    run = Sketch("", [5.0] + [0.1] * 99, phases={Phase.RUN: 0.1, Phase.TRACE: trace}).run()
    assert "tracing functions" not in {part.name for part in account_of(run, []).uncovered}


def test_the_first_steps_of_a_few_models_are_no_overhead_and_those_of_many_are() -> None:
    def uncovered(turns: int) -> list[str]:
        seconds = ([1.0] + [0.01] * 99) * turns
        trace = ([0.9] + [0.0] * 99) * turns
        run = Sketch("", seconds, {Phase.TRACE: trace, Phase.RUN: 0.1}).run()
        return [part.name for part in account_of(run, []).uncovered]

    assert uncovered(3) == []
    assert uncovered(6) == ["tracing functions"]


def test_the_end_of_an_iterator_is_not_your_own_python() -> None:
    loop = Location("train.py", 10)
    waiting = Sample((loop,), ITERATOR_END, 0, True, 10, 10, 20)
    run = Sketch("", [0.01] * 100, {Phase.RUN: 0.6}, samples=[waiting]).run()
    found = parts(run, [], TRAINING)
    assert found["ending an iterator", Kind.KNOWN] == pytest.approx(0.4)


def test_time_before_the_steps_is_named_by_its_samples() -> None:
    samples = [
        sampled("numpy", ((0.0, 2.0, 30),), Phase.OTHER),
        sampled("tensorflow", ((0.0, 2.0, 10),), Phase.OTHER),
    ]
    run = Sketch("", [0.1] * 10, phases={Phase.RUN: 1.0}, before=2.0, samples=samples).run()
    found = parts(run, [], SETUP)
    assert found["your own Python", Kind.KNOWN] == pytest.approx(1.5)
    assert found["your calls to TensorFlow", Kind.KNOWN] == pytest.approx(0.5)


def test_a_finding_outside_of_the_steps_is_counted_in_its_stretch() -> None:
    samples = [sampled("tensorflow", ((0.0, 2.0, 10),), Phase.OTHER)]
    run = Sketch("", [0.1] * 10, phases={Phase.RUN: 1.0}, before=2.0, samples=samples).run()
    assert parts(run, [finding(1.2, SETUP)], SETUP)["retracing", Kind.FINDING] == pytest.approx(1.2)
    assert Kind.FINDING not in {kind for _, kind in parts(run, [finding(1.2, SETUP)], TRAINING)}


def test_time_that_nobody_sampled_is_unexplained() -> None:
    run = Sketch("", [0.1] * 10, phases={Phase.RUN: 1.0}, before=5.0).run()
    assert account_of(run, []).unexplained == pytest.approx(5.0)


@pytest.mark.parametrize("recording", sorted(RECORDED.glob("*.zip")), ids=lambda path: path.stem)
def test_the_account_of_every_recording_adds_up(recording: Path) -> None:
    diagnosis = diagnosis_of(recording)
    account = diagnosis.account
    assert account is not None
    for stretch in account.stretches:
        assert all(part.seconds >= 0 for part in stretch.parts)
        assert sum(part.seconds for part in stretch.parts) <= 1.001 * stretch.seconds + 1e-6
    assert account.seconds <= 1.05 * max(process.ended for process in diagnosis.run.processes)
    assert IMPORT in {stretch.name for stretch in account.stretches}


def test_the_rest_of_a_loop_is_split_as_the_account_splits_it() -> None:
    between = [
        Sample((HERE,), leaf, 0, True, count, 0, count, Phase.OTHER)
        for leaf, count in (("tensorflow", 30), ("python", 10))
    ]
    run = Sketch("", [0.01] * 100, phases={Phase.RUN: 0.6}, samples=between).run()
    bars = {bar["phase"]: bar["seconds"] for bar in loop_of(run, run.loops[0])["bars"]}
    found = parts(run, [], TRAINING)
    assert bars["called"] == pytest.approx(found["your calls to TensorFlow", Kind.COMPUTE])
    assert bars["other"] == pytest.approx(found["your own Python", Kind.REST])
    assert bars["called"] == pytest.approx(0.3)


def test_the_wait_for_data_inside_compiled_steps_is_no_run() -> None:
    stages = (Made("TensorSlice", line=5), Made("Map", line=7, busy=0.008))
    facts = pipeline_facts(*stages, wait=0.006, in_python=False)
    run = Sketch("", phases={Phase.RUN: 0.95}, facts=facts, style="keras").run()
    found = parts(run, [], TRAINING)
    (row,) = view_of(diagnose(run))["loops"]
    bars = {bar["phase"]: bar["seconds"] for bar in row["bars"]}
    assert found["waiting for data", Kind.WASTE] == pytest.approx(0.6, rel=0.05)
    assert bars["input"] == pytest.approx(found["waiting for data", Kind.WASTE])
    assert bars["run"] == pytest.approx(found["TensorFlow runs", Kind.COMPUTE])


def test_a_run_without_loops_is_the_program() -> None:
    samples = [sampled("tensorflow", ((0.0, 2.0, 10),), Phase.OTHER)]
    run = Sketch("", [], before=2.0, samples=samples).run()
    names = [stretch.name for stretch in account_of(run, []).stretches]
    assert PROGRAM in names and SETUP not in names
    assert stretch_at(run, 0, 1.0) == PROGRAM


def test_what_all_workers_wait_is_claimed_once_per_worker() -> None:
    """The account is of one process; a finding's seconds are of all that train together."""
    usual = {"input": 0.004, "python": 0.001}
    late = Hand({"input": 0.034, "python": 0.001})
    run = JobSketch("a job", workers=(Hand(usual), late), steps=200).run()
    found = parts(run, list(diagnose(run).findings), TRAINING)
    assert found["straggler", Kind.FINDING] == pytest.approx(200 * 0.03, rel=0.1)
