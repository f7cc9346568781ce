"""The user's modules beside kept files are kept, although they are on no stack."""

from __future__ import annotations

from pathlib import Path

from unslow.facts.process import SourceKept
from unslow.facts.schema import Fact
from unslow.record.engine.kept_sources import KeptSources


def kept(folder: Path, first: str, *modules: str) -> set[str]:
    """What is kept of some modules once a file is."""
    facts: list[Fact] = []
    sources = KeptSources(str(folder / "run"), facts.append, lambda part, problem: None)
    for name in (first, *modules):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x = 1\n")
    sources.keep(str(folder / first))
    sources.keep_beside([str(folder / name) for name in modules], lambda file: "lib" not in file)
    found = (Path(fact.file) for fact in facts if isinstance(fact, SourceKept))
    return {str(file.relative_to(folder)) for file in found}


def test_files_beside_and_below_a_kept_one_are_kept(tmp_path: Path) -> None:
    assert kept(tmp_path, "train.py", "settings.py", "conf/base.py", "lib/tool.py", "fast.so") == {
        "train.py",
        "settings.py",
        "conf/base.py",
    }


def test_files_of_other_folders_are_not_kept(tmp_path: Path) -> None:
    assert kept(tmp_path, "app/train.py", "other/settings.py") == {"app/train.py"}


def test_a_cell_of_a_notebook_has_no_folder(tmp_path: Path) -> None:
    facts: list[Fact] = []
    sources = KeptSources(str(tmp_path), facts.append, lambda part, problem: None)
    sources.keep("<ipython-input-1>")
    (tmp_path / "x.py").write_text("x = 1\n")
    sources.keep_beside([str(tmp_path / "x.py")], lambda file: True)
    assert not facts
