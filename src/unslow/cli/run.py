"""`unslow run`: record a command, then print the report to stderr, since stdout is the command's own."""

from __future__ import annotations

import sys
import tempfile

import click

from unslow.cli.show import FORMATS, emit, report_on
from unslow.live.beside import Beside, Manner, Place, manner
from unslow.proof import launch


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a training as it is, record it, and say why it is slow.",
)
@click.option("-m", "--module", is_flag=True, help="Run a module, as `python -m` does.")
@click.option(
    "--python",
    metavar="PATH",
    help="The Python that has the training's TensorFlow; unslow need not be in it.",
)
@click.option("--out", metavar="FOLDER", help="Where to record (default: .unslow/<time>-<name>).")
@click.option("--json", "json_path", metavar="PATH", help="Also write the report as JSON.")
@click.option("--html", "html_path", metavar="PATH", help="Also write the report as a web page.")
@click.option("--check", is_flag=True, help="Exit with 1 when findings remain.")
@click.option("-q", "--quiet", is_flag=True, help="Record only; print no report.")
@click.option(
    "--live/--no-live",
    "live",
    default=None,
    help="Show how it goes in the last rows of the terminal (default: a line now and then, and only on a terminal).",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    module: bool,
    python: str | None,
    out: str | None,
    json_path: str | None,
    html_path: str | None,
    check: bool,
    quiet: bool,
    live: bool | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND as it is, record it, and say why it is slow.

    \b
    unslow run train.py --epochs 3
    unslow run -m package.train --epochs 3
    unslow run -- sh train.sh
    """
    words = launch.command_for(command, python, module)
    folder = _folder(out, command[0])
    with _view(folder, False if quiet and live is None else live) as shown:
        ended = launch.record(words, folder)
    if shown.problem:
        click.echo(
            f"unslow: the live view failed, the recording did not: {shown.problem}", err=True
        )
    healthy = True
    if not quiet or json_path or html_path or check:
        diagnosis, view = report_on(folder)
        healthy = diagnosis.healthy or not diagnosis.findings
        if not quiet:
            emit(view, "terminal", sys.stderr)
        for path, chosen in ((json_path, "json"), (html_path, "html")):
            if path:
                with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - the user's own path, as typed
                    file.write(FORMATS[chosen](view))
    if check and not healthy and not ended.signal and ended.code == 0:
        sys.exit(1)
    launch.die_as(ended)


def _view(folder: str, wanted: bool | None) -> Beside:
    place = Place()
    how = manner(wanted, place.shared, place.said, place.apart, place.terminal)
    if wanted and how is Manner.NONE:
        click.echo(
            f"unslow: no terminal to draw on; watch it from one: unslow live {folder}", err=True
        )
    return Beside(folder, how, place.fd)


def _folder(out: str | None, name: str) -> str:
    """The run folder; where none can be made the training runs all the same, recorded into a temporary one."""
    try:
        return launch.new_folder(out, name)
    except OSError as problem:
        folder = tempfile.mkdtemp(prefix="unslow-")
        click.echo(
            f"unslow: cannot write here ({problem.strerror}); recording into {folder}", err=True
        )
        return folder
