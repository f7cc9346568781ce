"""The report for a terminal: the verdict first, then what carries it; reads only the view."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from unslow.report import words

BLOCKS = "▁▂▃▄▅▆▇█"
BAR = 24  # columns of a phase's bar

_MOST_LOOPS = 20  # of many workers
_VERDICT = {
    "fault": "bold red",
    "healthy": "bold green",
    "honest": "bold cyan",
    "no-steps": "bold yellow",
    "unexplained": "bold yellow",
}


def renderable(view: dict[str, Any]) -> RenderableType:
    """The whole report; fits 80 columns."""
    faults = [finding for finding in view["findings"] if finding["fault"]]
    honest = [finding for finding in view["findings"] if not finding["fault"]]
    parts: list[RenderableType] = [_head(view), *_verdict(view)]
    parts += [
        _finding(f"{number}. ", finding, number > 1) for number, finding in enumerate(faults, 1)
    ]
    if honest:
        parts += [
            _title("No fault, but good to know"),
            *(_finding("", finding) for finding in honest),
        ]
    if view["loops"]:
        parts += [_title("Loops"), *(_loop(loop) for loop in view["loops"][:_MOST_LOOPS])]
        if len(view["loops"]) > _MOST_LOOPS:
            parts.append(
                Text(
                    f"… and {len(view['loops']) - _MOST_LOOPS:,} more loops: unslow why --format json"
                )
            )
    parts += [*_memory(view), *_hot_lines(view), *_limits(view)]
    return Group(*parts)


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold underline")


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


def _head(view: dict[str, Any]) -> RenderableType:
    """The command on one line, cut where it is too long: the page and the JSON have all of it."""
    ended = "" if view["how"] else f", {view['ended']}"
    counts = f"{words.seconds(view['seconds'])}, {words.count(view['steps'], 'step')}{ended}"
    return Group(
        _line(("unslow  ", "bold"), (view["command_line"], "dim")),
        Text(f"        {counts}", "dim"),
    )


def _line(*parts: tuple[str, str]) -> Text:
    """Text that is cut rather than wrapped."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _verdict(view: dict[str, Any]) -> list[RenderableType]:
    verdict = view["verdict"]
    parts: list[RenderableType] = []
    if view["how"]:
        parts.append(Text(f"\nThe run {view['how']}.", style="bold yellow"))
    parts.append(Text(f"\n{verdict['text']}", style=_VERDICT[verdict["kind"]]))
    if verdict["more"]:
        parts.append(Text(verdict["more"]))
    if verdict["kind"] == "no-steps":
        parts.append(Text("Seen instead:"))
        parts += [_item(seen) for seen in view["seen_instead"]]
        parts.append(Text("Is another file the training script?  (unslow explain no-steps)"))
    return parts


def _finding(number: str, finding: dict[str, Any], titled: bool = True) -> RenderableType:
    """The verdict has just said the first one's title, so that one goes without."""
    parts: list[RenderableType] = [_facts(number, finding)]
    if titled:
        parts.append(_inside(Text(finding["title"]), 3))
    if finding["location"]:
        parts.append(_inside(_code(finding["location"]), 3))
    if finding["evidence"]:
        parts.append(
            _inside(_pairs([(each["label"], each["text"]) for each in finding["evidence"]]), 3)
        )
    parts += [_inside(each, 3) for each in _ways_out(finding)]
    return Group(*parts)


def _facts(number: str, finding: dict[str, Any]) -> Text:
    text = Text.assemble((f"\n{number}{finding['cause']}", "bold"))
    said = []
    if finding["seconds"] > 0:
        said += [words.seconds(finding["seconds"]), words.share(finding["share"])]
    if finding["grows"]:
        said.append("grows")
    said.append(finding["certainty"])
    if finding["merged"]:
        said.append(f"explains {', '.join(finding['merged'])} too")
    text.append(f"  {' · '.join(said)}", style="dim")
    return text


def _code(location: dict[str, Any]) -> RenderableType:
    where = Text(f"{location['file']}:{location['line']}", style="bold", overflow="fold")
    if location["function"] and location["function"] != "<module>":
        where.append(f" in {location['function']}", style="not bold")
    if not location["context"]:
        return where
    width = len(str(location["context"][-1]["line"])) + 2
    lines = []
    for row in location["context"]:
        here = row["line"] == location["line"]
        mark = f"{'> ' if here else ''}{row['line']}"
        lines.append(_line((f"{mark:>{width}} │ {row['code']}", "bold" if here else "dim")))
    return Group(where, *lines)


def _pairs(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", max_width=38)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), Text(value))
    return table


def _ways_out(finding: dict[str, Any]) -> list[Text]:
    ways = []
    if finding["forecast"] and finding["forecast"]["text"]:
        ways.append(_way("Later", finding["forecast"]["text"], "yellow"))
    if finding["fix"]:
        fix = finding["fix"]
        words_of_it = (
            f"{fix['title'].rstrip('.')} ({fix['safety']}: {words.SAFETY[fix['safety']]})."
        )
        if fix["note"]:
            words_of_it += f" {_sentence(fix['note'])}"
        ways.append(_way("Fix", f"{words_of_it} See it: unslow fix", "green"))
    elif finding["advice"]:
        ways.append(_way("Do" if finding["fault"] else "Note", finding["advice"], "green"))
    if finding["refusal"]:
        refusal = finding["refusal"]
        where = f" ({refusal['line']})" if refusal["line"] else ""
        ways.append(_way("No diff", f"{refusal['reason'].rstrip('.')}{where}.", "yellow"))
    if finding["proof"]:
        ways.append(
            _way("Proof", f"{finding['proof']['verdict']}: {finding['proof']['text']}", "green")
        )
    return ways


def _way(label: str, text: str, style: str) -> Text:
    return Text.assemble((f"{label}: ", f"bold {style}"), text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _loop(loop: dict[str, Any]) -> RenderableType:
    head = Text(f"\n{loop['line']}", style="bold", overflow="fold")
    worker = f", {loop['worker']}" if loop["worker"] else ""
    steps = f"{words.count(loop['steps'], 'step')} in {words.seconds(loop['seconds'])}"
    several = loop["updates_per_step"]
    updates = f", {words.count(several)} updates a step" if several > 1.05 else ""
    head.append(f"  {loop['kind']}{worker}: {steps}{updates}", style="not bold")
    parts: list[RenderableType] = [head]
    if loop["location"]["code"]:
        parts.append(
            _inside(Text(loop["location"]["code"], style="dim", no_wrap=True, overflow="ellipsis"))
        )
    parts += [_inside(_sparkline(loop["sparkline"])), _inside(Text(_sentence(_course(loop))))]
    parts.append(_inside(_phases(loop["bars"])))
    return Group(*parts)


def _course(loop: dict[str, Any]) -> str:
    first = f"; the first step took {words.seconds(loop['first'])}" if loop["first_apart"] else ""
    return f"{loop['trend']['text']}{first}"


def _sparkline(line: dict[str, Any]) -> Text:
    """Bars from zero, or from the smallest value on a log scale."""
    values = line["values"]
    if not values:
        return Text("")
    log = line["scale"] == "log" and line["low"] > 0
    low, high = (math.log(line["low"]), math.log(line["high"])) if log else (0.0, line["high"])
    blocks = ""
    for value in values:
        height = ((math.log(value) if log else value) - low) / (high - low) if high > low else 0.0
        blocks += BLOCKS[min(len(BLOCKS) - 1, int(height * len(BLOCKS)))]
    ends = f"  {words.seconds(line['low'])} to {words.seconds(line['high'])}{', log scale' if log else ''}"
    return Text.assemble((blocks, "cyan"), (ends, "dim"))


def _phases(bars: list[dict[str, Any]]) -> Table:
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


def _memory(view: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for row in view["memory"]:
        start, peak, end = (words.size(row[f"{name}_bytes"]) for name in ("start", "peak", "end"))
        who = (
            f"{row['worker'] or 'process ' + str(row['process'])}: "
            if len(view["memory"]) > 1
            else ""
        )
        text = f"{who}{start} at the start → {peak} at the peak → {end} at the end"
        growth = row["growth_per_1000_steps"]
        if growth is not None and abs(growth) >= 1e5:
            text += f"; {'+' if growth > 0 else ''}{words.size(growth)} per 1,000 steps"
        parts.append(_inside(Text(text)))
    return [_title("Memory"), *parts] if parts else []


def _hot_lines(view: dict[str, Any]) -> list[RenderableType]:
    if not view["hot_lines"]:
        return []
    rows = []
    for row in view["hot_lines"][:5]:
        below = row["below"][0]["name"]
        inside = "own Python" if below == "python" else f"in {_tail(below, 14)}"
        rows.append(
            (
                words.share(row["share"]),
                inside,
                _tail(f"{row['file']}:{row['line']}", 28),
                row["code"],
            )
        )
    widths = [max(cell_len(row[index]) for row in rows) for index in range(3)]
    lines = []
    for share, inside, where, code in rows:
        cells = f"{share:>{widths[0]}}  {set_cell_size(inside, widths[1])}  {set_cell_size(where, widths[2])}  "
        lines.append(_inside(_line((cells, ""), (code, "dim"))))
    return [_title("Your hottest lines, by stack samples"), *lines]


def _tail(text: str, width: int) -> str:
    """The end of a path says more than its start."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _limits(view: dict[str, Any]) -> list[RenderableType]:
    """What was not seen, and what looking cost."""
    parts: list[RenderableType] = [_title("Limits of this report")]
    grouped: dict[str, list[str]] = defaultdict(list)
    for each in view["not_judged"]:
        grouped[each["reason"]].append(each["cause"])
    for reason, causes in grouped.items():
        parts.append(_item(f"not judged: {', '.join(causes)} ({reason.rstrip('.')})"))
    for lost in view["lost_probes"]:
        parts.append(_item(f"probe lost: {lost['probe']} ({lost['reason']})"))
    parts += [_item(f"recording: {note}") for note in view["notes"]]
    if view["steps"]:
        unexplained = f"{words.seconds(view['unexplained_seconds'])} ({words.share(view['unexplained_share'])})"
        parts.append(_item(f"unexplained: {unexplained} of the training"))
    own = view["own_cost"]
    cost = f"{words.seconds(own['seconds'])} ({words.share(own['share'])})"
    memory = f", {words.size(own['peak_rss_bytes'])} of memory" if own["peak_rss_bytes"] else ""
    parts.append(_item(f"unslow itself cost {cost}{memory}"))
    return parts


def _item(text: str) -> RenderableType:
    table = Table.grid()
    table.add_column(width=2)
    table.add_column(overflow="fold")
    table.add_row("· ", Text(text))
    return _inside(table)
