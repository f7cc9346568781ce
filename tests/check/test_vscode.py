"""The task for VS Code on its page: it reads what `unslow check` prints, as VS Code reads it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import typed

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "vscode.md"
SLOW = """\
import tensorflow as tf


@tf.function
def step(x):
    return x


for n in range(30):
    step(float(n))
    step(n * 2)
"""
# A problem matcher with one pattern is tried on each line alone, as a regular expression of JavaScript, and a line that
# matches is one problem: see "Defining a problem matcher" at code.visualstudio.com.
READER = """\
const [pattern, text] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const expression = new RegExp(pattern.regexp);
const problems = [];
for (const line of text.split(/\\r?\\n/)) {
  const found = expression.exec(line);
  if (found === null) continue;
  const part = (name) => found[pattern[name]];
  problems.push({file: part("file"), line: +part("line"), column: +part("column"),
                 code: part("code"), message: part("message")});
}
console.log(JSON.stringify(problems));
"""


def task() -> dict[str, Any]:
    text = PAGE.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0]
    (found,) = json.loads(text)["tasks"]
    return dict(found)


def problems(printed: str) -> list[dict[str, Any]]:
    """What VS Code would list under Problems."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("a problem matcher is a regular expression of JavaScript, and there is no node")
    pattern = task()["problemMatcher"]["pattern"]
    done = subprocess.run(
        [node, "-e", READER],
        input=json.dumps([pattern, printed]),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the task's command prints in a workspace, both streams."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my models"
    folder.mkdir()
    (folder / "train.py").write_text(SLOW)
    program, *words = task()["command"].split()
    assert program == "unslow"
    _, out, err = typed(capsys, *words)
    return out + err


def test_each_finding_is_one_problem_at_its_place(printed: str) -> None:
    found = problems(printed)
    places = [(each["line"], each["column"], each["code"]) for each in found]
    assert places == [(10, 10, "retracing"), (11, 10, "retracing")]
    assert "Python number" in found[0]["message"]


def test_the_file_of_a_problem_is_found_from_the_workspace(printed: str, tmp_path: Path) -> None:
    assert task()["problemMatcher"]["fileLocation"] == ["relative", "${workspaceFolder}"]
    for each in problems(printed):
        assert (tmp_path / each["file"]).is_file(), each


def test_text_that_is_no_finding_is_no_problem() -> None:
    assert (
        problems("    instead: tf.constant(n)\nunslow: 1 found in 2 files\n12:30:01: done\n") == []
    )
