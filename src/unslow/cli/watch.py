"""`unslow watch`: one process that reports what happens to any number of runs."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unslow.cli.output import format_option
from unslow.cli.recorded import chosen_run, settings
from unslow.errors import UnslowError

if TYPE_CHECKING:
    from unslow.watch.alert import Alert
    from unslow.watch.figures import Value
    from unslow.watch.targets import Target
    from unslow.watch.watching import Watching


class Share(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`10%` or `0.1`."""

    name = "share"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0.03 <= share <= 10:
            self.fail(f"{value!r} is not a share from 3% to 1000%", param, context)
        return share


@dataclass(frozen=True)
class _Receivers:
    """Where alerts and numbers go, besides the terminal."""

    on_alert: str | None
    webhook: str | None
    metrics: str | None
    otlp: str | None


@click.command(short_help="Watch runs for days; say when one slows down, stalls, fills up or ends.")
@click.argument("what", metavar="[RUN|PID|FOLDER]", required=False)
@click.option(
    "--slower",
    "share",
    type=Share(),
    default="10%",
    show_default=True,
    help="What counts as slower.",
)
@click.option("--on-alert", metavar="CMD", help="Run a command for each alert; JSON on its stdin.")
@click.option("--webhook", metavar="URL", help="Send each alert as JSON by POST.")
@click.option("--metrics", metavar=":PORT", help="Serve metrics for Prometheus, on loopback only.")
@click.option("--otlp", metavar="URL", help="Send metrics by OTLP over HTTP.")
@format_option("terminal", "json")
def watch(what: str | None, share: float, form: str, **receivers: str | None) -> None:
    """Watch a run, the run of a process, or all runs in a folder, until they end.

    \b
    unslow watch                          the newest run here
    unslow watch 4711                     a running process; attaches where it is not recorded
    unslow watch .unslow --metrics :9464  every run in a folder, also those that begin later

    Says once when a training slows down, stalls, fills memory or disk, dies or is done. Only files
    are read; Ctrl-C ends the watching, never the training. Exits with 1 if a run died.
    """
    from unslow.watch.watching import Watching

    with _target(what) as target, ExitStack() as open_until_the_end:
        watching = Watching(target, _notice, share)
        watching.look_at_first()
        say = _Say(form, watching)
        say.open(_Receivers(**receivers), open_until_the_end)
        say.beginning()
        try:
            _until_over(watching, say)
        except KeyboardInterrupt:
            click.echo("unslow: no longer watching; the training goes on", err=True)
            return
    if watching.died:
        sys.exit(1)


def _until_over(watching: Watching, say: _Say) -> None:
    while True:
        before = time.process_time()
        for alert in watching.poll():
            say.alert(alert)
        if watching.over:
            return
        time.sleep(watching.rest(time.process_time() - before))


class _Say:
    """Hands alerts to the terminal and to every receiver."""

    def __init__(self, form: str, watching: Watching) -> None:
        from unslow.watch.figures import Counts

        self._form, self._watching = form, watching
        self._counts = Counts()

    def open(self, receivers: _Receivers, stack: ExitStack) -> None:
        from unslow.watch import metrics
        from unslow.watch.deliver import Command, Deliverer, Send, webhook
        from unslow.watch.figures import values_of

        sends: list[Send] = []
        if receivers.on_alert:
            sends.append(Command(receivers.on_alert))
        if receivers.webhook:
            sends.append(webhook(receivers.webhook))
        watching = self._watching

        def gauges() -> Iterator[Value]:
            return values_of(list(watching.runs.values()))

        if receivers.metrics:
            port = metrics.port_of(receivers.metrics)
            stack.callback(metrics.serve(port, gauges, self._counts.values))
            _notice(f"metrics at http://{metrics.LOOPBACK}:{port}/metrics")
        if receivers.otlp:
            stack.callback(metrics.send(receivers.otlp, gauges, self._counts.values))
        self._deliverer = Deliverer(sends, _notice)
        stack.callback(self._deliverer.close)

    def beginning(self) -> None:
        target = self._watching.target
        number = len(self._watching.runs)
        runs = f"{number} run{'' if number == 1 else 's'} in " if target.many else ""
        _notice(f"watching {runs}{os.path.relpath(target.folder)}; Ctrl-C ends it")

    def alert(self, alert: Alert) -> None:
        self._counts.add(alert)
        self._deliverer.send(alert)
        if self._form == "json":
            click.echo(json.dumps(alert.as_json()))
            return
        at = time.strftime("%H:%M:%S", time.localtime(alert.time))
        color = "green" if alert.matter.value == "done" else "yellow"
        click.echo(f"{at}  {alert.run}  {click.style(alert.text, fg=color)}")


def _notice(text: str) -> None:
    click.echo(f"unslow: {text}", err=True)


@contextmanager
def _target(what: str | None) -> Iterator[Target]:
    """What was named; a process that is not recorded is attached to meanwhile."""
    from unslow.watch.targets import Target, is_run, run_of_process

    if what is None or not what.isdigit() or Path(what).exists():
        folder = Path(what) if what is not None and Path(what).is_dir() else Path(chosen_run(what))
        many = not is_run(folder)
        if many and not any(folder.glob("*/run.json")):
            raise UnslowError(
                f"cannot watch {folder}",
                "it is no run folder, and there is none in it",
                "Record a run first: unslow run train.py",
                "watch",
            )
        yield Target(folder.absolute(), many)
        return
    recorded = run_of_process(int(what), Path(settings().runs))
    if recorded is not None:
        yield Target(recorded.absolute(), False)
        return
    with _attached(int(what)) as folder:
        yield Target(folder, False)


@contextmanager
def _attached(pid: int) -> Iterator[Path]:
    from unslow.attach.session import attached
    from unslow.attach.target import target_of

    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path(settings().runs).absolute() / f"{stamp}-attach-{pid}"
    with attached(target_of(pid), folder) as session:
        _notice(f"attached to process {pid} by {session.way}")
        yield folder
