"""Tells whether the files are still those that ran, and writes new texts into them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from unslow.errors import UnslowError
from unslow.model import Run


def check_unchanged(run: Run, files: Mapping[str, str]) -> None:
    """Every file must still be as it was recorded."""
    for file in files:
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
