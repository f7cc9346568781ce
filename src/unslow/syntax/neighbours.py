"""The user's other files that a file imports from, found next to it; installed packages are never opened."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

_LARGEST = 1_000_000  # bytes; nobody writes a longer module by hand
_MOST_KEPT = 2_000_000  # characters in all, which parsed take some 200 MB
_kept: dict[
    str, tuple[int, int, object]
] = {}  # path → when it changed, its size, and what was made of it
_FOREIGN = frozenset(("tensorflow", "keras", "tf_keras", "numpy", *sys.stdlib_module_names))


class Parsed(Protocol):
    """Whatever is made of a file's path and text."""

    def __init__(self, path: str, text: str) -> None: ...


Kind = TypeVar("Kind", bound=Parsed)


def module_path(importer: str, module: str) -> Path | None:
    """The file of a module as `importer` would import it, from its own folder or its package's."""
    if module.partition(".")[0] in _FOREIGN or not importer.endswith(".py"):
        return None
    return _module_path(str(Path(importer).parent), module)


@lru_cache(maxsize=4096)
def _module_path(folder: str, module: str) -> Path | None:
    names = [name for name in module.split(".") if name]
    start = Path(folder)
    dots = len(module) - len(module.lstrip("."))
    if dots:
        for _ in range(dots - 1):
            start = start.parent
        return _file(start, names)
    found = _file(start, names)
    while (
        found is None and (start / "__init__.py").is_file()
    ):  # the folder above a package is what is on the path
        start = start.parent
        found = _file(start, names) if not (start / "__init__.py").is_file() else None
    return found


def _file(folder: Path, names: list[str]) -> Path | None:
    base = folder.joinpath(*names)
    candidates = (
        [base / "__init__.py"]
        if not names
        else [base.parent / f"{base.name}.py", base / "__init__.py"]
    )
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def opened(kind: type[Kind], path: Path) -> Kind | None:
    """A parsed file of the user's, or None where it cannot be read."""
    try:
        stat = path.stat()
        if stat.st_size > _LARGEST:
            return None
        held = _held(kind, path, stat.st_mtime_ns)
        return held or parsed(kind, path, path.read_text(encoding="utf-8-sig"), stat.st_mtime_ns)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def parsed(kind: type[Kind], path: Path, text: str, changed: int) -> Kind:
    """Parse a file and keep it a while: those that lie together import each other, and many import one."""
    found = _held(kind, path, changed) or kind(str(path), text)
    _kept[str(path)] = (changed, len(text), found)
    while sum(size for _, size, _ in _kept.values()) > _MOST_KEPT:
        del _kept[next(iter(_kept))]  # the one that was asked for longest ago
    return found


def _held(kind: type[Kind], path: Path, changed: int) -> Kind | None:
    held = _kept.pop(str(path), None)
    if held is None or held[0] != changed or not isinstance(held[2], kind):
        return None
    _kept[str(path)] = held
    return held[2]
