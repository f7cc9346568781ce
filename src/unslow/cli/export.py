"""`unslow export`: a run for other tools."""

from __future__ import annotations

import click

from unslow.cli.output import format_option, write_json
from unslow.cli.recorded import chosen_run
from unslow.cli.show import diagnosis_of
from unslow.export import FORMATS


@click.command(short_help="Write a run for TensorBoard, Perfetto, W&B, MLflow and other tools.")
@click.argument("target", metavar="FORMAT", type=click.Choice(sorted(FORMATS)))
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="PATH", help="Where to (default: into the run folder).")
@format_option("terminal", "json")
def export(target: str, run: str | None, output: str | None, form: str) -> None:
    """Write RUN (a run folder, part of its name, or the newest one) as FORMAT; print the path."""
    from unslow.export import export as write

    path = write(diagnosis_of(chosen_run(run)), target, output)
    if form == "json":
        write_json({"format": target, "path": str(path)})
    else:
        click.echo(path)
