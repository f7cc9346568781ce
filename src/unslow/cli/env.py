"""`unslow env`: the variables with which processes that an engine starts record themselves."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from unslow.cli.output import format_option, write_json


@click.command(short_help="Print the variables that make processes of an engine record.")
@click.argument("folder")
@format_option("shell", "json")
def env(folder: str, form: str) -> None:
    """Print variables for processes that record into FOLDER, which all of them can reach.

    \b
    eval "$(unslow env /shared/runs/job-1)"     then start the job as usual
    unslow env /shared/runs/job-1 --format json for an engine's own settings

    Every Python process with these variables that imports TensorFlow records itself. Where you can
    put `unslow run --out FOLDER` before the command of each process, do that instead.
    """
    from unslow.proof.open_job import open_job

    variables = open_job(Path(folder))
    if form == "json":
        write_json({"variables": variables})
        return
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
