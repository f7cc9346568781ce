"""`unslow why`: the report of a recorded run, in any format, at any time."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import click

from unslow.cli.show import FORMATS, chosen_run, emit, report_on


@click.command(short_help="Show the report of a recorded run again.")
@click.argument("run", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", *FORMATS]),
    default="terminal",
    show_default=True,
)
@click.option("-o", "--output", metavar="PATH", help="Write to a file instead of the terminal.")
@click.option(
    "--open", "open_page", is_flag=True, help="Write the web page and open it in the browser."
)
@click.option("--check", is_flag=True, help="Exit with 1 when findings remain.")
def why(run: str | None, form: str, output: str | None, open_page: bool, check: bool) -> None:
    """Say why RUN was slow: a run folder, part of its name, or the newest one."""
    folder = chosen_run(run)
    diagnosis, view = report_on(folder)
    if open_page:
        form, output = "html", output or str(Path(folder) / "report.html")
    if output:
        with Path(output).open("w", encoding="utf-8") as file:
            emit(view, form, file)
        click.echo(output)
        if open_page:
            webbrowser.open(Path(output).resolve().as_uri())
    else:
        emit(view, form, sys.stdout)
    if check and any(finding.fault for finding in diagnosis.findings):
        sys.exit(1)
