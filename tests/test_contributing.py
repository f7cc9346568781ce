"""The walk-through in CONTRIBUTING.md works when it is followed to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```python\n# (?P<path>\S+)\n(?P<code>.*?)```", re.DOTALL)


def blocks() -> dict[str, str]:
    """The Python code of the page by the path that its first line names."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {found["path"]: found["code"] for found in _BLOCK.finditer(page)}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with everything that the page adds to it."""
    copy = tmp_path_factory.mktemp("walk-through")
    unneeded = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "unslow", copy / "src" / "unslow", ignore=unneeded)
    for path, code in blocks().items():
        assert not (ROOT / path).exists(), f"{path} is in the package: use another example"
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(code, encoding="utf-8")
    return copy


def run(followed: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(followed / "src")}
    done = subprocess.run(
        [sys.executable, *words], cwd=followed, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_adds_a_fact_a_probe_a_move_a_cause_and_a_format() -> None:
    folders = {str(Path(path).parent) for path in blocks()}
    assert folders >= {
        "src/unslow/facts",
        "src/unslow/record/probes/machine",
        "src/unslow/fix/moves",
        "src/unslow/causes",
        "src/unslow/report",
    }


def test_the_tests_of_the_page_pass(followed: Path) -> None:
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    assert "4 passed" in run(followed, "-m", "pytest", *options, "tests")


def test_the_added_cause_is_explained(followed: Path) -> None:
    assert "the loop sleeps" in run(followed, "-m", "unslow", "explain", "sleeping")


def test_the_added_format_writes_the_findings(followed: Path) -> None:
    script = (
        "from unslow.cause import by_id\n"
        "from unslow.diagnose import diagnose\n"
        "from unslow.report import csv_report\n"
        "from unslow.report.view import view_of\n"
        "run = by_id('sleeping').FIRES[0].run()\n"
        "print(csv_report.dumps(view_of(diagnose(run))))\n"
    )
    assert "sleeping,0.5," in run(followed, "-c", script)


def test_the_added_code_keeps_the_style(followed: Path) -> None:
    paths = [path for path in blocks() if path.startswith("src/")]
    settings = ("--config", str(ROOT / "pyproject.toml"), "--no-cache")
    run(followed, "-m", "ruff", "check", *settings, *paths)
