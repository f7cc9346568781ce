"""The report for a terminal: the verdict first, then its evidence; reads only the view."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from unslow.report import job as jobs
from unslow.report import outline, words
from unslow.report.rows import BarRow, CodeRow, FindingRow, LocationRow, LoopRow, SparklineRow
from unslow.report.view.fence import failure
from unslow.report.words import Row

BLOCKS = "▁▂▃▄▅▆▇█"
BAR = 24  # columns of a phase's bar
_MOST_LOOPS = 20  # runs of many workers have one loop each
_MOST_HOT_LINES = 5
_HEAT_COLUMNS, _HEAT_ROWS = 48, 16
_VERDICT = {
    "fault": "bold red",
    "healthy": "bold green",
    "honest": "bold cyan",
    "no-steps": "bold yellow",
    "unexplained": "bold yellow",
}
_JOINT = "\ue000"  # a private character: rich breaks lines at every kind of space


def renderable(view: Row) -> RenderableType:
    """The whole report; fits 80 columns."""
    problems, notes = outline.divided(view["findings"])
    parts: list[RenderableType] = [_head(view), *_verdict(view)]
    for number, finding in enumerate(problems, 1):
        make = partial(_finding, f"{number}. ", finding, is_lead=number == 1)
        parts += _fenced(f"the details of {finding['cause']}", make)
    if notes:
        parts += [_title("Also worth knowing"), *map(_note, notes)]
    parts += [
        *_fenced("the job", partial(_job, view["job"])),
        *_fenced("the account", partial(_account, view)),
        *_fenced("the loops", partial(_loops, jobs.shown(view, view["loops"]))),
        *_fenced("the memory", partial(_memory, view)),
        *_fenced("the busiest lines", partial(_hot_lines, view)),
        *_limits(view),
    ]
    return _Unbroken(Group(*parts, *_footer(view)))


def _fenced(name: str, make: Callable[[], list[RenderableType]]) -> list[RenderableType]:
    """A part of the report; one that fails is named, the others are shown."""
    try:
        return list(make())
    except Exception as problem:  # noqa: BLE001 - the fence of a part
        return [_item(failure(name, problem))]


class _Unbroken:
    """Keeps a number and its unit on one line, and leaves no blanks at the ends of lines."""

    def __init__(self, part: RenderableType) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.part, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            for segment in line[:-1]:
                yield Segment(segment.text.replace(_JOINT, " "), segment.style)
            for last in line[-1:]:
                yield Segment(last.text.rstrip().replace(_JOINT, " "), last.style)
            yield Segment.line()


class _Indented:
    """A part moved to the right; unlike rich's Padding it leaves no blanks at the ends of lines."""

    def __init__(self, part: RenderableType, left: int) -> None:
        self.part, self.left = part, left

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update_width(max(1, options.max_width - self.left))
        for line in console.render_lines(self.part, inner, pad=False):
            yield Segment(" " * self.left)
            yield from line
            yield Segment.line()


def _inside(part: RenderableType, left: int = 2) -> _Indented:
    return _Indented(part, left)


def _text(text: str, style: str = "") -> Text:
    return Text(words.unbroken(text, _JOINT), style)


def _line(*parts: tuple[str, str]) -> Text:
    """Text that is cut rather than wrapped."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold underline")


def _item(text: str) -> RenderableType:
    table = Table.grid()
    table.add_column(width=2)
    table.add_column(overflow="fold")
    table.add_row("· ", _text(text))
    return _inside(table)


def _head(view: Row) -> RenderableType:
    """The command on one line, cut where it is too long: the page and the JSON have all of it."""
    ended = "" if view["how"] else f", {view['ended']}"
    counts = f"{words.seconds(view['seconds'])}, {jobs.steps(view)}{ended}"
    command = _line(("unslow  ", "bold"), (view["command_line"], "dim"))
    return Group(command, Text(f"        {counts}", "dim"))


def _verdict(view: Row) -> list[RenderableType]:
    verdict = view["verdict"]
    parts: list[RenderableType] = []
    if view["how"]:
        parts.append(_text(f"\nThe run {view['how']}.", "bold yellow"))
    parts.append(_text(f"\n{verdict['text']}", _VERDICT[verdict["kind"]]))
    if verdict["more"]:
        parts.append(_text(verdict["more"]))
    if verdict["kind"] == "no-steps":
        parts.append(Text("Seen instead:"))
        parts += map(_item, view["seen_instead"])
        parts.append(Text("Is another file the training script?  (unslow explain no-steps)"))
    return parts


def _finding(number: str, finding: FindingRow, is_lead: bool = False) -> list[RenderableType]:
    """The verdict has just shown the title and the forecast of the first one."""
    parts: list[RenderableType] = [_summary(number, finding)]
    if not is_lead:
        parts.append(_text(finding["title"]))
    if finding["location"]:
        parts.append(_code(finding["location"]))
    rows = outline.evidence(finding)
    if rows:
        parts.append(_pairs(rows))
    parts += [_way(*way) for way in outline.ways_out(finding, with_forecast=not is_lead)]
    return [parts[0], *(_inside(part, 3) for part in parts[1:])]


def _summary(number: str, finding: FindingRow) -> Text:
    head = Text.assemble((f"\n{number}{finding['cause']}", "bold"))
    head.append(f"  {' · '.join(outline.summary(finding))}", style="dim")
    return head


def _note(finding: FindingRow) -> RenderableType:
    """What belongs to no line, such as a busy machine, takes one line."""
    if finding["location"]:
        return Group(*_finding("", finding))
    return _item(f"{finding['cause']}: {finding['title'].rstrip('.')}.")


def _code(location: LocationRow) -> RenderableType:
    where = Text(f"{location['file']}:{location['line']}", style="bold", overflow="fold")
    if location["function"] not in ("", "<module>"):
        where.append(f" in {location['function']}", style="not bold")
    if not location["context"]:
        return where
    width = len(str(location["context"][-1]["line"])) + 2
    lines = [_code_line(row, location["line"], width) for row in location["context"]]
    return Group(where, *lines)


def _code_line(row: CodeRow, here: int, width: int) -> Text:
    if row["line"] == here:
        return _line((f"{'> ' + str(here):>{width}} │ {row['code']}", "bold"))
    return _line((f"{row['line']:>{width}} │ {row['code']}", "dim"))


def _pairs(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", max_width=38)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), _text(value))
    return table


_WAYS = {"Later": "yellow", "No diff": "yellow"}


def _way(label: str, text: str) -> Text:
    return Text.assemble((f"{label}: ", f"bold {_WAYS.get(label, 'green')}"), _text(text))


def _account(view: Row) -> list[RenderableType]:
    rows = outline.account(view)
    return [_title("Where the run's time went"), _inside(_shares(rows))] if rows else []


def _shares(rows: Iterable[tuple[str, str, str, str]]) -> Table:
    """Rows of a name, an amount, its share, and what it consists of."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, amount, share, parts in rows:
        table.add_row(name, amount, share, _text(parts))
    return table


def _job(job: Row | None) -> list[RenderableType]:
    """Who waits for whom."""
    if job is None:
        return []
    parts: list[RenderableType] = [_title("Workers"), _inside(_text(jobs.headline(job)))]
    if job["heat"]:
        parts += _heat(job["heat"])
    if len(job["pair"]) == 2:
        parts += [Text(""), _inside(_pair(job["pair"]))]
    parts += [Text(""), _inside(_workers(job))]
    if jobs.rest(job):
        parts.append(_inside(Text(jobs.rest(job), "dim")))
    return [*parts, *map(_item, jobs.notes(job))]


def _heat(heat: Row) -> list[RenderableType]:
    drawn = jobs.shades(heat, _HEAT_COLUMNS, _HEAT_ROWS)
    width = max(cell_len(label) for label, _ in drawn)
    lines: list[RenderableType] = [
        _inside(_line((f"{label:<{width}}  ", ""), (cells, "cyan"))) for label, cells in drawn
    ]
    end = words.seconds(heat["until_seconds"][-1])
    caption = f"shade: share of its steps a worker waits for others; left to right: {end}"
    return [*lines, _inside(Text(caption, "dim"))]


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


def _loops(loops: list[LoopRow]) -> list[RenderableType]:
    if not loops:
        return []
    parts: list[RenderableType] = [_title("Loops"), *map(_loop, loops[:_MOST_LOOPS])]
    more = len(loops) - _MOST_LOOPS
    if more > 0:
        parts.append(Text(f"… and {words.count(more, 'more loop')}: unslow why --format json"))
    return parts


def _loop(loop: LoopRow) -> RenderableType:
    head = Text(f"\n{loop['line']}", style="bold", overflow="fold")
    head.append_text(_text(f"  {outline.loop_summary(loop)}", "not bold"))
    parts: list[RenderableType] = []
    if loop["location"]["code"]:
        parts.append(_line((loop["location"]["code"], "dim")))
    course = words.capitalized(words.ended(outline.loop_course(loop)))
    parts += [_sparkline(loop["sparkline"]), _text(course), _phases(loop["bars"])]
    return Group(head, *map(_inside, parts))


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
    lines = [_inside(_text(outline.memory(row, several))) for row in rows]
    return [_title("Memory"), *lines, *_memory_account(view)] if lines else []


def _memory_account(view: Row) -> list[RenderableType]:
    """What the peak consists of, where it is worth it."""
    rows = outline.memory_account(view)
    if not rows:
        return []
    return [_inside(_text(outline.memory_peak(view))), _inside(_shares(rows), 4)]


def _hot_lines(view: Row) -> list[RenderableType]:
    rows = [_hot_line(row) for row in view["hot_lines"][:_MOST_HOT_LINES]]
    if not rows:
        return []
    widths = [max(cell_len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for share, inside, where, code in rows:
        cells = (set_cell_size(inside, widths[1]), set_cell_size(where, widths[2]))
        lines.append(
            _inside(_line((f"{share:>{widths[0]}}  {'  '.join(cells)}  ", ""), (code, "dim")))
        )
    return [_title("Your hottest lines, by stack samples"), *lines]


def _hot_line(row: Row) -> tuple[str, str, str, str]:
    below = row["below"][0]["name"]
    inside = "own Python" if below == "python" else f"in {_tail(below, 14)}"
    where = _tail(f"{row['file']}:{row['line']}", 28)
    return words.share(row["share"]), inside, where, row["code"]


def _tail(text: str, width: int) -> str:
    """The end of a path says more than its start."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _limits(view: Row) -> list[RenderableType]:
    return [_title("Limits of this report"), *map(_item, outline.limits(view))]


def _footer(view: Row) -> list[RenderableType]:
    """Where the run is, and what to type next."""
    table = Table.grid(padding=(0, 3))
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for command, purpose in view["next"]:
        table.add_row(Text(command), purpose)
    return [Text(f"\nRecorded in {view['folder']}", "dim", overflow="fold"), table]
