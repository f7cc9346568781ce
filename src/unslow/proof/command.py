"""The command that bare Python would get: a script, `-m module`, or any program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from unslow.errors import UnslowError, suggestion


def command_for(words: Sequence[str], python: str | None = None, module: bool = False) -> list[str]:
    """What starts some words of a command line; what cannot run is refused."""
    interpreter = python or default_python()
    if module:
        return [interpreter, "-m", *words]
    path = Path(words[0])
    if path.suffix == ".py" or (path.is_dir() and (path / "__main__.py").is_file()):
        if not path.exists():
            raise _cannot_run(path, "there is no such file", _similar_scripts(path), "no-script")
        return [interpreter, *words]
    if path.is_dir():
        hint = "Name the file in it that starts the training."
        raise _cannot_run(path, "it is a folder without __main__.py", hint, "no-script")
    if path.is_file() and not os.access(path, os.X_OK):
        _must_be_python(path)
        return [interpreter, *words]
    return list(words)


def _cannot_run(path: Path, why: str, next_step: str, slug: str) -> UnslowError:
    return UnslowError(f"cannot run {path}", why, next_step, slug)


def _similar_scripts(path: Path) -> str:
    nearby = [str(each) for each in path.parent.glob("*.py")] if path.parent.is_dir() else []
    return suggestion(str(path), nearby) or "Which file starts the training?"


def _must_be_python(path: Path) -> None:
    """Refuse a file that cannot be parsed before the run."""
    if path.suffix == ".ipynb":
        hint = f"Convert it first: jupyter nbconvert --to script {path}"
        raise _cannot_run(path, "it is a notebook", hint, "no-script")
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as problem:
        hint = f"If another program runs it, type: unslow run -- PROGRAM {path}"
        raise _cannot_run(path, f"it is not Python ({problem})", hint, "no-script") from None


def default_python() -> str:
    """This interpreter where it has TensorFlow, else the first other `python` on the path."""
    from importlib.util import find_spec

    if find_spec("tensorflow") is not None:
        return sys.executable
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found and not Path(found).samefile(sys.executable):
            return found
    return sys.executable
