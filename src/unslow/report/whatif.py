"""The table of `unslow whatif` for a terminal: best first, then the lines that keep what helps."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unslow.report import words

_STYLES = {"faster": "bold green", "slower": "red", "as it is": "bold", "unsure": "dim"}
_MARKS = {"faster": "+", "slower": "−", "no difference": "=", "unsure": "?", "as it is": ""}
_MEANT = {
    "faster": "surely faster",
    "slower": "surely slower",
    "no difference": "within a tenth of it",
    "unsure": "not settled",
}
_ORDER = {
    "faster": 0,
    "slower": 2,
}  # what is not settled stands between them, with the script as it is
_NAME = 22
_WIDE = 96
_HUGE = 1e5
_HOPELESS = 0.01
_NOISY = 0.2
_LEGEND = (
    "± and ranges: 95 % over trials. first, s: what the first steps took beyond the pace of the others. results: the "
    "weights after the same steps; `rounding`: no further apart than a rounding error leads to in this training."
)


def renderable(view: dict[str, Any], width: int = 100) -> RenderableType:
    """Fits 100 columns; on fewer the time per example is left out: `times as fast` says it too."""
    parts: list[RenderableType] = [_head(view), _verdict(view)]
    if view["as_it_is"]:
        parts.append(_table(view, width))
        parts.append(Text(_legend(view), style="dim"))
        parts += _noise(view["as_it_is"]["step_seconds"])
    parts += _failed(view["failed"]) + _notes(view["settings"]) + _lines(view["settings"])
    parts += _absent(view["does_not_apply"])
    if view["interrupted"]:
        left = ", ".join(each["name"] for each in view["not_tried"])
        parts.append(
            Text(
                f"\nInterrupted: this is what had been measured.{f' Not tried: {left}.' if left else ''}"
            )
        )
    return Group(*parts)


def _head(view: dict[str, Any]) -> Text:
    examples = (
        f", {words.count(view['examples_per_step'], 'example')} a step"
        if view["examples_per_step"]
        else ""
    )
    line = f"{view['line']}: " if view["line"] else ""
    return Text(f"{line}{words.count(view['steps'], 'step')} a trial{examples}", style="dim")


def _verdict(view: dict[str, Any]) -> Text:
    faster = [row for row in view["settings"] if row["verdict"] == "faster"]
    same = [row for row in faster if row["results"] in ("identical", "same", "rounding")]
    if not view["as_it_is"]:
        return Text("Nothing was measured.", style="bold yellow")
    if same:
        best = same[0]
        return Text(f"{best['name']}: {_times(best)}, results kept.\n", style="bold green")
    if faster:
        best = faster[0]
        why = f": {best['changes']}" if best["changes"] else ""
        return Text(
            f"{best['name']}: {_times(best)}, but the results are not the same{why}.\n",
            style="bold yellow",
        )
    return Text("No setting is surely faster than the script as it is.\n", style="bold")


def _times(row: dict[str, Any]) -> str:
    figure = row["speedup"]
    value, low, high = (words.digits(figure[name]) for name in ("value", "low", "high"))
    return f"{value}× as fast ({low} to {high})"


def _table(view: dict[str, Any], width: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    rows = sorted(
        [view["as_it_is"], *view["settings"]],
        key=lambda row: (_ORDER.get(row["verdict"], 1), -(row["speedup"]["value"] or 0)),
    )
    step, step_unit = _unit([row["step_seconds"]["value"] for row in rows])
    examples = [
        row["example_seconds"]["value"] for row in rows if row["example_seconds"] and width >= _WIDE
    ]
    example, example_unit = _unit(examples)
    table.add_column("")
    table.add_column("setting", min_width=12, max_width=_NAME, overflow="fold")
    table.add_column("times as fast", no_wrap=True)
    table.add_column(f"{step_unit}/step", no_wrap=True, justify="right")
    if examples:
        table.add_column(f"{example_unit}/example", no_wrap=True, justify="right")
    table.add_column("peak MB", no_wrap=True, justify="right")
    table.add_column("first, s", no_wrap=True, justify="right")
    table.add_column("results", min_width=9)
    for row in rows:
        cells = [
            _MARKS[row["verdict"]],
            row["name"],
            _speedup(row),
            _within(row["step_seconds"], step),
        ]
        if examples:
            cells.append(_within(row["example_seconds"], example))
        cells += [
            _within(row["peak_bytes"], 1e-6),
            _within(row["first_step_seconds"], 1.0),
            _results(row),
        ]
        style = _STYLES.get(row["verdict"], "")
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def _legend(view: dict[str, Any]) -> str:
    seen = {row["verdict"] for row in view["settings"]}
    marks = ", ".join(f"{_MARKS[name]} {meant}" for name, meant in _MEANT.items() if name in seen)
    return f"{marks}. {_LEGEND}" if marks else _LEGEND


def _unit(values: list[float]) -> tuple[float, str]:
    """One unit for a column: the one that fits its smallest value."""
    least = min((value for value in values if value), default=1.0)
    return next(
        ((scale, unit) for scale, unit in ((1.0, "s"), (1e3, "ms")) if least * scale >= 1),
        (1e6, "µs"),
    )


def _within(figure: dict[str, Any] | None, scale: float) -> str:
    if figure is None or figure["value"] is None:
        return "–"
    value = figure["value"] * scale
    text = words.digits(value)
    if value >= _HUGE:
        return f"{value:.2g}"  # beside the others of its column the rest of it says nothing, and takes their room
    if figure["high"] is None:
        return text
    reach = (figure["high"] - figure["low"]) / 2 * scale
    # No more digits than the value itself has, nor than two of what it may be wrong by.
    places = min(
        len(text.partition(".")[2]),
        len(words.digits(reach, 2).partition(".")[2]) if reach else 9,
        2,
    )
    return f"{value:,.{places}f} ±{reach:,.{places}f}"


def _speedup(row: dict[str, Any]) -> str:
    figure = row["speedup"]
    if row["verdict"] == "as it is":
        return "1"
    if not figure["low"] or figure["high"] is None:
        return words.digits(figure["value"])
    if figure["high"] < _HOPELESS:
        return f"under {_HOPELESS}"
    value, low, high = (_ratio(figure[name]) for name in ("value", "low", "high"))
    return f"{value} ({low}–{high})"


def _ratio(value: float) -> str:
    """Two places, and more only where they would hide what there is."""
    return f"{value:.2f}" if 0.1 <= value < 100 else words.digits(value, 2)


def _results(row: dict[str, Any]) -> str:
    if row["results"] == "differ":
        return (
            f"differ by {row['difference']:.0e}"
            if row["difference"] is not None
            else "differ: not finite"
        )
    if row["results"] == "rounding":
        return f"rounding, {row['difference']:.0e}"
    if row["results"] == "not compared":
        return row["changes"] or "other steps"
    return "not visible" if row["results"] == "not seen" else row["results"]


def _noise(figure: dict[str, Any]) -> list[RenderableType]:
    """Where the machine itself makes the difference, that is said."""
    if figure["high"] is None or figure["high"] - figure["low"] < _NOISY * 2 * figure["value"]:
        return []
    share = words.share((figure["high"] - figure["low"]) / 2 / figure["value"])
    text = f"This machine is busy or unsteady: the script as it is varies by ±{share}. More --steps or --trials help."
    return [Text(text, style="yellow")]


def _failed(failed: list[dict[str, Any]]) -> list[RenderableType]:
    return [
        Text.assemble(
            (f"{each['name']:<{_NAME}}", "red"), f"  fails: {words.plain(each['reason'])[:300]}"
        )
        for each in failed
    ]


def _notes(rows: list[dict[str, Any]]) -> list[RenderableType]:
    return [Text(f"{row['name']}: {row['note']}", style="dim") for row in rows if row["note"]]


def _lines(rows: list[dict[str, Any]]) -> list[RenderableType]:
    """What to add for everything that is surely faster, or lighter."""
    kept = [
        row
        for row in rows
        if (row["verdict"] == "faster" or row["less_memory"]) and (row["keep"] or row["parts"])
    ]
    alone = {row["name"]: row["speedup"]["value"] for row in rows}
    # A combination is worth its words where it is more than the best of its parts.
    kept = [
        row
        for row in kept
        if row["speedup"]["value"] > max((alone[part] for part in row["parts"]), default=0.0)
    ]
    if not kept:
        return []
    parts: list[RenderableType] = [Text("\nTo keep it", style="bold underline")]
    for row in kept:
        gains = [_times(row)] if row["verdict"] == "faster" else []
        gains += ["less memory"] if row["less_memory"] else []
        where = f"  [{row['where']}]" if row["where"] else ""
        keep = row["keep"] or " + ".join(row["parts"])
        parts.append(
            Text.assemble((f"{row['name']}", "bold"), f": {', '.join(gains)}\n    {keep}{where}")
        )
    return parts


def _absent(absent: list[dict[str, Any]]) -> list[RenderableType]:
    if not absent:
        return []
    grouped: dict[str, list[str]] = defaultdict(list)
    for each in absent:
        grouped[each["reason"]].append(each["name"])
    lines = [Text(f"{', '.join(names)}: {reason}") for reason, names in grouped.items()]
    return [Text("\nDoes not apply here", style="bold underline"), *lines]
