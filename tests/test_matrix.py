"""The matrix of versions: what a cell runs, and how its results read."""

from __future__ import annotations

from subprocess import CompletedProcess

from bench import matrix
from tests.examples import EXAMPLES, Example, all_examples

RETRACING = Example(EXAMPLES / "retracing.py")


def test_a_full_cell_has_every_style_and_an_example_of_every_cause() -> None:
    chosen = set(matrix.scripts(every=False))
    assert set(matrix._styles()) <= chosen
    possible = {one.expected for one in all_examples() if one.expected and one.possible}
    there = {one.expected for one in all_examples() if one.path in chosen}
    assert there == possible
    assert chosen < set(matrix.scripts(every=True))
    assert {path.stem for path in chosen} >= set(matrix._QUICK)


def test_a_cause_at_another_line_is_wrong_and_one_that_is_not_judged_is_named() -> None:
    (line,) = RETRACING.lines("retracing")
    found = {"cause": "retracing", "location": {"line": line}}
    report = {"findings": [found], "not_judged": []}
    assert matrix._judged_example(RETRACING, report) == {"problem": ""}
    found["location"] = {"line": line + 1}
    assert "not [" in matrix._judged_example(RETRACING, report)["problem"]
    unjudged = {"findings": [], "not_judged": [{"cause": "retracing", "reason": "no door"}]}
    assert matrix._judged_example(RETRACING, unjudged) == {"problem": "", "unjudged": "no door"}


def test_the_page_counts_what_runs_and_names_what_differs() -> None:
    scripts = {
        "fit_dataset": {"problem": "", "lost": []},
        "fit_arrays": {"problem": "3 steps, not 4", "lost": ["memory: no door"]},
        "retracing": {"problem": "", "unjudged": "no door"},
        "eager_apply": {"problem": "", "unfit": "no `apply`"},
    }
    rows = {"tf2.15-py3.10": {"scripts": scripts, "problem": "", "date": "2026-01-01"}}
    text = matrix.page(rows)
    assert "| 2.15 | 3.10 | 1 of 2 | 1 of 1 | 1 | 2026-01-01 |" in text
    assert "`fit_arrays`: 3 steps, not 4" in text
    assert "`retracing` is not judged there: no door" in text
    assert "`eager_apply` does not run there, also without unslow: no `apply`" in text
    assert "| 2.16 | 3.10 | not run yet |" in text


def test_the_error_of_a_program_that_does_not_run_is_named_with_its_details() -> None:
    text = (
        "  File x\nTypeError: in user code:\n\n  TypeError: bad layer\n\n  'float' is no integer\n"
    )
    done = CompletedProcess(["python"], 1, "", text)
    assert matrix._last_line(done) == "TypeError: bad layer 'float' is no integer"
    assert matrix._last_line(CompletedProcess(["python"], 1, "", "Killed\n")) == "Killed"
