"""From a run folder to text: what `run`, `why` and others print, and how they find the run that is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from unslow.errors import UnslowError
from unslow.proof.launch import RUNS

if TYPE_CHECKING:
    from unslow.model import Diagnosis


def report_on(folder: str) -> tuple[Diagnosis, dict[str, Any]]:
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose
    from unslow.report.view import view_of

    diagnosis = diagnose(load(folder))
    return diagnosis, view_of(diagnosis)


def emit(view: dict[str, Any], chosen: str, stream: TextIO) -> None:
    if chosen == "terminal":
        _print(view, stream)
    else:
        stream.write(FORMATS[chosen](view))
        stream.write("\n")


def _print(view: dict[str, Any], stream: TextIO) -> None:
    from rich.console import Console

    from unslow.report.terminal import renderable

    console = Console(file=stream, highlight=False, soft_wrap=False)
    width = min(console.width, 100) if console.is_terminal else 80
    console.print(renderable(view), width=width)


def _json(view: dict[str, Any]) -> str:
    from unslow.report import jsonish

    return jsonish.dumps(view)


def _html(view: dict[str, Any]) -> str:
    from unslow.report import html

    return html.dumps(view)


def _sarif(view: dict[str, Any]) -> str:
    from unslow.report import sarif

    return sarif.dumps(view)


def _markdown(view: dict[str, Any]) -> str:
    from unslow.report import markdown

    return markdown.dumps(view)


FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": _json,
    "html": _html,
    "sarif": _sarif,
    "markdown": _markdown,
}


def recorded() -> list[Path]:
    """Run folders below the current directory, oldest first."""
    found = Path(RUNS).glob("*/run.json") if Path(RUNS).is_dir() else ()
    return sorted((path.parent for path in found), key=lambda folder: folder.name)


def chosen_run(named: str | None) -> str:
    """The folder that was named, by path or by its name in `.unslow`; the newest one when none was."""
    runs = recorded()
    if named is None:
        if not runs:
            raise UnslowError(
                "no recorded run",
                f"there is none in {RUNS}/ here",
                "Record one: unslow run train.py",
                "no-runs",
            )
        return str(runs[-1])
    if Path(named).is_dir():
        return named
    matching = [folder for folder in runs if named in folder.name]
    if matching:
        return str(matching[-1])
    raise UnslowError(
        f"no run {named}",
        "it is neither a folder nor a name in .unslow/",
        "Type `unslow runs` to see what there is.",
        "no-runs",
    )
