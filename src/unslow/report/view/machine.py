"""What is said of the processes rather than of the steps: how they ended, memory, hot lines, lost probes."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from unslow.model import Loop, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats

HOTTEST = 8
FEW_STEPS = 200  # below this growth per 1 000 steps is no more than a guess
FEW_SAMPLES = 20  # below this a share of samples is chance


def ended_of(run: Run) -> str:
    """How the run ended in words, or nothing where it ended as it should."""
    errors = [each.how for each in run.processes if each.how not in ("exit", "killed", "")]
    cause = f" ({errors[0]})" if errors else ""
    if run.ended == "running":
        return "is still running: this is what was recorded so far"
    if run.ended.startswith("killed"):
        return f"was {run.ended}: this is what was recorded until then"
    if run.ended != "exit 0":
        return f"ended with {run.ended}{cause}"
    return f"ended with an error{cause}" if errors else ""


def memory_of(run: Run) -> list[dict[str, Any]]:
    """Resident memory of each process over time; those without a reading are left out."""
    return [found for process in run.processes if (found := _memory(run, process))]


def _memory(run: Run, process: Process) -> dict[str, Any] | None:
    _, rss = rss_of(process)
    if not len(rss):
        return None
    longest = max(
        (loop for loop in run.loops if loop.process == process.index), key=_total, default=None
    )
    return {
        "process": process.index,
        "worker": process.worker,
        "start_bytes": float(rss[0]),
        "peak_bytes": float(rss.max()),
        "end_bytes": float(rss[-1]),
        "growth_per_1000_steps": _growth(process, longest) if longest else None,
        "limit_bytes": process.machine.get("memory_bytes"),
    }


def rss_of(process: Process) -> tuple[Floats, Floats]:
    """Times and resident bytes, without the ticks that could not be read."""
    rss = process.ticks.columns.get("rss")
    if rss is None:
        return np.empty(0), np.empty(0)
    known = np.isfinite(rss) & (rss > 0)
    return process.ticks.time[known], rss[known]


def _total(loop: Loop) -> float:
    return loop.total


def _growth(process: Process, loop: Loop) -> float | None:
    """Bytes per 1 000 steps between the second and the last fifth of a loop; the first fifth warms up.

    Only what rises from fifth to fifth is growth: in a short loop a single allocation would be foretold
    as gigabytes.
    """
    time, rss = rss_of(process)
    inside = (time >= loop.start) & (time <= loop.stop)
    if inside.sum() < 20 or loop.steps < FEW_STEPS:
        return None
    step = np.interp(time[inside], loop.end, loop.number)
    fifths = np.array_split(np.arange(len(step)), 5)[1:]
    levels = [float(np.median(rss[inside][part])) for part in fifths]
    steps = float(np.median(step[fifths[-1]]) - np.median(step[fifths[0]]))
    if steps <= 0 or any(later <= earlier for earlier, later in pairwise(levels)):
        return 0.0 if steps > 0 else None
    return (levels[-1] - levels[0]) / steps * 1000


def hot_lines(run: Run) -> list[dict[str, Any]]:
    """The user's lines that the training thread was seen at most often, and what ran below them.

    Where there were steps, only what was seen during them counts: import and set-up have a picture of their own.
    """
    totals: Counter[tuple[str, int]] = Counter()
    leaves: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    functions: dict[tuple[str, int], str] = {}
    whole = 0
    for sample in run.samples:
        if not sample.training:
            continue
        taken = sample.in_steps if run.steps else sample.count
        whole += taken
        if sample.stack and taken:
            place = (sample.stack[0].file, sample.stack[0].line)
            totals[place] += taken
            leaves[place][sample.leaf] += taken
            functions[place] = sample.stack[0].function
    if whole < FEW_SAMPLES:
        return []
    hot = [(place, taken) for place, taken in totals.most_common(HOTTEST) if taken >= 0.01 * whole]
    return [
        {
            "file": file,
            "line": line,
            "function": functions[file, line],
            "code": run.line(file, line),
            "samples": taken,
            "share": taken / whole,
            "own_share": leaves[file, line]["python"] / whole,
            "below": [
                {"name": name, "share": part / whole}
                for name, part in leaves[file, line].most_common(3)
            ],
        }
        for (file, line), taken in hot
    ]


def processes_of(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "index": process.index,
            "pid": process.pid,
            "host": process.host,
            "worker": process.worker,
            "how": process.how,
            "seconds": process.ended - process.started,
            "steps": sum(loop.steps for loop in run.loops if loop.process == process.index),
        }
        for process in run.processes
    ]


def lost_probes(run: Run) -> list[dict[str, str]]:
    """Probes that could not look, with the reason; the same loss in many processes is said once."""
    lost = {
        (name, state.removeprefix("lost:").strip())
        for process in run.processes
        for name, state in process.probes.items()
        if state.startswith("lost")
    }
    return [{"probe": name, "reason": reason} for name, reason in sorted(lost)]


def seen_instead(run: Run) -> list[str]:
    """What a run without steps did: nothing is said where there were steps."""
    if run.steps:
        return []
    seen = [f"{taken:,} {kind} event{'s' if taken > 1 else ''}" for kind, taken in _kinds(run)]
    if not run.processes:
        return ["no Python process of the command imported TensorFlow"]
    versions = {item for each in run.processes for item in each.versions.items() if item[1]}
    imported = [f"{name} {version}" for name, version in sorted(versions)]
    return [*([f"imported: {', '.join(imported)}"] if imported else []), *seen]


def _kinds(run: Run) -> list[tuple[str, int]]:
    return Counter(event.kind for event in run.events).most_common(6)
