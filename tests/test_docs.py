"""The generated pages say what the causes, their examples and the errors say."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
STALE = "is not what `make docs` would write: run make docs"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "bench" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as `make docs` writes them, in a process of its own.

    click keeps the help option of a command as it was first asked for it, and another test may
    have asked before.
    """
    docs = tmp_path_factory.mktemp("docs")
    write = "import pathlib, runpy, sys; runpy.run_path(sys.argv[1])['write'](pathlib.Path(sys.argv[2]))"
    words = [sys.executable, "-c", write, str(ROOT / "bench" / "make_docs.py"), str(docs)]
    subprocess.run(words, check=True, cwd=ROOT)
    return docs


def test_the_generated_pages_are_not_stale(made: Path) -> None:
    for page in sorted(made.rglob("*.md")):
        name = page.relative_to(made)
        kept = ROOT / "docs" / name
        if not kept.exists() or kept.read_text(encoding="utf-8") != page.read_text(
            encoding="utf-8"
        ):
            pytest.fail(f"docs/{name} {STALE}", pytrace=False)


def test_no_page_is_left_of_a_cause_that_is_gone(made: Path) -> None:
    for page in sorted((ROOT / "docs" / "causes").glob("*.md")):
        if not (made / "causes" / page.name).exists():
            pytest.fail(f"docs/causes/{page.name} {STALE}", pytrace=False)


def test_every_link_of_a_generated_page_leads_to_a_file(maker: ModuleType) -> None:
    for name, text in maker.pages().items():
        for target in re.findall(
            r"\]\(([^)#]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        ):
            place = Path(os.path.normpath((ROOT / "docs" / name).parent / target))
            assert "://" in target or place.exists(), f"{name}: {target}"
