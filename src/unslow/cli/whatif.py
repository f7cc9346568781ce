"""`unslow whatif`: the same script under other settings, without editing it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unslow.cli.options import takes
from unslow.cli.output import WIDTH, format_option, print_rich, progress, write_json
from unslow.proof.command import command_for
from unslow.proof.whatif.catalogue import GROUPS

if TYPE_CHECKING:
    from unslow.proof.whatif.run import Outcome


@dataclass(frozen=True)
class _Options:
    """What to run, and which settings to try on it."""

    command: tuple[str, ...]
    only: str
    names: bool
    steps: int | None
    trials: int
    module: bool
    python: str | None
    form: str


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Measure other settings on the same script, unedited.",
)
@click.option(
    "--only",
    metavar="NAMES",
    default="",
    help="Only these settings or groups, separated by commas.",
)
@click.option("--list", "names", is_flag=True, help="List all settings and exit.")
@click.option(
    "--steps", type=click.IntRange(min=5), help="Steps per trial (default: about four seconds)."
)
@click.option(
    "--trials", type=click.IntRange(min=2), default=3, show_default=True, help="Of each setting."
)
@click.option("-m", "--module", is_flag=True, help="Run a module, as `python -m` does.")
@click.option("--python", metavar="PATH", help="The Python that has the training's TensorFlow.")
@format_option("terminal", "json")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@takes(_Options)
def whatif(options: _Options) -> None:
    """Run COMMAND, unedited, for a few steps under other settings; print the gain of each.

    \b
    unslow whatif train.py --epochs 3        everything that applies
    unslow whatif --only xla,batch train.py  some settings or groups
    unslow whatif --steps 50 train.py        longer or shorter trials
    unslow whatif --list                     all settings

    Each trial is a fresh process in a copy of the directory, with fixed seeds, stopped after the
    same number of steps; the unchanged script runs in between. Weights are compared where the
    setting should keep them. The fastest settings are then combined and measured together.
    Ctrl-C prints what was measured so far.

    Put the options of unslow before the script; what follows it is the script's own.
    """
    if options.names:
        _list(options.form)
        return
    if not options.command:
        raise click.UsageError("name the script: unslow whatif train.py")
    outcome = _measured(options)
    if options.form == "json":
        _write(outcome)
    else:
        _print(outcome)
    if outcome.interrupted:
        sys.exit(130)


def _measured(options: _Options) -> Outcome:
    from unslow.proof.trials import Side
    from unslow.proof.whatif.run import whatif as measure

    wanted = [name.strip() for name in options.only.split(",") if name.strip()]
    command = command_for(options.command, options.python, options.module)
    side = Side(command, str(Path.cwd()))
    return measure(side, wanted, options.steps, options.trials, progress)


def _write(outcome: Outcome) -> None:
    from unslow.proof.whatif.view import view_of

    write_json(view_of(outcome))


def _print(outcome: Outcome) -> None:
    from unslow.live.screen import size_of
    from unslow.proof.whatif.view import view_of
    from unslow.report.whatif import renderable

    columns = size_of(sys.stdout.fileno())[0] if sys.stdout.isatty() else WIDTH
    print_rich(renderable(view_of(outcome), min(columns, WIDTH)))


def _list(form: str) -> None:
    from unslow.proof.whatif.run import everything

    groups = {
        group: [setting.name for setting in everything() if setting.group == group]
        for group in GROUPS
    }
    if form == "json":
        write_json({"groups": groups})
        return
    for group, names in groups.items():
        click.echo(f"{group:<14}{', '.join(names)}")
