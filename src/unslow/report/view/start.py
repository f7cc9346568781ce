"""The way to the second step: import, set-up, and the first step cut into its parts."""

from __future__ import annotations

import numpy as np

from unslow.analyse.stats.robust import ratio
from unslow.facts.process import Imported
from unslow.model import Loop, Phase, Run
from unslow.report import words
from unslow.report.words import Row

# In the order in which a first step usually goes through them: phases are sums, not moments.
_ORDER = (
    Phase.INPUT,
    Phase.BUILD,
    Phase.TRACE,
    Phase.RUN,
    Phase.SYNC,
    Phase.LOG,
    Phase.SAVE,
    Phase.EVAL,
    Phase.HOOKS,
    Phase.GC,
    Phase.OTHER,
)


def start_of(run: Run) -> Row | None:
    """Rows of a waterfall in seconds since the process began, for the loop that trained first."""
    if not run.loops or len(run.loops[0].end) < 2 or run.loops[0].count[0] != 1:
        return None
    loop = run.loops[0]
    process = run.process_of(loop)
    imported = next((each.time for each in run.facts(Imported, loop.process)), None)
    rows = []
    at = process.started
    if imported is not None and process.started < imported <= loop.start:
        rows.append(_row("import of TensorFlow", at, imported - at, "build"))
        at = imported
    if loop.start > at:
        rows.append(_row("set-up before the first step", at, loop.start - at, "other"))
    rows += _first_step(loop)
    end = float(loop.end[0])
    return {
        "line": str(loop.location),
        "seconds": end - process.started,
        "first": float(loop.seconds[0]),
        "typical": loop.typical(),
        "rows": [
            {
                **row,
                "left": _part(row["begin"] - process.started, end - process.started),
                "width": _part(row["seconds"], end - process.started),
            }
            for row in rows
        ],
    }


def _first_step(loop: Loop) -> list[Row]:
    """A steady step shows what the run itself takes; the first one's excess is preparation."""
    first = loop.phases[0]
    steady = min(float(first[Phase.RUN]), float(np.median(loop.phases[1:, Phase.RUN])))
    rows = []
    at = loop.start
    for phase in _ORDER:
        parts = [(words.PHASES[phase.name.lower()], float(first[phase]))]
        if phase is Phase.RUN:
            parts = [
                ("optimizing, compiling, first-time costs", float(first[phase]) - steady),
                ("the run itself", steady),
            ]
        for label, seconds in parts:
            if seconds > 0.002 * float(loop.seconds[0]):
                rows.append(_row(f"first step: {label}", at, seconds, phase.name.lower()))
                at += seconds
    return rows


def _row(label: str, begin: float, seconds: float, phase: str) -> Row:
    return {"label": label, "begin": begin, "seconds": seconds, "phase": phase}


def _part(value: float, whole: float) -> float:
    return min(1.0, max(0.0, ratio(value, whole)))
