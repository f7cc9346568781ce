"""`unslow run`: record a command, then print the report to stderr: stdout is the command's own."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

import click

from unslow.cli.durations import until_option
from unslow.cli.options import takes
from unslow.cli.output import format_option, must_be_writable, say, write
from unslow.cli.recorded import settings
from unslow.cli.show import print_report, report_on, text_of
from unslow.errors import UnslowError, reason_of, suggestion
from unslow.live.beside import Beside, Display, Surroundings, display_for
from unslow.live.known import UntilKnown
from unslow.proof import launch, local_job
from unslow.proof.cluster import Cluster, doubts_about, must_have_no_cluster
from unslow.proof.command import command_for
from unslow.proof.membership import Membership, Register, join, membership_of
from unslow.proof.run_folder import new_folder

_MOST_PROCESSES = 256  # of one kind on one machine: each of them imports TensorFlow


@dataclass(frozen=True)
class _Options:
    """What to run, how to record it, and what to do with the recording."""

    command: tuple[str, ...]
    module: bool
    python: str | None
    out: str | None
    workers: int | None
    ps: int | None
    json_path: str | None
    html_path: str | None
    check: bool
    quiet: bool
    no_sources: bool
    live: bool | None
    until: float | None
    form: str

    @property
    def needs_report(self) -> bool:
        return not self.quiet or self.check or bool(self.json_path or self.html_path)

    @property
    def stdout(self) -> int | None:
        """Where the command prints: as without us, or to stderr where stdout is for our JSON."""
        return sys.stderr.fileno() if self.form == "json" else None


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
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, _MOST_PROCESSES),
    help="Start N workers on this machine, each with its TF_CONFIG.",
)
@click.option(
    "--ps",
    metavar="P",
    type=click.IntRange(1, _MOST_PROCESSES),
    help="With --workers: also P parameter servers and a chief that coordinates.",
)
@click.option("--json", "json_path", metavar="PATH", help="Also write the report as JSON.")
@click.option("--html", "html_path", metavar="PATH", help="Also write the report as a web page.")
@click.option(
    "--check", is_flag=True, help="Exit with 1 if a problem was found or nothing was judged."
)
@click.option("-q", "--quiet", is_flag=True, help="Record only; print no report.")
@click.option(
    "--no-sources", is_flag=True, help="Keep no copy of the source files in the recording."
)
@click.option(
    "--live/--no-live",
    "live",
    default=None,
    help="Show progress in the last rows of the terminal (default: occasional lines).",
)
@until_option
@format_option("terminal", "json")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@takes(_Options)
def run(options: _Options) -> None:
    """Run COMMAND as it is, record it, and say why it is slow.

    \b
    unslow run train.py --epochs 3
    unslow run -m package.train --epochs 3
    unslow run -- sh train.sh
    unslow run --workers 4 train.py

    Exits with the code of the command. Options of unslow go before the script, its own after it.
    The report goes to stderr: stdout is the command's. With --format json the report is printed
    to stdout, and what the command prints goes to stderr.
    """
    cluster = _cluster(options.workers, options.ps)
    must_be_writable(options.json_path)
    must_be_writable(options.html_path)
    _must_be_no_option(options.command[0])
    words = command_for(options.command, options.python, options.module)
    membership = membership_of() if options.out and cluster is None else None
    folder = _folder(options.out, options.command[0], membership)
    ended = _record(words, folder, options, cluster, membership)
    healthy = _reported(folder, ended, options) if options.needs_report else True
    if options.check and not healthy and ended.code == 0:
        sys.exit(1)
    launch.die_as(ended)


def _record(
    words: list[str],
    folder: str,
    options: _Options,
    cluster: Cluster | None,
    membership: Membership | None,
) -> launch.Ended:
    """Run the command, with a view of its progress beside it."""
    extra = {"UNSLOW_NO_SOURCES": "1"} if options.no_sources else {}
    live = False if options.quiet and options.live is None else options.live
    with _beside(folder, live) as beside, UntilKnown(folder, options.until):
        if cluster is not None:
            stdout = options.stdout or 1
            ended = local_job.record(words, folder, cluster, extra, _say, stdout)
        else:
            register = _register(folder, membership)
            ended = launch.record(words, folder, extra, None, register, stdout=options.stdout)
    if beside.problem:
        _say(f"the live view failed, the recording did not: {beside.problem}")
    return ended


def _cluster(workers: int | None, servers: int | None) -> Cluster | None:
    """The processes to start on this machine, if several were requested."""
    if workers is None and servers is not None:
        why = "parameter servers need workers"
        raise UnslowError(f"--ps {servers}", why, "Add --workers N.", "bad-cluster")
    if workers is None:
        doubts = doubts_about(os.environ.get("TF_CONFIG", ""))
        if doubts:
            _say(doubts)
        return None
    must_have_no_cluster()
    return Cluster(workers, servers or 0)


def _register(folder: str, membership: Membership | None) -> Register | None:
    if membership is None:
        return None
    register = Register(folder, membership)
    others = register.namesakes()
    if others:
        _say(
            f"{others[0]} is {membership.task} of this job as well and has not ended: "
            "two processes with one identity, or one that was killed"
        )
    return register


def _say(text: str) -> None:
    click.echo(f"unslow: {text}", err=True)


def _must_be_no_option(word: str) -> None:
    if not word.startswith("-"):
        return
    known = [name for parameter in run.params for name in parameter.opts if name.startswith("--")]
    hint = suggestion(word, known) or "Options of the script go after its name."
    raise UnslowError(f"unslow run {word}", "there is no such option of unslow", hint, "usage")


def _reported(folder: str, ended: launch.Ended, options: _Options) -> bool:
    """The same as `_report`; a mistake of ours is shown, and the command keeps its exit code."""
    try:
        return _report(folder, ended, options)
    except UnslowError as problem:
        say(f"unslow: {problem}")
    except Exception:  # noqa: BLE001 - the fence of the report: the training is over and recorded
        traceback.print_exc()
        say(f"unslow: the report failed, which is a mistake in unslow; recorded in {folder}")
    return False


def _report(folder: str, ended: launch.Ended, options: _Options) -> bool:
    """Print and write the report; says whether the run is healthy."""
    diagnosis, view = report_on(folder)
    if not options.quiet and not diagnosis.run.processes:
        click.echo(
            f"unslow: {_without_tensorflow(ended)}  (unslow explain no-tensorflow)", err=True
        )
    elif not options.quiet and options.form == "terminal":
        print_report(view, sys.stderr)
    if not options.quiet and options.form == "json":
        click.echo(text_of(view, "json"), nl=False)
    for path, form in ((options.json_path, "json"), (options.html_path, "html")):
        if path:
            write(path, text_of(view, form))
    return diagnosis.healthy


def _without_tensorflow(ended: launch.Ended) -> str:
    if ended.code:
        return (
            f"the command ended with {ended.text} before it imported TensorFlow: nothing to report."
        )
    return "no Python process of this command imported TensorFlow: nothing to report."


def _beside(folder: str, wanted: bool | None) -> Beside:
    around = Surroundings.here()
    display = display_for(wanted, around)
    if wanted and display is Display.NONE:
        hint = f"watch it from another terminal: unslow live {folder}"
        click.echo(f"unslow: no terminal to draw on; {hint}", err=True)
    return Beside(folder, display, around.fd)


def _folder(out: str | None, name: str, membership: Membership | None) -> str:
    """The run folder. The training runs even where none can be made: into a temporary one."""
    try:
        if out and membership is not None:
            return join(Path(out), membership)
        return new_folder(out, name, settings().runs)
    except OSError as problem:
        folder = tempfile.mkdtemp(prefix="unslow-")
        where = out if out and membership is not None else "here"
        _say(f"cannot write {where} ({reason_of(problem)}); recording into {folder}")
        return str(Path(folder))
