"""A temporary copy of a training's directory, so that trials never touch the user's files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

# Files up to this size are copied, so that a training may overwrite them; larger ones, mostly
# data, are linked.
_COPIED = 20 << 20
_LEFT_OUT = {
    ".git",
    ".unslow",
    "__pycache__",
    ".venv",
    "venv",
    "node_modules",
    ".tox",
    ".nox",
    ".mypy_cache",
}


class Workspace:
    """The directory, with some files replaced by other texts. Use as a context manager."""

    def __init__(self, cwd: str, texts: Mapping[str, str] | None = None) -> None:
        self._cwd = Path(cwd)
        self._texts = dict(texts or {})
        self._root = Path(tempfile.mkdtemp(prefix="unslow-"))
        self.cwd = self._root / "cwd"
        self._outside: dict[Path, Path] = {}  # folders of replaced files outside cwd → copies

    def __enter__(self) -> Workspace:
        _copy(self._cwd, self.cwd)
        for file, text in self._texts.items():
            target = self._place(Path(file))
            mode = target.stat().st_mode if target.exists() else 0o644
            target.unlink(missing_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogatepass"))
            target.chmod(mode & 0o7777)
        return self

    def __exit__(self, *problem: object) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def _place(self, file: Path) -> Path:
        absolute = Path(os.path.normpath(self._cwd / file))
        if absolute.is_relative_to(self._cwd):
            return self.cwd / absolute.relative_to(self._cwd)
        root = _import_root(absolute)
        if root not in self._outside:
            self._outside[root] = self._root / f"outside{len(self._outside)}"
            _copy(root, self._outside[root])
        return self._outside[root] / absolute.relative_to(root)

    def command(self, words: Sequence[str]) -> list[str]:
        """The command with the paths of copied files in the place of the originals."""
        return [words[0], *(self._word(word) for word in words[1:])]

    def _word(self, word: str) -> str:
        path = Path(os.path.normpath(self._cwd / word)) if word else self._cwd
        for root, copy in ((self._cwd, self.cwd), *self._outside.items()):
            if path == root or not path.is_relative_to(root):
                continue
            copied = copy / path.relative_to(root)
            keeps_its_name = root == self._cwd and not Path(word).is_absolute()
            if copied.exists():
                return word if keeps_its_name else str(copied)
        return word

    def environment(self) -> dict[str, str]:
        """Replaced files of packages that live elsewhere must be found first."""
        if not self._outside:
            return {}
        folders = [*map(str, self._outside.values()), os.environ.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def _import_root(file: Path) -> Path:
    """The folder from which a file is imported: above all packages it lies in."""
    folder = file.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for entry in os.scandir(source):
        if entry.name not in _LEFT_OUT:
            try:
                _copy_entry(entry, target / entry.name)
            except OSError:
                continue  # a file that may not be read cannot be the training's either


def _copy_entry(entry: os.DirEntry[str], place: Path) -> None:
    path = Path(entry.path)
    if entry.is_symlink():
        place.symlink_to(path.resolve())
    elif entry.is_dir():
        if not (path / "pyvenv.cfg").exists():
            _copy(path, place)
    elif entry.is_file() and entry.stat().st_size <= _COPIED:
        shutil.copy2(path, place)
    elif entry.is_file():
        place.symlink_to(path)
