"""The user's other files that a file imports; installed packages are never opened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

_LARGEST = 1_000_000  # bytes; nobody writes a longer module by hand
_MOST_KEPT = 2_000_000  # characters in all, which parsed take about 200 MB (measured)
# Path → when the file changed, its size, and what was made of it.
_kept: dict[str, tuple[int, int, object]] = {}
_FOREIGN = frozenset(("tensorflow", "keras", "tf_keras", "numpy", *sys.stdlib_module_names))


class Parsed(Protocol):
    """Whatever is made of a file's path and text."""

    def __init__(self, path: str, text: str) -> None: ...


Kind = TypeVar("Kind", bound=Parsed)
Exists = Callable[[Path], bool]


def module_path(importer: str, module: str, exists: Exists | None = None) -> Path | None:
    """The file of a module as `importer` would import it, from its own folder or its package's."""
    if module.partition(".")[0] in _FOREIGN or not importer.endswith(".py"):
        return None
    folder = Path(importer).parent
    return _found(folder, module, exists) if exists else _on_disk(folder, module)


@lru_cache(maxsize=4096)
def _on_disk(folder: Path, module: str) -> Path | None:
    return _found(folder, module, Path.is_file)


def _found(folder: Path, module: str, exists: Exists) -> Path | None:
    names = [name for name in module.split(".") if name]
    dots = len(module) - len(module.lstrip("."))
    if dots:
        for _ in range(dots - 1):
            folder = folder.parent
        return _file(folder, names, exists)
    found = _file(folder, names, exists)
    if found is not None:
        return found
    # The folder above the outermost package is what is on the path.
    top = folder
    while exists(top / "__init__.py") and top.parent != top:
        top = top.parent
    return _file(top, names, exists) if top != folder else None


def _file(folder: Path, names: list[str], exists: Exists) -> Path | None:
    base = folder.joinpath(*names)
    candidates = [base / "__init__.py"]
    if names:
        candidates.insert(0, base.parent / f"{base.name}.py")
    return next((candidate for candidate in candidates if exists(candidate)), None)


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
    """Parse a file and keep it for a while: neighbours import the same files."""
    found = _held(kind, path, changed) or kind(str(path), text)
    _kept[str(path)] = (changed, len(text), found)
    while sum(size for _, size, _ in _kept.values()) > _MOST_KEPT:
        del _kept[next(iter(_kept))]  # the least recently used one
    return found


def _held(kind: type[Kind], path: Path, changed: int) -> Kind | None:
    held = _kept.pop(str(path), None)
    if held is None or held[0] != changed or not isinstance(held[2], kind):
        return None
    _kept[str(path)] = held
    return held[2]
