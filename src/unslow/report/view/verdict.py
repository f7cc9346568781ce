"""The answer in one sentence: what is slow, at which line, what it costs."""

from __future__ import annotations

from typing import Any

from unslow.model import Run, Shape
from unslow.report import words


def verdict_of(run: Run, findings: list[dict[str, Any]]) -> dict[str, Any]:
    """`kind` is fault, honest (an answer, but no fault), healthy or no-steps."""
    faults = [finding for finding in findings if finding["fault"]]
    if faults:
        return _verdict("fault", _fault(run, faults[0]), faults[0], _more(faults[1:]))
    if not run.steps:
        return _verdict("no-steps", f"No training step was seen in {words.seconds(run.seconds)}.")
    if findings:
        return _verdict("honest", _honest(run, findings[0]), findings[0])
    return _verdict("healthy", _healthy(run))


def _verdict(kind: str, text: str, finding: dict[str, Any] | None = None, more: str = "") -> dict[str, Any]:
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
    likely = "Likely: " if finding["certainty"] == "likely" else ""
    return f"{likely}{title}: {_cost(run, finding)}{_where(finding)}."


def _cost(run: Run, finding: dict[str, Any]) -> str:
    whole, what = (run.trained, "training") if run.trained > 0 else (run.seconds, "the run")
    share = words.share(finding["share"])
    cost = f"{words.seconds(finding['seconds'])} of {words.seconds(whole)} of {what} ({share})"
    if finding["grows"]:
        return f"{cost}, and growing" if finding["seconds"] > 0 else "little yet, but growing"
    return cost


def _where(finding: dict[str, Any]) -> str:
    where = finding["location"]
    return f", at {where['file']}:{where['line']}" if where else ""


def _more(others: list[dict[str, Any]]) -> str:
    if not others:
        return ""
    seconds = words.seconds(sum(finding["seconds"] for finding in others))
    return f"{words.count(len(others), 'more finding')} below: {seconds}."


def _honest(run: Run, finding: dict[str, Any]) -> str:
    return f"No fault of the program: {finding['title'].rstrip('.')}{_where(finding)}."


def _healthy(run: Run) -> str:
    loop = max(run.loops, key=lambda each: each.total)
    trend = {
        Shape.STEADY: ", steady",
        Shape.DRIFTING: ", drifting",
        Shape.JUMPED: ", with a jump",
        Shape.PERIODIC: ", with regular long steps",
    }.get(loop.trend.shape, "")
    each = f"{words.seconds(loop.typical())} a step{trend}"
    return f"No fault was found in {words.count(run.steps, 'step')} ({words.seconds(run.trained)}): {each}."
