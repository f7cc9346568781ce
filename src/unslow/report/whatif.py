"""The table of `unslow whatif` for a terminal: best first, then the lines that keep what helps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unslow.report import words
from unslow.report.words import Row

_STYLES = {"faster": "bold green", "slower": "red", "as it is": "bold", "unsure": "dim"}
_MARKS = {"faster": "+", "slower": "−", "no difference": "=", "unsure": "?", "as it is": ""}
_MEANINGS = {
    "faster": "surely faster",
    "slower": "surely slower",
    "no difference": "within 10% of the unchanged script",
    "unsure": "not settled",
}
_ORDER = {"faster": 0, "slower": 2}  # everything else, and the unchanged script, stands between
_KEPT = ("identical", "same", "rounding")  # results
_NAME = 22  # columns
_WIDE = 96  # columns below which ranges of speed and the time per example are left out
_HUGE = 1e5  # a value beside which the digits of the others say nothing
# Of the step time: a wider interval of the unchanged script is pointed out (judgement).
_NOISY = 0.2
_LEGEND = (
    "± and ranges: 95% over trials. first, s: extra time of the first steps. results: the weights "
    "after "
    "the same steps; `rounding`: no further apart than rounding alone drives them in this training."
)


def renderable(view: Row, width: int = 100) -> RenderableType:
    """Fits 100 columns; on fewer, ranges of speed and the time per example are left out."""
    parts: list[RenderableType] = [_head(view), _verdict(view)]
    if view["as_it_is"]:
        parts += [_table(view, width), Text(_legend(view), style="dim")]
        parts += _noise(view["as_it_is"]["step_seconds"])
    parts += map(_failed, view["failed"])
    parts += [
        Text(f"{row['name']}: {row['note']}", "dim") for row in view["settings"] if row["note"]
    ]
    parts += [*_lines_to_keep(view["settings"]), *_absent(view["does_not_apply"])]
    if view["interrupted"]:
        left = ", ".join(each["name"] for each in view["not_tried"])
        not_tried = words.led(" Not tried: ", left, ".")
        parts.append(Text(f"\nInterrupted: this is what had been measured.{not_tried}"))
    return Group(*parts)


def _head(view: Row) -> Text:
    text = f"{words.count(view['steps'], 'step')} a trial"
    if view["examples_per_step"]:
        text += f", {words.count(view['examples_per_step'], 'example')} a step"
    return Text(f"{view['line']}: {text}" if view["line"] else text, style="dim")


def _verdict(view: Row) -> Text:
    if not view["as_it_is"]:
        return Text("Nothing was measured.", style="bold yellow")
    faster = [row for row in view["settings"] if row["verdict"] == "faster"]
    for row in faster:
        if row["results"] in _KEPT:
            return Text(f"{row['name']}: {_gain(row)}, same results.\n", style="bold green")
    for row in faster:
        why = words.led(": ", row["changes"])
        text = f"{row['name']}: {_gain(row)}, but the results are not the same{why}.\n"
        return Text(text, style="bold yellow")
    return Text("No setting is surely faster than the unchanged script.\n", style="bold")


def _gain(row: Row) -> str:
    figure = row["speedup"]
    return f"{words.speed(figure['value'])} ({words.interval(figure['low'], figure['high'])})"


def _table(view: Row, width: int) -> Table:
    rows = sorted([view["as_it_is"], *view["settings"]], key=_rank)
    step = _Unit([row["step_seconds"] for row in rows])
    per_example = [row["example_seconds"] for row in rows if row["example_seconds"]]
    example = _Unit(per_example if width >= _WIDE else [])
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("")
    table.add_column("setting", min_width=12, max_width=_NAME, overflow="fold")
    table.add_column("speed", no_wrap=True)
    table.add_column(f"{step.name}/step", no_wrap=True, justify="right")
    if example.used:
        table.add_column(f"{example.name}/example", no_wrap=True, justify="right")
    table.add_column("peak MB", no_wrap=True, justify="right")
    table.add_column("first, s", no_wrap=True, justify="right")
    table.add_column("results", min_width=9)
    for row in rows:
        cells = [
            _MARKS[row["verdict"]],
            row["name"],
            _speed(row, width >= _WIDE),
            _within(row["step_seconds"], step.scale),
        ]
        if example.used:
            cells.append(_within(row["example_seconds"], example.scale))
        cells += [_within(row["peak_bytes"], 1e-6), _within(row["first_step_seconds"], 1.0)]
        cells.append(_results(row))
        table.add_row(*map(Text, cells), style=_STYLES.get(row["verdict"], ""))
    return table


def _rank(row: Row) -> tuple[int, float]:
    return _ORDER.get(row["verdict"], 1), -(row["speedup"]["value"] or 0)


def _legend(view: Row) -> str:
    seen = {row["verdict"] for row in view["settings"]}
    marks = [f"{_MARKS[name]} {meant}" for name, meant in _MEANINGS.items() if name in seen]
    return ". ".join(filter(None, (", ".join(marks), _LEGEND)))


class _Unit:
    """One unit for a column: the one that fits its smallest value."""

    def __init__(self, figures: Iterable[Row]) -> None:
        values = [figure["value"] for figure in figures if figure["value"]]
        least = min(values, default=1.0)
        self.used = bool(values)
        self.scale, self.name = 1e6, "µs"
        if least >= 1:
            self.scale, self.name = 1.0, "s"
        elif least >= 1e-3:
            self.scale, self.name = 1e3, "ms"


def _within(figure: Row | None, scale: float) -> str:
    """A value and its reach, with no more digits than either of them has."""
    if figure is None or figure["value"] is None:
        return "–"
    value = figure["value"] * scale
    if value >= _HUGE:
        return f"{value:.2g}"
    text = words.digits(value)
    if figure["high"] is None:
        return text
    reach = (figure["high"] - figure["low"]) / 2 * scale
    places = min(2, _places(text), _places(words.digits(reach, 2)) if reach else 2)
    return f"{value:,.{places}f} ±{reach:,.{places}f}"


def _places(text: str) -> int:
    return len(text.partition(".")[2])


def _speed(row: Row, ranged: bool) -> str:
    figure = row["speedup"]
    if row["verdict"] == "as it is":
        return "1"
    text = words.speed(figure["value"]).removeprefix("≈")
    known = bool(figure["low"]) and figure["high"] is not None
    if not (ranged and known):
        return text
    low, high = figure["low"], figure["high"]
    if figure["value"] < 1:  # the ends of how many times slower it is
        low, high = 1 / high, 1 / low
    return f"{text} ({words.digits(low, 2)}–{words.digits(high, 2)})"


def _results(row: Row) -> str:
    kind, difference = row["results"], row["difference"]
    if kind == "differ":
        return "differ: not finite" if difference is None else f"differ by {difference:.0e}"
    if kind == "rounding":
        return f"rounding, {difference:.0e}"
    if kind == "not compared":
        return row["changes"] or "other steps"
    return "not visible" if kind == "not seen" else str(kind)


def _noise(figure: Row) -> list[RenderableType]:
    """Where the machine itself makes a difference, that is stated."""
    if figure["high"] is None:
        return []
    reach = (figure["high"] - figure["low"]) / 2 / figure["value"]
    if reach < _NOISY:
        return []
    varies = f"the unchanged script varies by ±{words.share(reach)}"
    text = f"This machine is busy or unsteady: {varies}. More --steps or --trials help."
    return [Text(text, style="yellow")]


def _failed(each: Row) -> Text:
    reason = words.plain(each["reason"])[:300]
    return Text.assemble((f"{each['name']:<{_NAME}}", "red"), f"  fails: {reason}")


def _lines_to_keep(rows: list[Row]) -> list[RenderableType]:
    """What to add for everything that is surely faster, or lighter."""
    alone = {row["name"]: row["speedup"]["value"] for row in rows}
    parts = [_line_to_keep(row) for row in rows if _is_worth_keeping(row, alone)]
    return [Text("\nTo keep it", style="bold underline"), *parts] if parts else []


def _is_worth_keeping(row: Row, alone: Row) -> bool:
    """A combination is worth its words where it is more than the best of its parts."""
    helps = row["verdict"] == "faster" or row["less_memory"]
    best_part = max((alone[part] for part in row["parts"]), default=0.0)
    can_be_kept = bool(row["keep"] or row["parts"])
    return helps and can_be_kept and row["speedup"]["value"] > best_part


def _line_to_keep(row: Row) -> Text:
    gains = [_gain(row)] if row["verdict"] == "faster" else []
    gains += ["less memory"] if row["less_memory"] else []
    where = words.led("  [", row["where"], "]")
    keep = row["keep"] or " + ".join(row["parts"])
    return Text.assemble((row["name"], "bold"), f": {', '.join(gains)}\n    {keep}{where}")


def _absent(absent: list[Row]) -> Iterator[RenderableType]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for each in absent:
        grouped[each["reason"]].append(each["name"])
    if grouped:
        yield Text("\nDoes not apply here", style="bold underline")
    for reason, names in grouped.items():
        yield Text(f"{', '.join(names)}: {reason}")
