"""What belongs to processes rather than steps: how they ended, memory, hot lines, lost probes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stretches import import_end
from unslow.facts.memory import MemoryHigh
from unslow.facts.process import FoundLiving, OwnStep
from unslow.model import Location, Loop, Process, Run, Sample
from unslow.report import words
from unslow.report.words import Row

if TYPE_CHECKING:
    from unslow.model import Floats

HOTTEST = 8  # lines
LEAST_SHARE = 0.01  # of the samples: a line below is left out
FEW_STEPS = 200  # below this growth per 1,000 steps is no more than a guess (judgement)
FEW_READINGS = 20  # of memory: below this there are no fifths to compare
FEW_SAMPLES = 20  # below this a share of samples is chance


def ended_of(run: Run) -> str:
    """How the run ended in words, or nothing where it ended well."""
    if run.attached:
        return _while_attached(run)
    errors = [each.how for each in run.processes if each.how not in ("exit", "killed", "")]
    reason = f" ({errors[0]})" if errors else ""
    if run.ended == "running":
        return "is still running: this is what was recorded so far"
    if run.ended.startswith("killed"):
        return f"was {run.ended}: this is what was recorded until then"
    if run.ended != "exit 0":
        return f"ended with {run.ended}{reason}"
    return f"ended with an error{reason}" if errors else ""


def _while_attached(run: Run) -> str:
    """What the steps of a recording that began late are counted from."""
    end = "ended" if run.ended.startswith("ended") else "goes on"
    counted = "steps are counted since unslow attached"
    numbers: dict[tuple[str, int], list[int]] = {}
    for read in run.facts(OwnStep):
        numbers.setdefault((read.counter, read.id), []).append(read.number)
    rising = [(name, both) for (name, _), both in numbers.items() if both[-1] > both[0]]
    if len(rising) == 1:
        name, both = rising[0]
        counted += f", from step {both[0]:,} to {both[-1]:,} by its own {name}"
    if not all(found.complete for found in run.facts(FoundLiving)):
        counted += (
            "; it holds too many objects to go through, so what it made before is not known"
            " until it is used"
        )
    return f"{end}; {counted}"


def memory_of(run: Run) -> list[Row]:
    """Resident memory of each process over time; those without a reading are left out."""
    return [found for process in run.processes if (found := _memory(run, process))]


def _memory(run: Run, process: Process) -> Row | None:
    _, rss = rss_of(process)
    if not len(rss):
        return None
    loops = run.loops_of(process.index)
    longest = max(loops, key=lambda loop: loop.total, default=None)
    highs = (high.bytes for high in run.facts(MemoryHigh, process.index))
    return {
        "process": process.index,
        "worker": process.worker,
        "start_bytes": float(rss[0]),
        "peak_bytes": max([float(rss.max()), *highs]),
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


def _growth(process: Process, loop: Loop) -> float | None:
    """Bytes per 1,000 steps between the second and the last fifth of a loop; the first warms up.

    Only what rises from fifth to fifth is growth: in a short loop a single allocation would be
    forecast as gigabytes.
    """
    time, rss = rss_of(process)
    inside = (time >= loop.start) & (time <= loop.stop)
    if inside.sum() < FEW_READINGS or loop.steps < FEW_STEPS:
        return None
    step = np.interp(time[inside], loop.end, loop.number)
    fifths = np.array_split(np.arange(len(step)), 5)[1:]
    levels = [float(np.median(rss[inside][part])) for part in fifths]
    steps = float(np.median(step[fifths[-1]]) - np.median(step[fifths[0]]))
    if steps <= 0:
        return None
    rises = bool(np.all(np.diff(levels) > 0))
    return (levels[-1] - levels[0]) / steps * 1000 if rises else 0.0


@dataclass
class _HotLine:
    """A line of the user's, with the samples that saw it and what ran below it."""

    place: Location
    samples: int = 0
    below: Counter[str] = field(default_factory=Counter)


def hot_lines(run: Run) -> list[Row]:
    """The user's lines that the training thread was seen at most often, and what ran below them.

    Over the whole program but the import of TensorFlow, which has a row of its own.
    """
    lines: dict[tuple[str, int], _HotLine] = {}
    whole = 0
    imported = {process.index: import_end(run, process) for process in run.processes}
    for sample in run.samples:
        taken = _after_import(sample, imported.get(sample.process, 0.0))
        if not sample.training or not taken:
            continue
        whole += taken
        for place in sample.stack[:1]:
            line = lines.setdefault((place.file, place.line), _HotLine(place))
            line.samples += taken
            line.below[sample.leaf] += taken
    if whole < FEW_SAMPLES:
        return []
    hottest = sorted(lines.values(), key=lambda line: -line.samples)[:HOTTEST]
    return [_hot_line(run, line, whole) for line in hottest if line.samples >= LEAST_SHARE * whole]


def _after_import(sample: Sample, imported: float) -> int:
    if not sample.bins:
        return sample.in_steps
    return round(sample.within(imported, math.inf))


def _hot_line(run: Run, line: _HotLine, whole: int) -> Row:
    place = line.place
    return {
        "file": place.file,
        "line": place.line,
        "function": place.function,
        "code": run.line(place.file, place.line),
        "samples": line.samples,
        "share": line.samples / whole,
        "own_share": line.below["python"] / whole,
        "below": [
            {"name": name, "share": part / whole} for name, part in line.below.most_common(3)
        ],
    }


def processes_of(run: Run) -> list[Row]:
    return [
        {
            "index": process.index,
            "pid": process.pid,
            "host": process.host,
            "worker": process.worker,
            "how": process.how,
            "seconds": process.ended - process.started,
            "steps": sum(loop.steps for loop in run.loops_of(process.index)),
        }
        for process in run.processes
    ]


def lost_probes(run: Run) -> list[Row]:
    """Probes that failed, with the reason; the same loss in many processes is one row."""
    lost = set()
    for process in run.processes:
        for name, state in process.probes.items():
            if state.startswith("lost"):
                lost.add((name, state.removeprefix("lost:").strip()))
    return [{"probe": name, "reason": reason} for name, reason in sorted(lost)]


def seen_instead(run: Run) -> list[str]:
    """What a run without steps did; nothing where there were steps."""
    if run.steps:
        return []
    if not run.processes:
        return ["no Python process of the command imported TensorFlow"]
    versions = sorted(run.versions.items())
    imported = [f"{name} {version}" for name, version in versions if version]
    kinds = run.table.counts()
    seen = [words.count(kinds[kind], what) for kind, what in _DONE.items() if kinds[kind]]
    return [f"imported: {', '.join(imported)}", *seen] if imported else seen


# What a program without steps may have done, by the kind of its facts.
_DONE = {
    "trace": "traced function",
    "dataset": "data pipeline",
    "iterator": "pipeline iterator",
    "prediction": "predict or evaluate call",
    "save": "saved file",
}
