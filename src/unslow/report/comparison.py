"""A comparison of two runs for a terminal, for markdown and as a page; reads only its view."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unslow.report import html, markdown, words
from unslow.report.words import Row

_STYLES = {
    "faster": "bold green",
    "slower": "bold red",
    "no difference": "bold",
    "cannot be told": "bold yellow",
}
_CAUSES = {"gone": "no longer found", "still_there": "still found"}


def verdict(view: Row) -> tuple[str, str]:
    """The answer for the loop that takes most of the time, and its kind."""
    if not view["loops"]:
        return "cannot be told", "No loop of the first run was found in the second one."
    loop = max(view["loops"], key=lambda each: float(each["before"]))
    if view["proof"]:
        return _proved(view["proof"], loop["after_line"])
    return loop["change"], f"{loop['after_line']}: {loop_text(loop)}."


def _proved(proof: Row, line: str) -> tuple[str, str]:
    """The answer of both runs in turn, which counts for more than that of the two recordings."""
    before, after = (words.seconds(median(proof[side])) for side in ("before", "after"))
    interval = words.interval(proof["low"], proof["high"])
    kind = "cannot be told"
    if proof["low"] > 1:
        kind = "faster"
    elif proof["high"] < 1:
        kind = "slower"
    change = words.speed(proof["speedup"]) if kind != "cannot be told" else f"the difference {kind}"
    runs = f"{len(proof['before'])} + {len(proof['after'])} runs in turn"
    return kind, f"{line}: {before} → {after} a step in {runs}, {change} ({interval})."


def loop_text(loop: Row) -> str:
    steps = f"{words.seconds(loop['before'])} → {words.seconds(loop['after'])} a step"
    if loop["change"] == "cannot be told":
        return f"{steps}: the difference cannot be told"
    is_clear = loop["change"] in ("faster", "slower")
    change = words.speed(loop["speedup"]) if is_clear else loop["change"]
    return f"{steps}, {change} ({words.interval(loop['low'], loop['high'])})"


def remarks(view: Row) -> Iterator[str]:
    """What limits the comparison, and what else changed; not the verdict, nor what is new."""
    if view["disturbed"] and not view["proof"]:
        yield f"{words.capitalized(view['disturbed'])}. Record it again on a quiet machine."
    yield from (words.ended(words.capitalized(problem)) for problem in view["problems"])
    for key, text in (("only_before", "first"), ("only_after", "second")):
        if view[key]:
            yield f"Only in the {text} run: {', '.join(view[key])}."
    for key, text in _CAUSES.items():
        if view["causes"][key]:
            yield f"Causes {text}: {', '.join(view['causes'][key])}."


def new_finding(finding: Row) -> str:
    where = words.led(" at `", finding["line"], "`")
    return f"`{finding['cause']}`{where}: {finding['title']}"


def renderable(view: Row) -> RenderableType:
    parts: list[RenderableType] = [
        Text.assemble(("before  ", "bold"), (view["before"]["folder"], "dim"), overflow="fold"),
        Text.assemble(("after   ", "bold"), (view["after"]["folder"], "dim"), overflow="fold"),
    ]
    for loop in view["loops"]:
        name = loop["after_line"]
        if loop["before_line"] != name:
            name = f"{loop['before_line']} → {name}"
        parts.append(Text(f"\n{name}: {loop_text(loop)}", _STYLES[loop["change"]]))
        parts.append(_phases(loop["phases"]))
    said = [*(f"New: {new_finding(finding)}" for finding in view["new_findings"]), *remarks(view)]
    if view["proof"]:
        said.append(f"Both run again in turn: {view['proof']['text']}.")
    parts += [Text(f"\n{remark}" if not at else remark) for at, remark in enumerate(said)]
    return Group(*parts)


def _phases(phases: list[Row]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=24)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    for row in phases:
        label = f"  {words.PHASES[row['phase']]}"
        table.add_row(label, words.seconds(row["before"]), f"→ {words.seconds(row['after'])}")
    return table


def as_markdown(view: Row) -> str:
    _, answer = verdict(view)
    parts = [f"### {markdown.marked(answer)}"]
    for finding in view["new_findings"]:
        parts.append(f"**New: {markdown.marked(new_finding(finding))}**")
        if finding["diff"]:
            fix = markdown.marked(finding["fix"])
            parts += [f"Fix: {fix}.", markdown.block(finding["diff"], "diff")]
        elif finding["advice"]:
            parts.append(markdown.marked(finding["advice"]))
    parts += [markdown.marked(remark) for remark in remarks(view)]
    if view["loops"]:
        parts += ["As recorded, once each:", "\n".join(_table(view))]
    return "\n\n".join(parts) + "\n"


def _table(view: Row) -> Iterator[str]:
    yield "| loop | phase | before | after |"
    yield "|---|---|---:|---:|"
    for loop in view["loops"]:
        before, after = words.seconds(loop["before"]), words.seconds(loop["after"])
        yield f"| {markdown.cell(loop['after_line'])} | a step | {before} | {after} |"
        for row in loop["phases"]:
            before, after = words.seconds(row["before"]), words.seconds(row["after"])
            yield f"| | {words.PHASES[row['phase']]} | {before} | {after} |"


def as_html(view: Row) -> str:
    kind, answer = verdict(view)
    return html.render(
        "page/comparison.html",
        ("theme", "print"),
        view=view,
        kind=kind,
        answer=answer,
        remarks=list(remarks(view)),
        loop_text=loop_text,
        new_finding=new_finding,
        phases=words.PHASES,
    )
