"""The command line: one file per command, loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

import unslow
from unslow.errors import UnslowError

_COMMANDS = {
    "run": "Run a training as it is, record it, and say why it is slow.",
    "attach": "Record a training that already runs, and take everything out again.",
    "live": "Watch a run from another terminal, while it runs.",
    "why": "Show the report of a recorded run again.",
    "fix": "Write the fixes as a diff; prove and apply them.",
    "prove": "Run before and after in turn, and say what a change brings.",
    "whatif": "Try other settings on the same script, unedited.",
    "check": "Look for causes in source, without running it.",
    "explain": "Explain a cause or an error.",
    "compare": "Set two runs side by side.",
    "export": "Write a run for TensorBoard, Perfetto, Parquet or OpenTelemetry.",
    "runs": "List the recorded runs.",
}


class _Lazy(click.Group):
    """`--help` answers without importing any command."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"unslow.cli.{name}"), name)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(unslow.__version__, "--version", prog_name="unslow")
def cli() -> None:
    """Why is my TensorFlow training slow?

    \b
    unslow run train.py          record it as it is, and say why it is slow
    unslow fix                   see the fix as a diff in plain TensorFlow
    unslow fix --prove --apply   prove it by running both, then write it
    """


def main(arguments: list[str] | None = None) -> Any:
    try:
        return cli(arguments, standalone_mode=False)
    except UnslowError as problem:
        click.echo(f"unslow: {problem}", err=True)
        sys.exit(2)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except click.Abort:
        click.echo("unslow: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
