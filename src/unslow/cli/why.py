"""`unslow why`: the report of a recorded run, in any format, at any time."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import click

from unslow.cli.output import format_option, must_be_writable, write
from unslow.cli.recorded import chosen_run
from unslow.cli.show import FORMATS, print_report, report_on, text_of


@click.command(short_help="Show the report of a recorded run again.")
@click.argument("run", required=False)
@format_option("terminal", *FORMATS)
@click.option("-o", "--output", metavar="PATH", help="Write to a file instead of the terminal.")
@click.option(
    "--open", "open_page", is_flag=True, help="Write the web page and open it in the browser."
)
@click.option(
    "--check", is_flag=True, help="Exit with 1 if a problem was found or nothing was judged."
)
def why(run: str | None, form: str, output: str | None, open_page: bool, check: bool) -> None:
    """Say why RUN was slow: a run folder, part of its name, or the newest one."""
    folder = chosen_run(run)
    if open_page:
        form, output = "html", output or str(Path(folder) / "report.html")
    must_be_writable(output)
    diagnosis, view = report_on(folder)
    if output and form == "terminal":
        with Path(output).open("w", encoding="utf-8") as file:
            print_report(view, file)
    elif output:
        write(output, text_of(view, form))
    elif form == "terminal":
        print_report(view, sys.stdout)
    else:
        click.echo(text_of(view, form), nl=False)
    if output:
        click.echo(output)
    if output and open_page:
        webbrowser.open(Path(output).resolve().as_uri())
    if check and not diagnosis.healthy:
        sys.exit(1)
