"""Causes seen in source without running it."""

from __future__ import annotations

import os
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from unslow.cause import Cause, Spot
from unslow.model import Unjudged
from unslow.syntax import Source
from unslow.syntax.modules import parsed

# A file that names none of these can hold no TensorFlow, not even under another name.
_MENTIONS = re.compile(r"tensorflow|keras|\btf\b", re.IGNORECASE)
_SKIPPED = frozenset(("site-packages", "node_modules", "__pycache__", "venv", "env"))
# Starting a second process costs about half a second: worth it above this much source.
_WORTH_SHARING = 3_000_000
_FEWEST = 8  # files for a process of its own


@dataclass(frozen=True, slots=True)
class Found:
    """One cause at one place."""

    cause: str
    spot: Spot


@dataclass(frozen=True, slots=True)
class Report:
    """What one file shows; `problem` says why it could not be read."""

    file: str
    found: tuple[Found, ...] = ()
    problem: str = ""
    not_judged: tuple[Unjudged, ...] = ()


def check_paths(
    paths: Iterable[str | Path], causes: Sequence[Cause], exclude: Sequence[str] = ()
) -> list[Report]:
    """Search for causes in files and below folders; every file has a report, in order."""
    files = list(dict.fromkeys(_files(paths, exclude)))
    spotters = [cause for cause in causes if type(cause).spot is not Cause.spot]
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    )
    workers = min(cores, len(files) // _FEWEST)
    if workers < 2 or sum(_size(file) for file in files) < _WORTH_SHARING:
        return [check_file(file, spotters) for file in files]
    # Not forked: a process that has imported NumPy holds threads, and forking those may hang.
    # Neighbours go together, for they import each other; four shares per process even out large
    # files.
    share = max(_FEWEST, len(files) // (4 * workers))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        return list(pool.map(check_file, files, [spotters] * len(files), chunksize=share))


def check_file(file: Path, causes: Sequence[Cause]) -> Report:
    try:
        text, changed = _read(file), file.stat().st_mtime_ns
    except FileNotFoundError:
        return Report(str(file), problem="there is no such file")
    except (OSError, ValueError, SyntaxError) as problem:
        return Report(str(file), problem=f"cannot be read: {problem}")
    if not _MENTIONS.search(text):
        return Report(str(file))
    return _checked(str(file), lambda: parsed(Source, file, text, changed), causes)


def check_text(name: str, text: str, causes: Sequence[Cause]) -> Report:
    """Search for causes in a text, as if it were the file of that name."""
    return _checked(name, lambda: Source(name, text), causes)


def _checked(name: str, parse: Callable[[], Source], causes: Sequence[Cause]) -> Report:
    try:
        source = parse()
    except SyntaxError as problem:
        return Report(name, problem=f"is not Python 3: {problem.msg} (line {problem.lineno})")
    except (ValueError, RecursionError, MemoryError) as problem:
        return Report(name, problem=f"cannot be parsed: {type(problem).__name__}: {problem}")
    if not source.uses_tensorflow:
        return Report(name)
    found: list[Found] = []
    not_judged: list[Unjudged] = []
    for cause in causes:
        try:
            spots = [spot for spot in cause.spot(source) if not source.ignored(spot, cause.id)]
        except Exception as problem:  # noqa: BLE001 - one cause must not end the others
            not_judged.append(Unjudged(cause.id, f"{type(problem).__name__}: {problem}"))
            continue
        found += [Found(cause.id, spot) for spot in dict.fromkeys(spots)]
    found.sort(key=lambda item: (item.spot.line, item.spot.column, item.cause))
    return Report(name, tuple(found), "", tuple(not_judged))


def _read(file: Path) -> str:
    """The text in the encoding that the file itself declares."""
    with file.open("rb") as raw:
        data = raw.read()
    encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
    return data.decode(encoding)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _files(paths: Iterable[str | Path], exclude: Sequence[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from (
                file for file in _below(path) if not any(file.match(pattern) for pattern in exclude)
            )
        else:
            yield path


def _below(folder: Path) -> Iterator[Path]:
    """The Python files below a folder, without those of environments and hidden folders."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not Path(place, name, "pyvenv.cfg").exists()
        )
        yield from (Path(place, name) for name in sorted(files) if name.endswith((".py", ".pyw")))
