"""The report as markdown for an issue or a pull request: short, with the long parts folded away."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from unslow.report import words

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])|^([-+#=]|\d+[.)])")
# GitHub makes mentions, references and links of plain text; an invisible space in the middle stops it.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|(?<=www)\.")


def dumps(view: dict[str, Any]) -> str:
    faults = [finding for finding in view["findings"] if finding["fault"]]
    honest = [finding for finding in view["findings"] if not finding["fault"]]
    parts = [f"### {_text(view['verdict']['text'])}", _text(view["verdict"]["more"]), *_run(view)]
    parts += [_finding(finding) for finding in faults]
    parts += [f"No fault: {_text(finding['title'])}." for finding in honest]
    if view["loops"]:
        parts.append(_loops(view["loops"]))
    parts.append(_limits(view))
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """Words of ours with the user's names in them: only back-ticked parts are markup, as code."""
    return "".join(
        _code(part) if code else _escaped(part)
        for code, part in words.spans(" ".join(text.split()))
    )


def _escaped(flat: str) -> str:
    """No character may act as markup, a mention or a link."""
    return _LINKED.sub("\\g<0>\u200b", _SPECIAL.sub(r"\\\g<0>", flat))


def _code(text: str) -> str:
    """An inline code span, fenced with more backticks than the text has in a row."""
    if not text:
        return ""
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text.replace(chr(10), ' ')}{space}{ticks}"


def _block(text: str, language: str) -> str:
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{ticks}{language}\n{text.rstrip(chr(10))}\n{ticks}"


def _cell(text: str) -> str:
    """A code span in a table, where a bar would end the cell."""
    return _code(text).replace("|", "\\|")


def _run(view: dict[str, Any]) -> list[str]:
    command = _code(view["command_line"])
    steps = words.count(view["steps"], "step")
    lines = [f"{command}: {steps}, {words.seconds(view['seconds'])}, {_text(view['ended'])}."]
    if view["how"]:
        lines.append(f"**The run {_text(view['how'])}.**")
    if view["seen_instead"]:
        lines.append(
            "Seen instead:\n\n" + "\n".join(f"- {_text(seen)}" for seen in view["seen_instead"])
        )
    return lines


def _finding(finding: dict[str, Any]) -> str:
    cost = f"{words.seconds(finding['seconds'])}, {words.share(finding['share'])}"
    where = finding["location"]
    at = f" at {_code(where['file'] + ':' + str(where['line']))}" if where else ""
    grows = ", grows" if finding["grows"] else ""
    parts = [f"#### {_code(finding['cause'])}{at}: {cost}{grows}", f"{_text(finding['title'])}."]
    if where and where["context"]:
        lines = (
            f"{row['line']:>5}{'>' if row['line'] == where['line'] else ' '} {row['code']}"
            for row in where["context"]
        )
        parts.append(_block("\n".join(lines), "text"))
    if finding["evidence"]:
        parts.append(
            "\n".join(
                f"- {_text(each['label'])}: {_text(each['text'])}" for each in finding["evidence"]
            )
        )
    return "\n\n".join([*parts, *_ways_out(finding)])


def _ways_out(finding: dict[str, Any]) -> list[str]:
    parts = []
    if finding["forecast"] and finding["forecast"]["text"]:
        parts.append(f"**Later:** {_text(finding['forecast']['text'].rstrip('.'))}.")
    if finding["proof"]:
        parts.append(
            f"**Proof:** {finding['proof']['verdict']}: {_text(finding['proof']['text'].rstrip('.'))}."
        )
    if finding["fix"]:
        fix = finding["fix"]
        note = f" {_text(fix['note'])}" if fix["note"] else ""
        parts.append(
            f"**Fix:** {_text(fix['title'])} ({fix['safety']}: {words.SAFETY[fix['safety']]}).{note}"
        )
        parts.append(
            f"<details><summary>Diff</summary>\n\n{_block(fix['diff'], 'diff')}\n\n</details>"
        )
    elif finding["advice"]:
        parts.append(f"**Do:** {_text(finding['advice'].rstrip('.'))}.")
    if finding["refusal"]:
        parts.append(f"**No diff:** {_text(finding['refusal']['reason'].rstrip('.'))}.")
    return parts


def _loops(loops: list[dict[str, Any]]) -> str:
    rows = [
        "| loop | steps | seconds | a step | where the time goes | trend |",
        "|---|---:|---:|---:|---|---|",
    ]
    for loop in loops:
        bars = ", ".join(f"{bar['label']} {words.share(bar['share'])}" for bar in loop["bars"][:3])
        rows.append(
            f"| {_cell(loop['line'])} | {loop['steps']:,} | {words.seconds(loop['seconds'])} "
            f"| {words.seconds(loop['typical'])} | {bars} | {loop['trend']['text']} |"
        )
    return "\n".join(rows)


def _limits(view: dict[str, Any]) -> str:
    grouped: dict[str, list[str]] = defaultdict(list)
    for each in view["not_judged"]:
        grouped[each["reason"]].append(each["cause"])
    lines = [
        f"- not judged: {', '.join(causes)} ({_text(reason)})" for reason, causes in grouped.items()
    ]
    lines += [
        f"- probe lost: {lost['probe']} ({_text(lost['reason'])})" for lost in view["lost_probes"]
    ]
    lines += [f"- recording: {_text(note)}" for note in view["notes"]]
    lines.append(f"- unexplained: {words.seconds(view['unexplained_seconds'])} of the training")
    own = view["own_cost"]
    lines.append(
        f"- unslow itself cost {words.seconds(own['seconds'])} ({words.share(own['share'])})"
    )
    return (
        "<details><summary>Limits of this report</summary>\n\n"
        + "\n".join(lines)
        + "\n\n</details>"
    )
