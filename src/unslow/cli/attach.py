"""`unslow attach`: record a training that already runs, then take everything out again."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unslow.cli.durations import Duration, until_option
from unslow.cli.options import takes
from unslow.cli.output import format_option
from unslow.errors import UnslowError

if TYPE_CHECKING:
    from unslow.attach.session import Attached, Pause
    from unslow.live.screen import Whole

_POLL = 0.5  # seconds between polls of the run folder


@dataclass(frozen=True)
class _Options:
    """Which process to record, and for how long."""

    pid: int | None
    name: str | None
    seconds: float | None
    steps: int | None
    until: float | None
    out: str | None
    form: str


@click.command(short_help="Record a training that already runs.")
@click.argument("pid", type=int, required=False)
@click.option("--name", help="The process whose command line holds this script, instead of PID.")
@click.option("--for", "seconds", type=Duration(), help="Detach after this time: 90s, 2m, 1h.")
@click.option("--steps", type=int, help="Detach after this many steps.")
@until_option
@click.option("-o", "--out", type=click.Path(), help="The run folder (default: below .unslow/).")
@format_option("terminal", "json")
@takes(_Options)
def attach(options: _Options) -> None:
    """Record the running process PID, and say why its training is slow.

    The training need not be prepared and is not restarted. On a terminal it is shown as by `unslow
    live`. Ctrl-C ends the recording, never the training: everything is taken out of the process
    again, and the report is printed.
    """
    from unslow.attach.session import attached
    from unslow.attach.target import find, target_of
    from unslow.cli.show import print_report, report_on, text_of
    from unslow.live.known import UntilKnown

    pid, name = options.pid, options.name
    if (pid is None) == (name is None):
        raise click.UsageError("Give the number of a process or --name, and not both.")
    target = target_of(pid) if pid is not None else find(str(name))
    usual = f".unslow/{time.strftime('%Y%m%d-%H%M%S')}-attach-{target.pid}"
    folder = Path(options.out or usual).absolute()
    if folder.exists():
        raise UnslowError(
            f"{folder} exists", "a run folder is never overwritten", "Name another.", "attach"
        )
    with attached(target, folder) as session, UntilKnown(str(folder), options.until):
        click.echo(
            f"unslow: attached to process {target.pid} by {session.way}; the training was held up "
            f"for {_at_most(session.arming)}. Ctrl-C ends the recording, not the training.",
            err=True,
        )
        terminal = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
        draws = terminal and options.form == "terminal"
        _follow(session, options.seconds, options.steps, draws)
    for sentence in _farewell(session):
        click.echo(f"unslow: {sentence}", err=True)
    view = report_on(str(folder))[1]
    if options.form == "json":
        click.echo(text_of(view, "json"), nl=False)
    else:
        print_report(view, sys.stdout)


def _farewell(session: Attached) -> Iterator[str]:
    """What happened at the end of an attached recording."""
    pid = session.target.pid
    if session.disarming is not None:
        held = _at_most(session.disarming)
        yield f"detached from process {pid}, which runs on; it was held up for {held}."
    elif session.has_ended():
        yield f"process {pid} ended; what was recorded until then follows."
    else:
        yield (
            f"process {pid} does not answer: it is stopped or in a long native call. "
            "The recorder leaves it as soon as it goes on."
        )
    if session.problem:
        yield f"the recording is not complete: {session.problem}"


def _at_most(pause: Pause) -> str:
    busy = ""
    if pause.waited > pause.worked:
        busy = f" ({_milliseconds(pause.waited)} of that while other programs had the processors)"
    return f"{_milliseconds(pause.seconds)} at most{busy}"


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(1e3 * seconds))} ms"


class _Polls:
    """Inspects the recording from time to time, and draws it as `unslow live` does."""

    def __init__(self, folder: Path, screen: Whole | None) -> None:
        from unslow.live.watch import Watch

        self._watch, self._screen = Watch(str(folder)), screen
        self._next = 0.0

    def steps(self) -> int:
        """Steps that were recorded by the last poll."""
        if time.monotonic() >= self._next:
            before = time.thread_time()
            self._view = self._watch.poll()
            self._draw()
            self._next = time.monotonic() + self._watch.rest(before)
        return int(self._view["steps"])

    def _draw(self) -> None:
        from unslow.report.live import drawn

        if self._screen is not None:
            self._screen.draw(drawn(self._view, self._screen.room))


def _follow(session: Attached, seconds: float | None, steps: int | None, draws: bool) -> None:
    """Wait until the time or the steps are over, the process ends, or Ctrl-C is typed."""
    from unslow.live.screen import Whole, given_back_on_stop

    screen = Whole(sys.stdout.fileno()) if draws else None
    polls = _Polls(session.folder, screen) if draws or steps is not None else None
    end = time.monotonic() + (math.inf if seconds is None else seconds)
    with ExitStack() as opened:
        if screen is not None:
            opened.callback(screen.close)
            opened.enter_context(given_back_on_stop(screen.close))
        try:
            while not session.is_over() and time.monotonic() < end:
                done = polls.steps() if polls is not None else 0
                if steps is not None and done >= steps:
                    return
                time.sleep(_POLL)
        except KeyboardInterrupt:
            opened.close()
            click.echo("unslow: detaching", err=True)
