"""Tells whether the files are still those that ran, and writes new texts into them.

A run folder may come from a stranger: only a plain file that still has the recorded text is ever
written, under the name and in the folder in which it was read.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from unslow.errors import UnslowError
from unslow.model import Run
from unslow.planning import is_library

# The names that IPython makes up for cells; seen in ipykernel 6 and 7, and IPython 8 and 9.
_CELL = re.compile(r"(^|[/\\])ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


def is_cell(file: str) -> bool:
    """Whether a recorded file is a cell of a notebook, which is in no file that could change."""
    return _CELL.search(file) is not None


def check_unchanged(run: Run, files: Mapping[str, str]) -> None:
    """Every file must still be as it was recorded."""
    for file in files:
        if is_cell(file):
            continue
        with _folder_of(run, file) as (folder, name):
            _unchanged(run, file, folder, name)


def write(run: Run, texts: Mapping[str, str]) -> list[str]:
    """Write new texts in one move per file, with the mode and the line endings it had."""
    for file in filter(is_cell, texts):
        hint = "In the notebook, type: %unslow_fix"
        raise UnslowError(f"cannot change {file}", "it is a cell of a notebook", hint, "no-fix")
    check_unchanged(run, texts)
    for file, text in texts.items():
        with _folder_of(run, file) as (folder, name):
            before, mode = _unchanged(run, file, folder, name)
            ending = b"\r\n" if b"\r\n" in before else b"\n"
            data = _lines(text).encode("utf-8", "surrogatepass").replace(b"\n", ending)
            _replace(folder, name, data, mode)
    return list(texts)


@contextmanager
def _folder_of(run: Run, file: str) -> Iterator[tuple[int, str]]:
    """The folder that a recorded file lies in, held open, and its name there.

    Links are followed once: what is moved or linked anew after that makes no difference.
    """
    if ".." in Path(file).parts or not Path(run.cwd).is_absolute() or "\0" in file:
        raise _refused(file, "the recording gives no plain path of it")
    path = Path(os.path.realpath(Path(run.cwd) / file))
    if is_library(str(path)):
        raise _refused(file, "it belongs to an installed library, which is never edited")
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        raise _gone(file) from None
    try:
        yield folder, path.name
    finally:
        os.close(folder)


def _unchanged(run: Run, file: str, folder: int, name: str) -> tuple[bytes, int]:
    """The bytes and the mode of a file that is still as it was recorded."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            data = opened.read() if stat.S_ISREG(mode) else None
    except OSError:
        raise _gone(file) from None
    if data is None:
        raise _refused(file, "it is no plain file")
    recorded = run.sources.get(file, "").encode("utf-8", "surrogatepass")
    if data.replace(b"\r\n", b"\n") != recorded.replace(b"\r\n", b"\n"):
        raise UnslowError(
            f"cannot change {file}",
            "it has changed since the run",
            "Record it again: unslow run …",
            "source-changed",
        )
    return data, stat.S_IMODE(mode)


def _replace(folder: int, name: str, data: bytes, mode: int) -> None:
    draft = f".{name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(draft, flags, 0o600, dir_fd=folder), "wb") as out:
        out.write(data)
        os.fchmod(out.fileno(), mode)
    os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def _refused(file: str, why: str) -> UnslowError:
    return UnslowError(f"cannot change {file}", why, "Record again.", "source-changed")


def _gone(file: str) -> UnslowError:
    return _refused(file, "it is no longer there")


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
