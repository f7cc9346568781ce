"""The documentation site: it builds strictly, and its tutorial shows what the code writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

from unslow.analyse.run.assemble import load
from unslow.cli import cli
from unslow.diagnose import diagnose
from unslow.fix.edit.diff import unified_diff
from unslow.model import Fix

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "unslow"
TENSORFLOW = {"Function", "Session"}  # classes of TensorFlow that a page names


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        built = page.relative_to(ROOT / "docs").with_suffix(".html")
        name = built.with_name("index.html") if built.name == "README.html" else built
        assert (site / name).exists(), name


def test_every_cause_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "causes").glob("*-*.md"):
        assert f'href="causes/{page.stem}.html"' in home


def test_a_page_loads_nothing_from_the_network(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for attribute in ('src="http', 'rel="stylesheet" href="http', "fonts.googleapis"):
        assert attribute not in home


def test_the_diff_of_the_tutorial_is_the_one_that_is_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(ROOT / "examples" / "recorded" / "graph_growth.zip") as packed:
        packed.extractall(tmp_path)
    diagnosis = diagnose(load(str(tmp_path)))
    fix = diagnosis.fixes[0]
    assert isinstance(fix, Fix)
    ((name, after),) = fix.files.items()
    written = unified_diff(name, diagnosis.run.sources[name], after)
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert changes(tutorial.split("```diff\n")[1].split("```")[0]) == changes(written)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md"])
def test_every_link_of_a_page_at_the_top_leads_to_a_file(name: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (ROOT / target).exists(), target


def test_the_readme_lists_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in cli.list_commands(click.Context(cli)):
        assert f"| `unslow {command}" in readme, command


def changes(diff: str) -> list[str]:
    lines = [
        line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return [line.partition("  # <--")[0] for line in lines]


def test_the_architecture_names_modules_and_classes_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    classes = {name for code in source.values() for name in re.findall(r"class (\w+)", code)}
    for name in re.findall(r"`([\w/]+\.py)\b", text):
        is_there = (ROOT / name).exists() or any(PACKAGE.glob(f"**/{name}"))
        assert is_there or name == "train.py", name
    for name in re.findall(r"`([A-Z][a-z]\w+)[`.(]", text):
        assert name in classes | TENSORFLOW, name
