"""The live view for a terminal: the least important lines are left out where they do not fit."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from unslow.report import outline, words
from unslow.report.rows import BarRow, FindingRow, SparklineRow, TrendRow
from unslow.report.terminal import BLOCKS
from unslow.report.words import Row

_STATUS = {
    "training": "green",
    "ended": "bold",
    "ending": "bold",
    "quiet": "bold yellow",
    "starting": "cyan",
}
_LABEL = max(cell_len(label) for label in words.PHASES.values())
_MOST_PHASES, _MOST_FINDINGS, _MOST_WORKERS = 5, 4, 8

_CHANGED = 0.05  # a step time that rose by less is not worth a colour
_LEAST_GROWTH = 1e5  # bytes per 1,000 steps: less is within the noise of an allocator (judgement)

Line = tuple[int, Text]  # how soon it may be left out (0: never), and what it says


def frame(view: Row, width: int, height: int) -> list[Text]:
    """At most `height` lines, none longer than `width`."""
    lines = [
        (0, _head(view, width)),
        *_loop(view, width),
        *_memory(view),
        *_workers(view),
        *_findings(view),
    ]
    while len(lines) > max(1, height):
        worst = max(range(len(lines)), key=lambda at: (lines[at][0], at))
        del lines[worst]
    for _, line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
        line.truncate(width, overflow="ellipsis")
    return [line for _, line in lines]


def painted(lines: list[Text], width: int) -> list[str]:
    """The lines with the colours that this terminal has."""
    console = Console(
        file=io.StringIO(), force_terminal=True, width=width, highlight=False, legacy_windows=False
    )
    with console.capture() as captured:
        console.print(Text("\n").join(lines), end="", crop=True, no_wrap=True, overflow="ellipsis")
    return captured.get().split("\n")


def drawn(view: Row, room: tuple[int, int]) -> list[str]:
    """What fits the columns and rows of a terminal."""
    columns, rows = room
    return painted(frame(view, columns, rows), columns)


def status_line(view: Row) -> str:
    """The state in one line, for a terminal that belongs to the training."""
    loop = view["loop"]
    said = [f"unslow: {clock(view['seconds'])}"]
    if loop:
        said += [words.count(view["steps"], "step"), f"{words.seconds(loop['now'])} a step"]
    if not loop or view["status"]["kind"] == "quiet":
        said.append(view["status"]["text"])
    said += [f"{each['cause']}{_at(each)}" for each in view["findings"] if each["fault"]][:2]
    if view["expected"]:
        said.append(_end(view["expected"]))
    if view["memory"]:
        said.append(words.size(view["memory"]["rss"]))
    if loop and loop["trend"]["change"] > _CHANGED:
        said.append(loop["trend"]["text"].partition(" (")[0])
    return " · ".join(said)


def clock(seconds: float) -> str:
    """A length of time to the second: 12 s, 3 min 05 s, 2 h 10 min."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _head(view: Row, width: int) -> Text:
    """The command and its status, with a rule that separates them from the program's output."""
    status = view["status"]
    right = Text(status["text"], _STATUS.get(status["kind"], ""))
    right.append(f"  {clock(view['seconds'])}", "bold")
    left = Text.assemble(("unslow", "bold"), (f"  {view['command_line']}", "dim"))
    left.truncate(max(8, width - right.cell_len - 5), overflow="ellipsis")
    rule = "─" * max(1, width - left.cell_len - right.cell_len - 2)
    return Text.assemble(left, (f" {rule} ", "dim"), right)


def _loop(view: Row, width: int) -> list[Line]:
    loop = view["loop"]
    if not loop:
        return []
    lines: list[Line] = [(7, _earlier(each)) for each in view["earlier"][-2:]]
    lines.append((0, _rate(loop, width)))
    if view["expected"]:
        lines.append((2, Text(f"  {_end(view['expected'])}", style="cyan")))
    if loop["sparkline"]["values"]:
        lines.append((3, _sparkline(loop["sparkline"], width)))
        lines.append((2, _trend(loop["trend"], width)))
    for at, bar in enumerate(loop["bars"][:_MOST_PHASES]):
        lines.append((4 + min(at, 2), _bar(bar, width)))
    return lines


def _rate(loop: Row, width: int) -> Text:
    """The loop, its steps and its speed; on a narrow terminal whole parts are left out."""
    rate = f"{words.digits(1 / loop['now'])} steps/s" if loop["now"] > 0 else ""
    parts = [
        (loop["line"], "bold"),
        (loop["kind"], "dim"),
        (words.count(loop["steps"], "step"), "bold"),
        (f"{words.seconds(loop['now'])} a step", ""),
        (rate, "dim"),
    ]
    for left_out in (4, 1):
        if cell_len("  ".join(text for text, _ in parts)) > width:
            del parts[left_out]
    return Text("  ").join(Text(text, style) for text, style in parts)


def _trend(trend: TrendRow, width: int) -> Text:
    text = f"  {trend['text']}"
    if cell_len(text) > width:
        text = text.partition(" (")[0]
    return Text(text, "yellow" if trend["change"] > _CHANGED else "")


def _earlier(loop: Row) -> Text:
    took = f"{words.count(loop['steps'], 'step')} in {words.seconds(loop['seconds'])}"
    return Text(f"{loop['line']}  {loop['kind']}  {took}, earlier", style="dim")


def _end(expected: Row) -> str:
    what = "fit()" if expected["what"] == "epoch" else "the loop"
    place = f"{expected['what']} {expected['done'] + 1:,} of {expected['of']:,}"
    left = clock(expected["left"])
    said = f"{place}, {what} ends in about {left}"
    growing = expected["left_growing"]
    if not growing or clock(growing) == left:
        return said
    return f"{said}, {clock(growing)} if steps keep growing"


def _sparkline(line: SparklineRow, width: int) -> Text:
    """Bars from zero, so that noise looks small; cut where one spike would flatten the rest."""
    ends = f"  {words.seconds(line['low'])} to {words.seconds(line['high'])} a step"
    room = max(8, width - 2 - cell_len(ends))
    values = line["values"][-room:]
    top = sorted(values)[len(values) * 9 // 10] * 1.5 if line["scale"] == "log" else line["high"]
    scale = len(BLOCKS) / top if top > 0 else 0.0
    drawn = "".join(BLOCKS[min(len(BLOCKS) - 1, int(value * scale))] for value in values)
    return Text.assemble("  ", (drawn, "cyan"), (ends, "dim"))


def _bar(bar: BarRow, width: int) -> Text:
    share, each = words.share(bar["share"]), words.seconds(bar["per_step"])
    columns = max(6, min(30, width - _LABEL - 24))
    filled = min(columns, round(bar["share"] * columns))
    return Text.assemble(
        f"  {bar['label']:<{_LABEL}}  ",
        ("█" * filled, "cyan"),
        ("·" * (columns - filled), "dim"),
        f"  {share:>6}",
        (f"  {each:>8}", "dim"),
    )


def _memory(view: Row) -> list[Line]:
    memory = view["memory"]
    if not memory:
        return []
    said = f"  memory {words.size(memory['rss'])}, {words.size(memory['peak'])} at the peak"
    if memory["limit"]:
        said += f", of {words.size(memory['limit'])}"
    text = Text(said)
    if memory["growth"] >= _LEAST_GROWTH:
        text.append(f"; +{words.size(memory['growth'])} per 1,000 steps", style="yellow")
    return [(3, text)]


def _workers(view: Row) -> list[Line]:
    """The slowest first, because the others wait for it."""
    workers = sorted(view["workers"], key=lambda worker: -worker["now"])
    shown, left_out = workers[:_MOST_WORKERS], workers[_MOST_WORKERS:]
    longest = max((cell_len(worker["name"]) for worker in shown), default=0)
    lines: list[Line] = [(5, _worker(worker, longest)) for worker in shown]
    if left_out:
        more = words.count(len(left_out), "more worker")
        lines.append((5, Text(f"  and {more}, none slower", style="dim")))
    missing = view["missing"]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        said = f"  not started yet: {', '.join(missing[:3])}{more}"
        lines.append((2, Text(said, style="yellow")))
    return lines


def _worker(worker: Row, width: int) -> Text:
    ended = words.led("  ended: ", worker["how"])
    steps = f"{words.count(worker['steps'], 'step')}  {words.seconds(worker['now'])} a step"
    return Text(f"  {worker['name']:<{width}}  {steps}  {words.size(worker['rss'])}{ended}")


def _findings(view: Row) -> list[Line]:
    lines: list[Line] = []
    found = view["findings"]
    for finding in found[:_MOST_FINDINGS]:
        lines += [(1, _cost(finding)), (6, Text(f"  {finding['title']}"))]
    left_out = found[_MOST_FINDINGS:]
    if left_out:
        more = words.count(len(left_out), "more finding")
        lines.append((6, Text(f"  and {more}", style="dim")))
    if not found and view["loop"]:
        lines.append((6, Text(_nothing(view), style="dim")))
    lines += [(6, Text(f"probe lost: {name}", style="dim")) for name in view["lost"]]
    return lines


def _cost(finding: FindingRow) -> Text:
    said = outline.costs(finding)
    style = "bold red" if finding["fault"] else "bold cyan"
    return Text.assemble(
        (finding["cause"], style), (_at(finding), "bold"), (f"  {' · '.join(said)}", "dim")
    )


def _nothing(view: Row) -> str:
    if view["too_large"]:
        return "the recording is too large to diagnose while it runs; the report will do so"
    if view["judged"] < 2:
        return "no finding is certain yet"
    return "no problem found so far"


def _at(finding: FindingRow) -> str:
    return words.led(" at ", words.line(finding["location"]))
