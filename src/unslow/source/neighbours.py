"""The user's other files that a file imports from, found next to it; installed packages are never opened."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

_LARGEST = 1_000_000  # bytes; nobody writes a longer module by hand
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
    while found is None and (start / "__init__.py").is_file():  # the folder above a package is what is on the path
        start = start.parent
        found = _file(start, names) if not (start / "__init__.py").is_file() else None
    return found


def _file(folder: Path, names: list[str]) -> Path | None:
    base = folder.joinpath(*names)
    candidates = [base / "__init__.py"] if not names else [base.parent / f"{base.name}.py", base / "__init__.py"]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def opened(kind: type[Kind], path: Path) -> Kind | None:
    """A parsed file of the user's, or None where it cannot be read; some are kept: many may import one."""
    try:
        stat = path.stat()
        if stat.st_size > _LARGEST:
            return None
        found = _opened(kind, str(path), stat.st_mtime_ns)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return found if isinstance(found, kind) else None


@lru_cache(maxsize=64)
def _opened(kind: type[Parsed], path: str, changed: int) -> Parsed:
    return kind(path, Path(path).read_text(encoding="utf-8-sig"))
