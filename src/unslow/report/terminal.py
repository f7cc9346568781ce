"""The report for a terminal: the verdict first, then its evidence; reads only the view."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unslow.report import job as jobs
from unslow.report import outline, words
from unslow.report.rows import BarRow, CodeRow, FindingRow, LocationRow, LoopRow, SparklineRow
from unslow.report.terminal_job import job_parts
from unslow.report.terminal_layout import (
    Unbroken,
    cut_line,
    inside,
    item,
    pairs,
    prose,
    shares,
    title,
)
from unslow.report.view.fence import Fence
from unslow.report.words import Row

BLOCKS = "▁▂▃▄▅▆▇█"
BAR = 24  # columns of a phase's bar
_MOST_LOOPS = 20  # runs of many workers have one loop each
_MOST_HOT_LINES = 5
_VERDICT = {
    "fault": "bold red",
    "healthy": "bold green",
    "honest": "bold cyan",
    "no-steps": "bold yellow",
    "unexplained": "bold yellow",
}


def renderable(view: Row) -> RenderableType:
    """The whole report; fits 80 columns."""
    problems, notes = outline.divided(view["findings"])
    parts: list[RenderableType] = [_head(view), *_verdict(view)]
    for number, finding in enumerate(problems, 1):
        make = partial(_finding, f"{number}. ", finding, is_lead=number == 1)
        parts += _fenced(f"the details of {finding['cause']}", make)
    if notes:
        parts += [title("Also worth knowing"), *map(_note, notes)]
    parts += [
        *_fenced("the job", partial(job_parts, view["job"])),
        *_fenced("the account", partial(_account, view)),
        *_fenced("the loops", partial(_loops, jobs.shown(view, view["loops"]))),
        *_fenced("the memory", partial(_memory, view)),
        *_fenced("the busiest lines", partial(_hot_lines, view)),
        *_limits(view),
    ]
    return Unbroken(Group(*parts, *_footer(view)))


def _fenced(name: str, make: Callable[[], list[RenderableType]]) -> list[RenderableType]:
    """A part of the report; one that fails is named, the others are shown."""
    fence = Fence()
    parts = fence.part(name, make, [])
    return [*parts, *map(item, fence.failed)]


def _head(view: Row) -> RenderableType:
    """The command on one line, cut where it is too long: the page and the JSON have all of it."""
    ended = "" if view["how"] else f", {view['ended']}"
    counts = f"{words.seconds(view['seconds'])}, {jobs.steps(view)}{ended}"
    command = cut_line(("unslow  ", "bold"), (view["command_line"], "dim"))
    return Group(command, Text(f"        {counts}", "dim"))


def _verdict(view: Row) -> list[RenderableType]:
    verdict = view["verdict"]
    parts: list[RenderableType] = []
    if view["how"]:
        parts.append(prose(f"\nThe run {view['how']}.", "bold yellow"))
    parts.append(prose(f"\n{verdict['text']}", _VERDICT[verdict["kind"]]))
    if verdict["more"]:
        parts.append(prose(verdict["more"]))
    if verdict["kind"] == "no-steps":
        parts.append(Text("Seen instead:"))
        parts += map(item, view["seen_instead"])
        parts.append(Text("Is another file the training script?  (unslow explain no-steps)"))
    return parts


def _finding(number: str, finding: FindingRow, is_lead: bool = False) -> list[RenderableType]:
    """The verdict has just shown the title and the forecast of the first one."""
    parts: list[RenderableType] = [_summary(number, finding)]
    if not is_lead:
        parts.append(prose(finding["title"]))
    if finding["location"]:
        parts.append(_code(finding["location"]))
    rows = outline.evidence(finding)
    if rows:
        parts.append(pairs(rows))
    parts += [_way(*way) for way in outline.ways_out(finding, with_forecast=not is_lead)]
    return [parts[0], *(inside(part, 3) for part in parts[1:])]


def _summary(number: str, finding: FindingRow) -> Text:
    head = Text.assemble((f"\n{number}{finding['cause']}", "bold"))
    head.append(f"  {' · '.join(outline.summary(finding))}", style="dim")
    return head


def _note(finding: FindingRow) -> RenderableType:
    """What belongs to no line, such as a busy machine, takes one line."""
    if finding["location"]:
        return Group(*_finding("", finding))
    return item(f"{finding['cause']}: {finding['title'].rstrip('.')}.")


def _code(location: LocationRow) -> RenderableType:
    where = Text(words.line(location), style="bold", overflow="fold")
    if location["function"] not in ("", "<module>"):
        where.append(f" in {location['function']}", style="not bold")
    if not location["context"]:
        return where
    width = len(str(location["context"][-1]["line"])) + 2
    lines = [_code_line(row, location["line"], width) for row in location["context"]]
    return Group(where, *lines)


def _code_line(row: CodeRow, here: int, width: int) -> Text:
    if row["line"] == here:
        return cut_line((f"{'> ' + str(here):>{width}} │ {row['code']}", "bold"))
    return cut_line((f"{row['line']:>{width}} │ {row['code']}", "dim"))


_WAYS = {"Later": "yellow", "No diff": "yellow"}


def _way(label: str, text: str) -> Text:
    return Text.assemble((f"{label}: ", f"bold {_WAYS.get(label, 'green')}"), prose(text))


def _account(view: Row) -> list[RenderableType]:
    rows = outline.account(view)
    return [title("Where the run's time went"), inside(shares(rows))] if rows else []


def _loops(loops: list[LoopRow]) -> list[RenderableType]:
    if not loops:
        return []
    parts: list[RenderableType] = [title("Loops"), *map(_loop, loops[:_MOST_LOOPS])]
    more = len(loops) - _MOST_LOOPS
    if more > 0:
        parts.append(Text(f"… and {words.count(more, 'more loop')}: unslow why --format json"))
    return parts


def _loop(loop: LoopRow) -> RenderableType:
    head = Text(f"\n{loop['line']}", style="bold", overflow="fold")
    head.append_text(prose(f"  {outline.loop_summary(loop)}", "not bold"))
    parts: list[RenderableType] = []
    if loop["location"]["code"]:
        parts.append(cut_line((loop["location"]["code"], "dim")))
    course = words.capitalized(words.ended(outline.loop_course(loop)))
    parts += [_sparkline(loop["sparkline"]), prose(course), _phases(loop["bars"])]
    return Group(head, *map(inside, parts))


def _sparkline(line: SparklineRow) -> Text:
    """Bars from zero, or from the smallest value on a log scale."""
    if not line["values"]:
        return Text("")
    log = line["scale"] == "log" and line["low"] > 0
    scaled = [math.log(value / line["low"]) if log else value for value in line["values"]]
    top = max(scaled) or 1.0
    steps = [int(value / top * len(BLOCKS)) for value in scaled]
    blocks = "".join(BLOCKS[min(len(BLOCKS) - 1, step)] for step in steps)
    ends = f"  {words.seconds(line['low'])} to {words.seconds(line['high'])}"
    return Text.assemble((blocks, "cyan"), (f"{ends}{', log scale' if log else ''}", "dim"))


def _phases(bars: list[BarRow]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    for bar in bars:
        filled = round(bar["share"] * BAR)
        drawn = Text.assemble(("█" * filled, "cyan"), ("·" * (BAR - filled), "dim"))
        per_step = f"{words.seconds(bar['per_step'])} a step"
        table.add_row(Text(bar["label"]), drawn, words.share(bar["share"]), per_step)
    return table


def _memory(view: Row) -> list[RenderableType]:
    rows = jobs.shown(view, view["memory"])
    several = len(view["memory"]) > 1
    lines = [inside(prose(outline.memory(row, several))) for row in rows]
    return [title("Memory"), *lines, *_memory_account(view)] if lines else []


def _memory_account(view: Row) -> list[RenderableType]:
    """What the peak consists of, where it is worth it."""
    rows = outline.memory_account(view)
    if not rows:
        return []
    return [inside(prose(outline.memory_peak(view))), inside(shares(rows), 4)]


def _hot_lines(view: Row) -> list[RenderableType]:
    rows = [_hot_line(row) for row in view["hot_lines"][:_MOST_HOT_LINES]]
    if not rows:
        return []
    widths = [max(cell_len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for share, below, where, code in rows:
        cells = (set_cell_size(below, widths[1]), set_cell_size(where, widths[2]))
        line = (f"{share:>{widths[0]}}  {'  '.join(cells)}  ", "")
        lines.append(inside(cut_line(line, (code, "dim"))))
    return [title("Your hottest lines, by stack samples"), *lines]


def _hot_line(row: Row) -> tuple[str, str, str, str]:
    below = row["below"][0]["name"]
    inside = "own Python" if below == "python" else f"in {_tail(below, 14)}"
    where = _tail(f"{row['file']}:{row['line']}", 28)
    return words.share(row["share"]), inside, where, row["code"]


def _tail(text: str, width: int) -> str:
    """The end of a path says more than its start."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _limits(view: Row) -> list[RenderableType]:
    return [title("Limits of this report"), *map(item, outline.limits(view))]


def _footer(view: Row) -> list[RenderableType]:
    """Where the run is, and what to type next."""
    table = Table.grid(padding=(0, 3))
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for command, purpose in view["next"]:
        table.add_row(Text(command), purpose)
    return [Text(f"\nRecorded in {view['folder']}", "dim", overflow="fold"), table]
