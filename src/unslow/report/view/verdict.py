"""The answer in one sentence: what is slow, at which line, what it costs."""

from __future__ import annotations

from typing import Any

from unslow.model import Diagnosis, Loop, Run, Shape
from unslow.report import words

SLOWER = 0.2  # a step that takes so much longer at the end than at the start wants an explanation
NOTABLE = 0.1  # an unexplained share of the training that belongs beside the verdict


def verdict_of(diagnosis: Diagnosis, findings: list[dict[str, Any]]) -> dict[str, Any]:
    """`kind` is fault, honest (an answer, but no fault), healthy, unexplained or no-steps."""
    run = diagnosis.run
    faults = [finding for finding in findings if finding["fault"]]
    if faults:
        return _verdict("fault", _fault(run, faults[0]), faults[0], _more(faults[1:]))
    if not run.steps:
        return _verdict("no-steps", f"No training step was seen in {words.seconds(run.seconds)}.")
    if not any(loop.trains for loop in run.loops) and not findings:
        return _verdict(
            "healthy",
            f"No training step was seen. {_healthy(run, max(run.loops, key=lambda o: o.total))}",
        )
    if findings:
        return _verdict("honest", _honest(findings[0]), findings[0], _unseen(diagnosis))
    loop = max(run.loops, key=lambda each: each.total)
    if loop.trend.shape in (Shape.DRIFTING, Shape.JUMPED) and loop.trend.change > SLOWER:
        return _verdict("unexplained", _slower(loop), more=_unseen(diagnosis))
    return _verdict("healthy", _healthy(run, loop), more=_unseen(diagnosis))


def _verdict(
    kind: str, text: str, finding: dict[str, Any] | None = None, more: str = ""
) -> dict[str, Any]:
    where = finding["location"] if finding else None
    return {
        "kind": kind,
        "text": text,
        "more": more,
        "seconds": finding["seconds"] if finding else 0.0,
        "share": finding["share"] if finding else 0.0,
        "line": f"{where['file']}:{where['line']}" if where else "",
        "cause": finding["cause"] if finding else "",
    }


def _fault(run: Run, finding: dict[str, Any]) -> str:
    title = finding["title"].rstrip(".")
    opening = f"Likely: {title}" if finding["certainty"] == "likely" else words.sentence(title)
    return f"{opening} — {_cost(run, finding)}{_where(finding)}."


def _cost(run: Run, finding: dict[str, Any]) -> str:
    whole, what = (run.trained, "training") if run.trained > 0 else (run.seconds, "the run")
    share = words.share(finding["share"])
    cost = f"{words.seconds(finding['seconds'])} of {words.seconds(whole)} of {what} ({share})"
    if finding["grows"] and finding["seconds"] <= 0:
        forecast = finding["forecast"]
        return (
            forecast["text"].rstrip(".")
            if forecast and forecast["text"]
            else "it costs little yet, but grows"
        )
    return f"{cost}, and growing" if finding["grows"] else cost


def _where(finding: dict[str, Any]) -> str:
    where = finding["location"]
    return f", at {where['file']}:{where['line']}" if where else ""


def _more(others: list[dict[str, Any]]) -> str:
    if not others:
        return ""
    seconds = words.seconds(sum(finding["seconds"] for finding in others))
    return f"{words.count(len(others), 'more finding')} below: {seconds}."


def _honest(finding: dict[str, Any]) -> str:
    return f"No fault of the program: {finding['title'].rstrip('.')}{_where(finding)}."


def _slower(loop: Loop) -> str:
    """A run that got slower without a cause is not called healthy."""
    before, after = words.seconds(loop.trend.before), words.seconds(loop.trend.after)
    over = f"over {words.count(loop.steps, 'step')} ({words.seconds(loop.total)})"
    return f"No cause was found, yet the steps got slower: from {before} to {after} each {over}, at {loop.location}."


def _healthy(run: Run, loop: Loop) -> str:
    trend = {
        Shape.STEADY: ", steady",
        Shape.DRIFTING: ", getting faster",
        Shape.PERIODIC: ", with regular long steps",
    }.get(loop.trend.shape, "")
    each = f"{words.seconds(loop.typical())} a step{trend}"
    return f"No fault was found in {words.count(run.steps, 'step')} ({words.seconds(run.trained)}): {each}."


def _unseen(diagnosis: Diagnosis) -> str:
    """What keeps the answer from being the whole one; a missing signal must not read as healthy."""
    parts = []
    share = diagnosis.unexplained / diagnosis.run.trained if diagnosis.run.trained > 0 else 0.0
    if share >= NOTABLE:
        parts.append(f"{words.share(share)} of the training is unexplained")
    if diagnosis.not_judged:
        parts.append(f"{words.count(len(diagnosis.not_judged), 'cause')} could not be judged")
    return f"{' and '.join(parts)}." if parts else ""
