"""`unslow live`: watch a run from another terminal, or from another machine by a shared folder."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from unslow.cli.output import WIDTH, format_option, write_json
from unslow.cli.recorded import chosen_run
from unslow.facts.json_object import JsonObject

if TYPE_CHECKING:
    from unslow.live.watch import Watch

_ALL = 1000  # rows of what is printed at the end: nothing is left out


@click.command(short_help="Watch a run while it runs.")
@click.argument("run", required=False)
@format_option("terminal", "json")
def live(run: str | None, form: str) -> None:
    """Watch RUN while it runs: a run folder, part of its name, or the newest one.

    Only its files are read, so it may run on another machine. Ctrl-C ends the view, never the
    training. Where the output is no terminal, or with `--format json`, the current state is
    printed once.
    """
    from unslow.live.watch import Watch

    watch = Watch(chosen_run(run))
    view = watch.poll()
    if form == "json":
        write_json(view)
        return
    terminal = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    if terminal and not watch.over:
        view = _until_it_ends(watch, view)
    _leave(view, terminal)


def _until_it_ends(watch: Watch, view: JsonObject) -> JsonObject:
    """Draw until the command has ended or Ctrl-C was typed; returns the last view."""
    from unslow.live.beside import lower_priority
    from unslow.live.screen import Whole, given_back_on_stop
    from unslow.report.live import drawn

    screen = Whole(sys.stdout.fileno())
    lower_priority()
    try:
        with given_back_on_stop(screen.close):
            while not watch.over:
                before = time.thread_time()
                view = watch.poll()
                screen.draw(drawn(view, screen.room))
                if not watch.over:
                    time.sleep(watch.rest(before))
    except KeyboardInterrupt:
        pass
    finally:
        screen.close()
    return view


def _leave(view: JsonObject, terminal: bool) -> None:
    """Print the last state, and what to type next."""
    from unslow.live.screen import size_of
    from unslow.report.live import frame, painted

    columns = size_of(sys.stdout.fileno())[0] if terminal else WIDTH
    lines = frame(view, columns, _ALL)
    for line in painted(lines, columns) if terminal else [each.plain.rstrip() for each in lines]:
        click.echo(line)
    over = view["status"]["kind"] == "ended"
    again = "the whole report: unslow why" if over else "still running; watch it again: unslow live"
    click.echo(f"{again} {os.path.relpath(view['folder'])}")
