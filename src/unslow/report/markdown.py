"""The report as markdown for an issue or a pull request: short, with the long parts folded away."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unslow.report import job as jobs
from unslow.report import outline, words
from unslow.report.rows import CodeRow, FindingRow, LoopRow
from unslow.report.words import Row

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&]|^[-+#=]")
_NUMBERED = re.compile(r"^(\d+)(?=[.)](\s|$))")  # a list, unlike "4.5 s"
# GitHub turns plain text into mentions and links; an invisible space prevents it.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|(?<=www)\.")


def dumps(view: Row) -> str:
    problems, notes = outline.divided(view["findings"])
    parts = [f"### {marked(view['verdict']['text'])}", marked(view["verdict"]["more"]), *_run(view)]
    parts += [_finding(finding) for finding in problems]
    parts += [f"{code(note['cause'])}: {marked(note['title'].rstrip('.'))}." for note in notes]
    if view["job"]:
        parts.append(_job(view["job"]))
    if view["loops"]:
        parts.append(_loops(jobs.shown(view, view["loops"])))
    parts.append(_folded("Limits of this report", _list(outline.limits(view))))
    return "\n\n".join(part for part in parts if part) + "\n"


def marked(text: str) -> str:
    """Text that may hold names of the user's: only back-ticked parts are markup, as code."""
    return "".join(
        code(part) if is_code else _escaped(part)
        for is_code, part in words.spans(" ".join(text.split()))
    )


def _escaped(flat: str) -> str:
    """No character may act as markup, a mention or a link."""
    escaped = _NUMBERED.sub(r"\1\\", _SPECIAL.sub(r"\\\g<0>", flat))
    return _LINKED.sub("\\g<0>\u200b", escaped)


def code(text: str) -> str:
    """An inline code span, fenced with more backticks than the text has in a row."""
    if not text:
        return ""
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text.replace(chr(10), ' ')}{space}{ticks}"


def block(text: str, language: str) -> str:
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{ticks}{language}\n{text.rstrip(chr(10))}\n{ticks}"


def cell(text: str) -> str:
    """A code span in a table, where a bar would end the cell."""
    return code(text).replace("|", "\\|")


def _run(view: Row) -> list[str]:
    command = code(view["command_line"])
    steps = jobs.steps(view)
    lines = [f"{command}: {steps}, {words.seconds(view['seconds'])}, {marked(view['ended'])}."]
    if view["how"]:
        lines.append(f"**The run {marked(view['how'])}.**")
    if view["seen_instead"]:
        lines.append(f"Seen instead:\n\n{_list(view['seen_instead'])}")
    return lines


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"- {marked(text)}" for text in texts)


def _finding(finding: FindingRow) -> str:
    cost = f"{words.seconds(finding['seconds'])}, {words.share(finding['share'])}"
    where = finding["location"]
    at = words.led(" at ", code(words.line(where)))
    grows = ", grows" if finding["grows"] else ""
    parts = [f"#### {code(finding['cause'])}{at}: {cost}{grows}", f"{marked(finding['title'])}."]
    if where and where["context"]:
        lines = (_code_line(row, where["line"]) for row in where["context"])
        parts.append(block("\n".join(lines), "text"))
    parts.append(_list(f"{label}: {text}" for label, text in outline.evidence(finding)))
    parts += [f"**{label}:** {marked(text)}" for label, text in outline.ways_out(finding)]
    if finding["fix"]:
        parts.append(_folded("Diff", block(finding["fix"]["diff"], "diff")))
    return "\n\n".join(part for part in parts if part)


def _code_line(row: CodeRow, here: int) -> str:
    return f"{row['line']:>5}{'>' if row['line'] == here else ' '} {row['code']}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _job(job: Row) -> str:
    """The job in a sentence, then the workers that others wait for."""
    rows = [
        f"| {' | '.join(jobs.HEADS)} |",
        f"|{'|'.join('---' if at in (0, 1, 6) else '---:' for at in range(len(jobs.HEADS)))}|",
    ]
    rows += [f"| {' | '.join(_plain_cell(each) for each in cells)} |" for cells in jobs.table(job)]
    after = [text for text in (jobs.rest(job), *jobs.notes(job)) if text]
    return "\n\n".join([f"{marked(jobs.headline(job))}.", "\n".join(rows), _list(after)]).rstrip()


def _plain_cell(text: str) -> str:
    return marked(text).replace("|", "\\|")


def _loops(loops: list[LoopRow]) -> str:
    rows = [
        "| loop | steps | seconds | a step | where the time goes | trend |",
        "|---|---:|---:|---:|---|---|",
    ]
    for loop in loops:
        bars = ", ".join(f"{bar['label']} {words.share(bar['share'])}" for bar in loop["bars"][:3])
        rows.append(
            f"| {cell(loop['line'])} | {loop['steps']:,} | {words.seconds(loop['seconds'])} "
            f"| {words.seconds(loop['typical'])} | {bars} | {loop['trend']['text']} |"
        )
    return "\n".join(rows)
