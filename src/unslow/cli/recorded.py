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
    runs = recorded()
    if named is None:
        if not runs:
            why = f"there is none in {os.path.relpath(settings().runs)}/"
            hint = "Record one: unslow run train.py"
            raise UnslowError("no recorded run", why, hint, "no-runs")
        return str(runs[-1])
    exact = [folder for folder in runs if folder.name == named]
    if exact:
        return str(exact[0])
    if Path(named).is_dir():
        return named
    matching = [folder for folder in runs if named in folder.name]
    if len(matching) > 1:
        names = [folder.name for folder in matching]
        shown = ", ".join(names[-_MOST_CANDIDATES:])
        more = f" and {len(names) - _MOST_CANDIDATES} more" if len(names) > _MOST_CANDIDATES else ""
        why = f"{len(names)} runs have that in their name"
        raise UnslowError(
            f"{named} is ambiguous", why, f"Name one: {shown}{more}.", "ambiguous-run"
        )
    if matching:
        return str(matching[0])
    hint = suggestion(named, [folder.name for folder in runs])
    raise UnslowError(
        f"no run {named}",
        "it is neither a folder nor part of the name of a recorded run",
        hint or "Type `unslow runs` to see the runs there are.",
        "no-runs",
    )
