"""`unslow export`: a run for other tools, or many runs as a data set."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from unslow.cli.output import format_option, write_json
from unslow.cli.recorded import chosen_run, recorded
from unslow.cli.show import diagnosis_of
from unslow.errors import UnslowError, cannot_write
from unslow.export import FORMATS


@click.command(short_help="Write a run for TensorBoard, Perfetto, W&B, MLflow and other tools.")
@click.argument("target", metavar="FORMAT", type=click.Choice(sorted(FORMATS)))
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("-o", "--output", metavar="PATH", help="Where to (default: into the run folder).")
@click.option(
    "--dataset",
    metavar="FOLDER",
    help="With parquet: add all RUNs, or every recorded one, to a partitioned data set.",
)
@format_option("terminal", "json")
def export(
    target: str, runs: tuple[str, ...], output: str | None, dataset: str | None, form: str
) -> None:
    """Write RUN (a run folder, part of its name, or the newest one) as FORMAT; print the path."""
    from unslow.export import export as write

    if dataset is not None:
        _must_be_parquet(target)
        _add_to(Path(dataset), runs)
        path = Path(dataset)
    elif len(runs) > 1:
        why = f"{len(runs)} runs were named, and only a data set holds several"
        raise UnslowError(f"cannot export to {target}", why, "Add --dataset FOLDER.", "usage")
    else:
        path = write(diagnosis_of(chosen_run(next(iter(runs), None))), target, output)
    if form == "json":
        write_json({"format": target, "path": str(path)})
    else:
        click.echo(path)


def _must_be_parquet(target: str) -> None:
    if target != "parquet":
        why = "only Parquet files make a data set"
        raise UnslowError(f"--dataset with {target}", why, "Type parquet instead.", "usage")


def _add_to(dataset: Path, runs: tuple[str, ...]) -> None:
    from unslow.export.dataset import add

    folders = [chosen_run(run) for run in runs] or [str(folder) for folder in recorded()]
    folders = folders or [chosen_run(None)]  # says that there is none
    shown = sys.stderr
    with click.progressbar(folders, label="runs", file=shown, hidden=not shown.isatty()) as each:
        for folder in each:
            diagnosis = diagnosis_of(folder, with_fixes=False)
            try:
                add(diagnosis, dataset)
            except OSError as problem:
                hint = "Name another folder with --dataset."
                raise cannot_write(dataset, problem, hint) from None
