"""Tells whether the files are still those that ran, and writes new texts into them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from unslow.errors import UnslowError
from unslow.model import Run

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
        path = Path(run.cwd) / file
        try:
            now = path.read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            raise UnslowError(
                f"cannot change {file}", "it is no longer there", "Record again.", "source-changed"
            ) from None
        if _lines(now) != _lines(run.sources.get(file, "")):
            raise UnslowError(
                f"cannot change {file}",
                "it has changed since the run",
                "Record it again: unslow run …",
                "source-changed",
            )


def write(run: Run, texts: Mapping[str, str]) -> list[str]:
    """Write new texts in one move per file, with the mode and the line endings it had."""
    for file in filter(is_cell, texts):
        hint = "In the notebook, type: %unslow_fix"
        raise UnslowError(f"cannot change {file}", "it is a cell of a notebook", hint, "no-fix")
    check_unchanged(run, texts)
    for file, text in texts.items():
        path = (Path(run.cwd) / file).resolve()
        ending = b"\r\n" if b"\r\n" in path.read_bytes() else b"\n"
        data = _lines(text).encode("utf-8", "surrogatepass").replace(b"\n", ending)
        draft, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(draft, "wb") as out:
            out.write(data)
        Path(name).chmod(path.stat().st_mode & 0o7777)
        Path(name).replace(path)
    return list(texts)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
