"""`unslow export`: a run for other people's tools."""

from __future__ import annotations

import click

from unslow.cli.show import chosen_run
from unslow.export import FORMATS


@click.command(short_help="Write a run for TensorBoard, Perfetto, Parquet or OpenTelemetry.")
@click.argument("form", metavar="FORMAT", type=click.Choice(sorted(FORMATS)))
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="PATH", help="Where to (default: into the run folder).")
def export(form: str, run: str | None, output: str | None) -> None:
    """Write RUN (a run folder, part of its name, or the newest one) as FORMAT, and print where."""
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose
    from unslow.export import export as write

    click.echo(write(diagnose(load(chosen_run(run))), form, output))
