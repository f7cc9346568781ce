"""Who waits for whom: the workers of a job on a terminal."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unslow.report import job as jobs
from unslow.report import words
from unslow.report.terminal_layout import cut_line, inside, item, prose, title
from unslow.report.words import Row

_HEAT_COLUMNS, _HEAT_ROWS = 48, 16


def job_parts(job: Row | None) -> list[RenderableType]:
    if job is None:
        return []
    parts: list[RenderableType] = [title("Workers"), inside(prose(jobs.headline(job)))]
    if job["heat"]:
        parts += _heat(job["heat"])
    if len(job["pair"]) == 2:
        parts += [Text(""), inside(_pair(job["pair"]))]
    parts += [Text(""), inside(_workers(job))]
    if jobs.rest(job):
        parts.append(inside(Text(jobs.rest(job), "dim")))
    return [*parts, *map(item, jobs.notes(job))]


def _heat(heat: Row) -> list[RenderableType]:
    drawn = jobs.shades(heat, _HEAT_COLUMNS, _HEAT_ROWS)
    width = max(cell_len(label) for label, _ in drawn)
    lines: list[RenderableType] = [
        inside(cut_line((f"{label:<{width}}  ", ""), (cells, "cyan"))) for label, cells in drawn
    ]
    end = words.seconds(heat["until_seconds"][-1])
    caption = f"shade: share of its steps a worker waits for others; left to right: {end}"
    return [*lines, inside(Text(caption, "dim"))]


def _pair(pair: list[Row]) -> Table:
    """The worst and the typical worker side by side."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    for _ in pair:
        table.add_column(justify="right", no_wrap=True)
    table.add_row("a usual step", *(Text(side["name"], "bold") for side in pair))
    labels = dict.fromkeys(bar["label"] for side in pair for bar in side["bars"])
    seconds = [{bar["label"]: bar["seconds"] for bar in side["bars"]} for side in pair]
    for label in labels:
        cells = (words.seconds(each[label]) if label in each else "–" for each in seconds)
        table.add_row(label, *cells)
    return table


def _workers(job: Row) -> Table:
    """Narrow enough for 80 columns: the host is left out, and the waiting's seconds."""
    table = Table.grid(padding=(0, 2))
    chosen = [column for column, head in enumerate(jobs.HEADS) if head != "host"]
    for column in chosen:
        head = jobs.HEADS[column]
        sided = "left" if head in ("worker", jobs.HEADS[-1]) else "right"
        table.add_column(justify=sided, no_wrap=True)  # type: ignore[arg-type]
    table.add_row(*(Text(jobs.HEADS[column], "dim") for column in chosen))
    for cells in jobs.table(job):
        table.add_row(*(Text(cells[column].partition(" (")[0]) for column in chosen))
    return table
