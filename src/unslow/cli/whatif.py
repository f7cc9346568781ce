"""`unslow whatif`: the same script under other settings, without editing it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from unslow.proof import launch
from unslow.proof.whatif.settings import GROUPS

_WIDTH = 100


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run the same script under other settings, and say what each one brings.",
)
@click.option(
    "--only", metavar="NAMES", help="Only these settings or groups, with commas between them."
)
@click.option("--list", "names", is_flag=True, help="List all settings and leave.")
@click.option(
    "--steps",
    type=click.IntRange(min=5),
    help="Steps per trial (default: about four seconds' worth).",
)
@click.option(
    "--trials",
    type=click.IntRange(min=2),
    default=3,
    show_default=True,
    help="Trials of each setting.",
)
@click.option("-m", "--module", is_flag=True, help="Run a module, as `python -m` does.")
@click.option("--python", metavar="PATH", help="The Python that has the training's TensorFlow.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def whatif(
    only: str | None,
    names: bool,
    steps: int | None,
    trials: int,
    module: bool,
    python: str | None,
    form: str,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, unedited, for a few steps under other settings; print what each brings, best first.

    \b
    unslow whatif train.py --epochs 3        everything that applies
    unslow whatif --only xla,batch train.py  some settings or groups
    unslow whatif --steps 50 train.py        longer or shorter trials
    unslow whatif --list                     what there is

    Each trial is a fresh process in a copy of the directory, with fixed seeds, stopped after the same number of
    steps; the script as it is runs in between. Weights are compared where the setting should keep them. Winners
    are then combined and measured together. Ctrl-C prints what was measured so far.

    Put the options of unslow before the script; what follows it is the script's own.
    """
    if names:
        _list()
        return
    if not command:
        raise click.UsageError("name the script: unslow whatif train.py")
    from unslow.proof.trials import Side
    from unslow.proof.whatif.run import whatif as measure
    from unslow.proof.whatif.view import view_of

    wanted = [name.strip() for name in (only or "").split(",") if name.strip()]
    side = Side(launch.command_for(command, python, module), str(Path.cwd()))
    view = view_of(measure(side, wanted, steps, trials, _progress))
    if form == "json":
        click.echo(json.dumps(view))
    else:
        _print(view)
    if view["interrupted"]:
        sys.exit(130)


def _progress(text: str) -> None:
    click.echo(f"unslow: {text}", err=True)


def _print(view: dict[str, Any]) -> None:
    from rich.console import Console

    from unslow.report.whatif import renderable

    console = Console(highlight=False, soft_wrap=False)
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    console.print(renderable(view, console.width))


def _list() -> None:
    from unslow.proof.whatif.run import everything

    for group in GROUPS:
        click.echo(
            f"{group:<14}{', '.join(setting.name for setting in everything() if setting.group == group)}"
        )
