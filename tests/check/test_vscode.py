"""The task for VS Code on its page: it reads what `unslow check` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import typed
from tests.examples import EXAMPLES

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "vscode.md"


def task() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        PAGE.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0]
    )
    return found["tasks"][0]  # type: ignore[no-any-return]


def test_the_problem_matcher_reads_what_check_prints(capsys: pytest.CaptureFixture[str]) -> None:
    pattern = task()["problemMatcher"]["pattern"]
    _, out, _ = typed(capsys, "check", str(EXAMPLES / "retracing.py"))
    (found,) = filter(None, (re.match(pattern["regexp"], line) for line in out.splitlines()))
    assert found[pattern["file"]].endswith("retracing.py")
    assert found[pattern["line"]] == "28" and found[pattern["code"]] == "retracing"
    assert "Python number" in found[pattern["message"]]


def test_the_task_runs_a_command_that_exists() -> None:
    assert task()["command"].split()[:2] == ["unslow", "check"]
