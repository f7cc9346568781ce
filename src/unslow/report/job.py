"""The words and the table of a job that terminal, markdown and HTML share; reads only the view."""

from __future__ import annotations

from collections import Counter
from typing import Any

from unslow.report import words
from unslow.report.words import Row

MOST_WORKERS = 12  # rows of a table that a person reads; the JSON has all
SHADES = " ░▒▓█"
_ALONE = 4  # rows of a heat map that are never joined with others
_FULL = 0.8  # share of waiting that is the darkest shade
_WORTH = 0.01  # of a step: a difference below is not named


def headline(job: Row) -> str:
    """How many workers there are, and what their waiting costs."""
    recorded, size = job["recorded"], job["size"]
    who = words.count(recorded, "worker")
    if size > recorded:
        who += f" of {size:,}"
    if not job["steps"]:
        return f"{who}; no step was recorded that all of them made"
    step, ideal = job["step_seconds"], job["ideal_step_seconds"]
    text = f"{who}, {words.count(job['steps'], 'step')} of {words.seconds(step)}"
    if ideal and step - ideal >= _WORTH * step:
        text += f"; {words.seconds(ideal)} if none had to wait for a slow one"
    return text


def notes(job: Row) -> list[str]:
    """What is odd about the job: workers that are missing, late or dead, clocks that differ."""
    states = [f"{each['name']}: {each['state']}" for each in job["others"] if not each["whole"]]
    states += [
        f"{each['name']}: {each['state']}{_steps(each)}"
        for each in job["workers"]
        if not each["whole"]
    ]
    if len(states) > MOST_WORKERS:
        states = [*states[:MOST_WORKERS], f"and {len(states) - MOST_WORKERS:,} more"]
    if job["clock_error_seconds"] >= 1e-3:
        error = words.seconds(job["clock_error_seconds"])
        states.append(f"the clocks of the machines were aligned to within {error}")
    return [*states, *job["notes"]]


def _steps(worker: Row) -> str:
    if not worker["last_step"]:
        return ", without a step"
    return f", steps {worker['first_step']:,} to {worker['last_step']:,}"


def steps(view: Row) -> str:
    """The steps of a run; those of a job are made by all of its workers together."""
    job = view["job"]
    if job is None or not job["steps"]:
        return words.count(view["steps"], "step")
    return f"{words.count(job['steps'], 'step')} × {words.count(job['recorded'], 'worker')}"


HEADS = ("worker", "host", "last in", "others wait", "own work", "waits", "more than the others")


def table(job: Row) -> list[tuple[str, ...]]:
    """The workers that others wait for most, in the columns of HEADS."""
    return [_cells(row) for row in job["workers"][:MOST_WORKERS]]


def _cells(row: Row) -> tuple[str, ...]:
    excess = ""
    if row["excess_seconds"] >= _WORTH * max(row["step_seconds"], 1e-12):
        excess = f"{row['excess']} +{words.seconds(row['excess_seconds'])}"
    return (
        row["name"],
        row["host"],
        words.share(row["last_share"]),
        words.seconds(row["caused_seconds"]) if row["caused_seconds"] > 0 else "–",
        words.seconds(row["own_seconds"]),
        f"{words.seconds(row['wait_seconds'])} ({words.share(row['wait_share'])})",
        excess,
    )


def rest(job: Row) -> str:
    """The workers that the table leaves out, in one line."""
    left = job["workers"][MOST_WORKERS:]
    if not left:
        return ""
    own = sorted(row["own_seconds"] for row in left)
    waits = sorted(row["wait_share"] for row in left)
    work = f"{words.seconds(own[0])} to {words.seconds(own[-1])} of own work a step"
    return (
        f"and {words.count(len(left), 'more worker')}: {work}, "
        f"{words.share(waits[0])} to {words.share(waits[-1])} waiting"
    )


def shown(view: Row, rows: list[Any], key: str = "process") -> list[Any]:
    """Loops, or memory, of a job: those of the worst and of the typical worker."""
    job = view["job"]
    if job is None or not job["shown"]:
        return rows
    return [row for row in rows if row[key] in job["shown"]]


def shades(heat: Row, columns: int, rows: int) -> list[tuple[str, str]]:
    """The heat map as characters: the name of each row, and a shade for each stretch of time."""
    drawn = []
    for group in _groups(heat, rows):
        label = heat["labels"][group[0]]
        if len(group) > 1:
            last = heat["labels"][group[-1]].rpartition(" ")[2].rpartition("–")[2]
            label = f"{label.partition('–')[0]}–{last}"
        lines = [heat["wait_share"][row] for row in group]
        drawn.append((label, _shaded(lines, columns)))
    return drawn


def _groups(heat: Row, most: int) -> list[list[int]]:
    """Rows to draw: those that were last stay alone, the others are joined where they are many."""
    count = len(heat["labels"])
    if count <= most:
        return [[row] for row in range(count)]
    times = Counter(row for row in heat["last"] if row is not None)
    alone = sorted(row for row, _ in times.most_common(_ALONE))
    others = [row for row in range(count) if row not in alone]
    size = -(-len(others) // (most - len(alone)))
    joined = [others[at : at + size] for at in range(0, len(others), size)]
    return [*([row] for row in alone), *joined]


def _shaded(lines: list[list[float | None]], columns: int) -> str:
    cells = len(lines[0])
    wide = -(-cells // columns)
    shaded = ""
    for begin in range(0, cells, wide):
        values = [value for line in lines for value in line[begin : begin + wide]]
        shaded += _shade(values)
    return shaded


def _shade(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "·"
    share = sum(known) / len(known)
    return SHADES[min(len(SHADES) - 1, int(share / _FULL * len(SHADES)))]
