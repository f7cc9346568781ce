"""`unslow runs`: the recorded runs below the current directory."""

from __future__ import annotations

import shlex
import time

import click

from unslow.cli.show import recorded
from unslow.runfolder import layout as runfile


@click.command(short_help="List the recorded runs.")
def runs() -> None:
    """List the runs recorded in .unslow/, oldest first."""
    folders = recorded()
    if not folders:
        click.echo("no recorded run here; record one: unslow run train.py")
        return
    for folder in folders:
        try:
            header = runfile.read_header(str(folder))
        except runfile.Unreadable as problem:
            click.echo(f"{folder.name}  unreadable: {problem}")
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(header.get("started") or 0)))
        seconds = header.get("seconds")
        took = f"{float(seconds):.0f} s" if seconds is not None else "–"
        command = shlex.join(str(word) for word in header.get("command", ()))
        click.echo(f"{folder.name}  {when}  {took:>7}  {header.get('ended', 'running')}  {command}")
