"""The page that says what `unslow attach` finds and costs, made from the causes, the tests and the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from bench.attach import results as measured
from tests.live.attached_examples import TRIED
from unslow.cause import Cause

_INTRO = """# Causes that `unslow attach` finds

A recording that begins in the middle of a training does not see what came before. Of {all} causes that a run can show,
{judged} are judged; {tried} of them were tried on an example that was attached to in its middle
(`tests/live/test_attach_causes.py`). Where an object was made before (a dataset, an optimizer, a callback), the finding
is told at the line that uses it.

| cause | judged after attaching | tried with |
|---|---|---|"""
# What these compare are the workers of a job, and one process is attached to.
_OF_SEVERAL = ("communication", "straggler")


def page(causes: Sequence[Cause]) -> str:
    ran = [cause for cause in causes if cause.ran]
    judged = [cause for cause in ran if not _why_not(cause)]
    tried = [cause for cause in judged if cause.id in TRIED]
    intro = _INTRO.format(all=len(ran), judged=len(judged), tried=len(tried))
    return "\n".join([intro, *map(_row, ran), "", measured.section()])


def _row(cause: Cause) -> str:
    link = f"[`{cause.id}`](causes/{cause.id}.md)"
    if why_not := _why_not(cause):
        return f"| {link} | no: {why_not} | |"
    tried = TRIED.get(cause.id)
    shown = f"[{tried.example}](../examples/{tried.example})" if tried else "not tried yet"
    return f"| {link} | yes | {shown} |"


def _why_not(cause: Cause) -> str:
    if cause.id in _OF_SEVERAL:
        return "it compares the workers of a job, and one process is attached to"
    return cause.from_the_start
