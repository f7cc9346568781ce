"""The command `unslow watch`: what it takes, what it prints, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.watch.folders import Growing
from unslow.cli import main

SCHEMA = Path(__file__).parents[2] / "src/unslow/report/schema-watch.json"


def code_of(*words: str) -> int:
    try:
        main(["watch", *words])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def ended_run(place: Path, how: str) -> Growing:
    run = Growing(place)
    run.steps(60)
    run.ended(how)
    return run


def test_an_alert_is_a_line_of_json_as_the_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ended_run(tmp_path / "run", "exit 0")
    assert code_of(str(run.folder), "--format", "json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    jsonschema.validate(json.loads(line), json.loads(SCHEMA.read_text()))
    assert json.loads(line)["kind"] == "done"


def test_a_run_that_died_gives_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ended_run(tmp_path / "run", "killed by SIGKILL")
    assert code_of(str(run.folder)) == 1
    assert "  run  died after 600 steps: killed by SIGKILL\n" in capsys.readouterr().out


def test_a_command_is_given_the_alert_before_the_end(tmp_path: Path) -> None:
    run = ended_run(tmp_path / "run", "exit 0")
    target = tmp_path / "got.json"
    assert code_of(str(run.folder), "--on-alert", f"cat > '{target}'") == 0
    assert json.loads(target.read_text())["kind"] == "done"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["99999999"], "there is no such process"),
        (["."], "it is no run folder, and there is none in it"),
        (["nothing-like-that"], "neither a folder nor part of the name"),
        (["--webhook", "foo"], "it is no http address"),
        (["--metrics", "0.0.0.0:9464"], "on loopback only"),
        (["--otlp", "foo"], "it is no http address"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[0].startswith("--"):
        words = [*words, str(ended_run(tmp_path / ".unslow" / "run", "exit 0").folder)]
    assert code_of(*words) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Growing(tmp_path / "run")
    (run.folder / "run.json").write_text("{")
    assert code_of(str(run.folder)) == 2
    assert "is cut off or is not JSON" in capsys.readouterr().err


def test_a_share_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--slower", "fast") == 2
    assert "is not a share from 3% to 1000%" in capsys.readouterr().err
