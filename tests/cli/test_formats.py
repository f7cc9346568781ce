"""What every command prints as JSON follows its schema; errors do, too."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.test_cli import typed
from tests.examples import RECORDED
from unslow.model import Proof, Verdict
from unslow.report.json_report import schema


def recorded(folder: Path, *names: str) -> None:
    for name in names:
        target = folder / ".unslow" / name
        with zipfile.ZipFile(RECORDED / f"{name}.zip") as packed:
            packed.extractall(target)


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path, "graph_growth", "gc_pauses")
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("runs", ["runs"]),
        ("explain", ["explain"]),
        ("explain", ["explain", "graph-growth"]),
        ("config", ["config"]),
        ("env", ["env", "job"]),
        ("compare", ["compare", "gc_pauses", "graph_growth"]),
        ("export", ["export", "perfetto", "gc_pauses"]),
        ("fix", ["fix", "gc_pauses", "--only", "graph-growth"]),
        ("brief", ["fix", "graph_growth", "--brief"]),
        ("check", ["check", "train.py"]),
        ("live", ["live", "gc_pauses"]),
        ("", ["why", "gc_pauses"]),
        ("error", ["why", "nowhere"]),
        ("error", ["explain", "nothing-like-it"]),
        ("error", ["prove", "a", "b", "c"]),
    ],
)
def test_json_follows_its_schema(
    name: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = typed(capsys, *words, "--format", "json")
    printed: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(schema(name)).validate(printed)


def test_run_prints_its_report_on_stdout_and_the_command_prints_on_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("quick.py").write_text("print('from the script')")
    code, out, err = typed(capfd, "run", "--format", "json", "quick.py", "--format", "text")
    jsonschema.Draft202012Validator(schema("")).validate(json.loads(out))
    assert code == 0 and "from the script" in err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--format", "json", "nowhere.py"],
        ["run", "--format=json", "--json", "no/such/report.json", "train.py"],
        ["run", "--format", "json", "--hmtl", "page.html", "train.py"],
        ["run", "--format", "json"],
        ["whatif", "--format", "json", "nowhere.py"],
        ["why", "--format", "json", "--no-such-option"],
        ["export", "--format", "json", "tensorbord"],
    ],
)
def test_errors_of_every_command_are_json_too(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = typed(capsys, *words)
    problem = json.loads(out)
    jsonschema.Draft202012Validator(schema("error")).validate(problem)
    assert code == 2 and problem["error"]["next_step"] in err


def test_an_error_of_run_is_written_where_the_report_was_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = typed(capsys, "run", "--json", "report.json", "nowhere.py")
    problem = json.loads(Path("report.json").read_text())
    jsonschema.Draft202012Validator(schema("error")).validate(problem)
    assert code == 2 and out == ""


def test_an_option_of_the_script_asks_for_no_json_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = typed(capsys, "run", "nowhere.py", "--format", "json")
    assert code == 2 and out == ""


def test_a_misspelt_run_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(capsys, "why", "graph_grwth")
    assert code == 2 and "Did you mean graph_growth" in err


SCHEMAS = [
    "error",
    "runs",
    "explain",
    "export",
    "comment",
    "config",
    "env",
    "fix",
    "brief",
    "prove",
    "compare",
    "whatif",
    "check",
    "live",
]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_valid_and_refuses_nonsense(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema(name)).validate({"schema": 2})


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_a_comparison_has_an_answer_in_every_format(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = typed(capsys, "compare", "gc_pauses", "gc_pauses", "--format", form)
    assert code == 0, err
    assert "a step" in out and "gc_pauses.py" in out


def test_a_comparison_of_a_run_with_another_script_fails_a_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = typed(capsys, "compare", "gc_pauses", "graph_growth", "--fail-if", "slower=5%")
    assert code == 1 and "failed" in err


def test_a_run_that_crashed_fails_a_check_even_if_trials_are_as_fast(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / ".unslow" / "gc_pauses" / "run.json"
    about.write_text(about.read_text().replace('"exit 0"', '"exit 1"'))
    times = (0.01, 0.011) * 2
    as_fast = Proof(Verdict.NO_EFFECT, 1.0, 0.9, 1.1, times, times, 50, None, None, "as fast")
    monkeypatch.setattr("unslow.cli.compare._proved", lambda *_: as_fast)
    words = ["compare", "gc_pauses", "gc_pauses", "--repeat", "4", "--fail-if", "slower=5%"]
    code, _, err = typed(capsys, *words)
    assert code == 1 and "did not end well: exit 1" in err


def test_fix_says_of_each_problem_that_it_has_no_edit_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    recorded(tmp_path, "dense_updates")
    code, out, err = typed(capsys, "fix", "dense_updates")
    assert code == 0 and out == ""
    assert "dense-updates at " in err and "rewrites all" in err
    assert "no diff: no automatic edit exists for this cause\n  instead: " in err
