"""Which recorded run is meant: by path, by its name or part of it, or the newest."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unslow.errors import UnslowError, suggestion
from unslow.settings import Settings

_MOST_CANDIDATES = 5


def settings() -> Settings:
    """The settings in force; the defaults outside of a command."""
    context = click.get_current_context(silent=True)
    found = context.find_object(Settings) if context else None
    return found or Settings()


def recorded() -> list[Path]:
    """Run folders of this directory, oldest first."""
    runs = Path(settings().runs)
    found = runs.glob("*/run.json") if runs.is_dir() else ()
    return sorted((path.parent for path in found), key=lambda folder: folder.name)


def chosen_run(named: str | None) -> str:
    """The folder that was named; the newest one when none was."""
    if named is None:
        return _newest()
    runs = {folder.name: str(folder) for folder in recorded()}
    if named in runs:
        return runs[named]
    if Path(named).is_dir():
        return named
    matching = [name for name in runs if named in name]
    if len(matching) == 1:
        return runs[matching[0]]
    if matching:
        raise _ambiguous(named, matching)
    raise UnslowError(
        f"no run {named}",
        "it is neither a folder nor part of the name of a recorded run",
        suggestion(named, runs) or "Type `unslow runs` to see the runs there are.",
        "no-runs",
    )


def _newest() -> str:
    runs = recorded()
    if runs:
        return str(runs[-1])
    why = f"there is none in {os.path.relpath(settings().runs)}/"
    raise UnslowError("no recorded run", why, "Record one: unslow run train.py", "no-runs")


def _ambiguous(named: str, matching: list[str]) -> UnslowError:
    shown = ", ".join(matching[-_MOST_CANDIDATES:])
    why = f"{len(matching)} runs have that in their name"
    return UnslowError(f"{named} is ambiguous", why, f"Name one, such as {shown}.", "ambiguous-run")
