"""Briefs as markdown, to be read by a person or handed to a coding agent."""

from __future__ import annotations

from collections.abc import Sequence

from unslow.report import words
from unslow.report.markdown import block, code, marked
from unslow.report.words import Row


def dumps(briefs: Sequence[Row], command_line: str) -> str:
    intro = (
        f"{code(command_line)} was recorded by unslow. For what follows it has no automatic diff. "
        "Change as little as possible, keep the results of the training the same, and prove the "
        "change with the command at the end of each part."
    )
    parts = ["# What to change by hand", intro]
    for number, brief in enumerate(briefs, 1):
        parts += _brief(number, brief)
    return "\n\n".join(parts) + "\n"


def _brief(number: int, brief: Row) -> list[str]:
    at = words.led(" at ", code(words.line(brief["location"])))
    costs = []
    if brief["seconds"]:
        share = words.share(brief["share"])
        costs.append(f"{words.seconds(brief['seconds'])}, {share} of the training")
    if brief["frees_bytes"]:
        costs.append(f"{words.size(brief['frees_bytes'])} of the peak")
    parts = [f"## {number}. {code(brief['cause'])}{at}", f"{marked(brief['title'])}."]
    if costs:
        parts.append(f"**What it costs**: {'; '.join(costs)}.")
    if brief["evidence"]:
        rows = [f"- {marked(each['label'])}: {marked(each['text'])}" for each in brief["evidence"]]
        parts.append("**Measured**\n\n" + "\n".join(rows))
    if brief["code"]:
        held = brief["code"]
        parts.append(f"**The code**, {code(held['file'])} from line {held['first']}")
        parts.append(block(held["text"], "python"))
    obstacle = f" ({code(brief['obstacle'])})" if brief["obstacle"] else ""
    parts.append(f"**Why there is no diff**: {marked(brief['no_diff'])}{obstacle}.")
    if brief["advice"]:
        parts.append(f"**What to do**: {marked(brief['advice'])}")
    parts.append(f"**The cure in general**: {marked(brief['cure'])}")
    parts.append("**Prove it**: write your change as a patch (`diff -u`, `git diff`), then")
    parts.append(block(brief["prove"], "sh"))
    return parts
