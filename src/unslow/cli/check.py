"""`unslow check`: causes seen in source, without running it."""

from __future__ import annotations

import sys

import click

from unslow.cause import Cause, load
from unslow.check import Report, check_paths
from unslow.check.formats import FORMATS


@click.command(short_help="Look for causes in source, without running it.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.option(
    "--only", metavar="CAUSE", multiple=True, help="Look for this cause only; several with commas."
)
@click.option(
    "--skip",
    metavar="CAUSE",
    multiple=True,
    help="Do not look for this cause; several with commas.",
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help="Leave out files below a folder that match."
)
def check(
    paths: tuple[str, ...],
    form: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    exclude: tuple[str, ...],
) -> None:
    """Look for causes in the files PATHS, and in the Python files below the folders PATHS.

    It runs nothing, so it says what is there and when that matters, never what it costs: that is what
    `unslow run` measures. A comment silences a line: `# unslow: ignore[cause]`, or `# unslow: ignore`.

    Exit code: 0 nothing found, 1 something found, 2 nothing found but not everything could be read.
    """
    causes = _chosen(load()[0], only, skip)
    reports = check_paths(paths, causes, exclude)
    click.echo(FORMATS[form](reports, causes), nl=False)
    found = sum(len(report.found) for report in reports)
    unread = _tell_problems(reports)
    if form == "text":
        files = f"{len(reports)} file{'' if len(reports) == 1 else 's'}"
        click.echo(
            f"unslow: {found} found in {files}" if found else f"unslow: nothing found in {files}",
            err=True,
        )
    sys.exit(1 if found else 2 if unread else 0)


def _chosen(causes: tuple[Cause, ...], only: tuple[str, ...], skip: tuple[str, ...]) -> list[Cause]:
    known = {cause.id for cause in causes}
    only, skip = (
        tuple(name for text in texts for name in text.split(",")) for texts in (only, skip)
    )
    for name in (*only, *skip):
        if name not in known:
            raise click.BadParameter(f"there is no cause {name}; `unslow explain` lists them")
    return [cause for cause in causes if (not only or cause.id in only) and cause.id not in skip]


def _tell_problems(reports: list[Report]) -> bool:
    """Say on stderr what was not looked at; True if there was any."""
    unread = False
    for report in reports:
        if report.problem:
            click.echo(f"unslow: {report.file} {report.problem}", err=True)
        for item in report.not_judged:
            click.echo(
                f"unslow: {report.file}: {item.cause} was not judged: {item.reason}", err=True
            )
        unread = unread or bool(report.problem or report.not_judged)
    return unread
