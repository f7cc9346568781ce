"""Two runs compared: loops matched through edits, verdicts that noise cannot reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import by_id
from unslow.compare import Change, Comparison, compare
from unslow.compare.match import line_map, matched_loops
from unslow.compare.view import view_of
from unslow.diagnose import diagnose
from unslow.model import Diagnosis, Finding, Fix, Phase, Proof, Run, Safety, Verdict
from unslow.report import comparison

SOURCE = "import tensorflow as tf\n\nfor step in range(100):\n    train()\n"


def diagnosed(run: Run) -> Diagnosis:
    return diagnose(run, [], with_fixes=False)


def run_of(level: float, seed: int, source: str = SOURCE, line: int = 3) -> Run:
    rng = np.random.default_rng(seed)
    run = Sketch("a run", list(level * rng.lognormal(0, 0.1, 400)), source=source).run()
    where = replace(run.loops[0].location, line=line)
    return replace(run, loops=(replace(run.loops[0], location=where),), ended="exit 0")


def compared(before: float, after: float) -> Comparison:
    return compare(diagnosed(run_of(before, 0)), diagnosed(run_of(after, 1)))


@pytest.mark.parametrize(
    ("after", "change"),
    [(0.013, Change.SLOWER), (0.007, Change.FASTER), (0.0101, Change.SAME)],
)
def test_a_clear_difference_has_a_direction(after: float, change: Change) -> None:
    (loop,) = compared(0.01, after).loops
    assert loop.change is change
    assert loop.low <= loop.speedup <= loop.high


def test_a_speedup_over_one_is_faster() -> None:
    (loop,) = compared(0.01, 0.005).loops
    assert loop.speedup == pytest.approx(2.0, rel=0.1)


def test_a_cause_that_is_no_longer_found_is_gone() -> None:
    sick = Sketch("collections", [0.01] * 100, phases={Phase.GC: 0.2}).run()
    well = Sketch("none", [0.01] * 100).run()
    found = compare(diagnose(sick, with_fixes=False), diagnose(well, with_fixes=False))
    assert found.gone == ("gc-pauses",) and not found.new


def test_a_busy_machine_makes_it_impossible_to_tell_and_fails_nothing() -> None:
    slow = diagnosed(run_of(0.1, 1))
    busy = Finding("noisy-machine", "others used the cores", None, 1.0, (), fault=False)
    found = compare(diagnosed(run_of(0.01, 0)), replace(slow, findings=(busy,)))
    assert found.loops[0].change is Change.UNKNOWN
    assert found.disturbed == "the machine was busy during the second run"
    assert not list(found.failures(0.05))


def test_a_slower_loop_fails_only_above_the_limit() -> None:
    found = compared(0.01, 0.013)
    assert list(found.failures(0.05)) and not list(found.failures(0.5))


@pytest.mark.parametrize("ended", ["exit 1", "killed by SIGKILL", "running"])
def test_a_run_that_crashed_fails(ended: str) -> None:
    crashed = diagnosed(replace(run_of(0.01, 1), ended=ended))
    assert any(ended in why for why in compare(diagnosed(run_of(0.01, 0)), crashed).failures(0.5))


def test_a_run_without_a_loop_fails() -> None:
    empty = diagnosed(replace(run_of(0.01, 1), loops=()))
    assert list(compare(diagnosed(run_of(0.01, 0)), empty).failures(0.5)) == [
        "the second run has no training loop"
    ]


def test_a_loop_is_found_again_where_lines_were_inserted_above_it() -> None:
    before = run_of(0.01, 0)
    after = run_of(0.01, 1, source=f"# one\n# two\n{SOURCE}", line=5)
    ((one, other),) = matched_loops(before, after)
    assert (one.location.line, other.location.line) == (3, 5)


def test_another_loop_of_the_same_file_is_no_counterpart() -> None:
    before = run_of(0.01, 0)
    source = f"{SOURCE}for other in range(3):\n    train()\n"
    after = run_of(0.01, 1, source=source, line=5)
    moved = replace(after.loops[0], location=replace(after.loops[0].location, function="other"))
    assert not matched_loops(before, replace(after, loops=(moved,)))


def test_lines_are_mapped_through_an_edit() -> None:
    assert line_map("a\nb\nc\n", "a\nx\ny\nb2\nc\n") == {1: 1, 3: 5}
    assert line_map("a\nb\nc\n", "a\nB\nc\n") == {1: 1, 2: 2, 3: 3}


def test_runs_in_turn_decide_the_headline_even_if_a_recording_was_disturbed() -> None:
    one, other = diagnosed(run_of(0.01, 0)), diagnosed(run_of(0.01, 1))
    busy = Finding("noisy-machine", "others used the cores", None, 1.0, (), fault=False)
    one = replace(one, findings=(busy,))
    times = ((0.01,) * 8, (0.012,) * 8)
    proof = Proof(Verdict.SLOWER, 0.83, 0.82, 0.84, *times, 50, None, None, "SLOWER")
    view = view_of(compare(one, other), one, other, proof)
    kind, answer = comparison.verdict(view)
    assert kind == "slower" and "in 8 + 8 runs in turn" in answer and "1.2× slower" in answer
    assert not [text for text in comparison.remarks(view) if "was busy" in text]


def test_a_comment_says_nothing_twice_and_names_the_cure() -> None:
    cause = by_id("retracing")
    assert cause is not None
    slow = diagnose(cause.FIRES[0].run())
    fix = Fix("pass `x` as a tensor", Safety.CLOSE, {"train.py": "new\n"}, "")
    slow = replace(slow, run=replace(slow.run, sources={"train.py": "old\n"}), fixes={0: fix})
    calm = replace(slow, findings=(), fixes={})
    proof = Proof(
        Verdict.SLOWER, 0.1, 0.006, 0.16, (0.01,) * 3, (0.1,) * 3, 50, None, None, "SLOWER: text"
    )
    text = comparison.as_markdown(view_of(compare(calm, slow), calm, slow, proof))
    found = slow.findings[0]
    assert f"**New: `retracing` at `{found.location}`: " in text
    assert text.count("retracing") == 1 and "SLOWER" not in text
    assert "(6.25–167× slower)" in text and text.count("× slower (") == 1
    assert "Fix: pass `x` as a tensor.\n\n```diff\n--- a/train.py\n" in text
