"""`unslow runs`: the recorded runs of this directory."""

from __future__ import annotations

import os
import shlex
import socket
import time
from pathlib import Path

import click

from unslow.cli.output import format_option, say, write_json
from unslow.cli.recorded import recorded
from unslow.facts.json_object import JsonObject
from unslow.runfolder import layout as runfile


@click.command(short_help="List the recorded runs.")
@format_option("terminal", "json")
def runs(form: str) -> None:
    """List the recorded runs, oldest first."""
    rows = [_row(folder) for folder in recorded()]
    if form == "json":
        write_json({"runs": rows})
        return
    for row in rows:
        say(_line(row), err=False)
    if not rows:
        click.echo("no recorded run here; record one: unslow run train.py")


def _row(folder: Path) -> JsonObject:
    row: JsonObject = {"name": folder.name, "folder": str(folder), "problem": ""}
    try:
        header = runfile.read_header(str(folder))
    except runfile.Unreadable as problem:
        return {
            **row,
            "problem": str(problem),
            "started": 0.0,
            "seconds": None,
            "ended": "",
            "command": [],
        }
    return {
        **row,
        "started": float(header.get("started") or 0),
        "seconds": header.get("seconds"),
        "ended": header.get("ended") or _unfinished(header),
        "command": [str(word) for word in header.get("command", ())],
    }


def _unfinished(header: JsonObject) -> str:
    """A run whose launcher is gone, after a crash of the machine for one, will never end."""
    launcher = header.get("launcher")
    elsewhere = header.get("host") != socket.gethostname()
    if elsewhere or not isinstance(launcher, int):
        return "running"
    try:
        os.kill(launcher, 0)
    except ProcessLookupError:
        return "lost: unslow itself was killed"
    except OSError:  # another user's process
        return "running"
    return "running"


def _line(row: JsonObject) -> str:
    return _described(row).replace("\n", "\\n")


def _described(row: JsonObject) -> str:
    if row["problem"]:
        return f"{row['name']}  unreadable: {row['problem']}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["started"]))
    took = "–" if row["seconds"] is None else f"{float(row['seconds']):.0f} s"
    return f"{row['name']}  {when}  {took:>7}  {row['ended']}  {shlex.join(row['command'])}"
