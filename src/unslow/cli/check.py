"""`unslow check`: causes found in source, without running it."""

from __future__ import annotations

import sys

import click

from unslow.cause import Cause, load
from unslow.check import Report, check_paths
from unslow.check.formats import FORMATS
from unslow.cli.output import format_option, say
from unslow.cli.recorded import settings
from unslow.errors import UnslowError, suggestion
from unslow.report import words


@click.command(short_help="Find causes in source, without running it.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True))
@format_option("text", *(name for name in FORMATS if name != "text"))
@click.option(
    "--only", metavar="CAUSE", multiple=True, help="Only this cause; several separated by commas."
)
@click.option(
    "--skip", metavar="CAUSE", multiple=True, help="Not this cause; several separated by commas."
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help="Leave out matching files of folders."
)
def check(
    paths: tuple[str, ...],
    form: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    exclude: tuple[str, ...],
) -> None:
    """Find causes in the files PATHS, and in the Python files below the folders PATHS.

    It runs nothing, so it reports what is there and when that matters, never what it costs:
    `unslow run` measures that. A comment silences a line: `# unslow: ignore[cause]`, or
    `# unslow: ignore`.

    Exit code: 0 nothing found, 1 something found, 2 nothing found but not everything could be read.
    """
    causes = _chosen(load()[0], only, (*skip, *settings().ignore))
    reports = check_paths(paths, causes, exclude)
    click.echo(FORMATS[form](reports, causes), nl=False)
    found = sum(len(report.found) for report in reports)
    complete = _tell_problems(reports)
    if form == "text":
        files = words.count(len(reports), "file")
        click.echo(f"unslow: {found or 'nothing'} found in {files}", err=True)
    if found:
        sys.exit(1)
    sys.exit(0 if complete else 2)


def _chosen(causes: tuple[Cause, ...], only: tuple[str, ...], skip: tuple[str, ...]) -> list[Cause]:
    wanted, unwanted = (set(filter(None, ",".join(each).split(","))) for each in (only, skip))
    known = [cause.id for cause in causes]
    for name in (wanted | unwanted) - set(known):
        hint = suggestion(name, known) or "`unslow explain` lists them."
        raise UnslowError(f"no cause {name}", "there is none of that name", hint, "unknown-name")
    kept = (wanted or set(known)) - unwanted
    return [cause for cause in causes if cause.id in kept]


def _tell_problems(reports: list[Report]) -> bool:
    """Say on stderr what was not read or judged; False if there was any."""
    problems = [f"{report.file} {report.problem}" for report in reports if report.problem]
    for report in reports:
        for item in report.not_judged:
            problems.append(f"{report.file}: {item.cause} was not judged: {item.reason}")
    for problem in problems:
        say(f"unslow: {problem}")
    return not problems
