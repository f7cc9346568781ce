"""A Chrome trace (JSON) for Perfetto: steps, phases, traces, profiler windows, memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from unslow.analyse.host.xplane import read
from unslow.facts.functions import Trace
from unslow.facts.json_object import JsonObject
from unslow.facts.profiler import ProfilerWindow
from unslow.model import Diagnosis, Loop, Phase, Process, Run, line_text
from unslow.report.view import clean
from unslow.report.words import PHASES
from unslow.runfolder.layout import read_inside

STEPS = 20_000  # rows of one loop: about 10 MB of trace, which both viewers open at once
TRACES = 2  # the first thread number of function traces; loops have 10 and up
LANES = 8
WINDOWS = 1000  # the first thread number of TensorFlow's own threads
FINDINGS = 1
ORDER = "the order of phases within a step is not recorded"


def write(diagnosis: Diagnosis, path: Path) -> None:
    trace = {
        "traceEvents": list(events_of(diagnosis)),
        "displayTimeUnit": "ms",
        "otherData": clean(
            {"command": " ".join(diagnosis.run.command), "ended": diagnosis.run.ended}
        ),
    }
    path.write_text(json.dumps(trace, allow_nan=False, separators=(",", ":")), encoding="utf-8")


def events_of(diagnosis: Diagnosis) -> Iterator[JsonObject]:
    """Trace events; times are microseconds since the run began."""
    run = diagnosis.run
    for process in run.processes:
        yield _name("process_name", process.index, 0, process.worker or f"process {process.pid}")
        yield from _memory(process)
        yield from _traces(run, process)
        yield from _windows(run, process)
    for number, loop in enumerate(run.loops):
        yield _name("thread_name", loop.process, 10 + number, f"steps at {loop.location}")
        yield from _steps(loop, 10 + number)
    if diagnosis.findings and run.processes:
        yield _name("thread_name", run.processes[0].index, FINDINGS, "findings")
        yield from _findings(diagnosis)


def _name(kind: str, process: int, thread: int, name: str) -> JsonObject:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": clean(name)}}


def _slice(
    name: str, begin: int, end: int, process: int, thread: int, **args: object
) -> JsonObject:
    """Whole microseconds: the last bit of a float would make neighbors overlap."""
    return {
        "ph": "X",
        "name": clean(name),
        "cat": "unslow",
        "ts": begin,
        "dur": max(0, end - begin),
        "pid": process,
        "tid": thread,
        "args": clean(args),
    }


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)


def _steps(loop: Loop, thread: int) -> Iterator[JsonObject]:
    """One slice per row.

    Phases are sums; a note says that their order in a step is not recorded.
    """
    free = 0  # where the last slice ended: rounding must not make two overlap
    for row in kept_rows(loop):
        count, seconds = int(loop.count[row]), float(loop.seconds[row])
        start = float(loop.end[row]) - seconds * count
        begin, end = max(free, _micros(start)), max(free, _micros(float(loop.end[row])))
        number = int(loop.number[row])
        name = f"step {number}" if count == 1 else f"steps {number - count + 1} to {number}"
        yield _slice(
            name,
            begin,
            end,
            loop.process,
            thread,
            step=number,
            steps=count,
            seconds_per_step=seconds,
        )
        reached, at = np.cumsum(np.maximum(loop.phases[row], 0.0)) * count, begin
        for phase, upto in zip(Phase, reached, strict=True):
            until = min(end, _micros(start + float(upto)))
            if until > at:
                yield _slice(
                    PHASES[phase.name.lower()], at, until, loop.process, thread, note=ORDER
                )
                at = until
        free = end


def kept_rows(loop: Loop) -> Iterable[int]:
    """All rows, or of a very long loop its start, its end and its longest steps."""
    rows = len(loop.end)
    if rows <= STEPS:
        return range(rows)
    third = STEPS // 3
    longest = np.argsort(loop.high)[-third:]
    chosen = {*range(third), *range(rows - third, rows), *(int(row) for row in longest)}
    return sorted(chosen)


def _traces(run: Run, process: Process) -> Iterator[JsonObject]:
    """Traces nest; those of different threads may overlap, and then go to lanes of their own."""
    traced = [trace for trace in run.facts(Trace) if trace.process == process.index]
    spans = [(_micros(trace.time - trace.took), _micros(trace.time), trace) for trace in traced]
    lanes: list[list[int]] = []
    for begin, end, trace in sorted(spans, key=lambda span: (span[0], -span[1])):
        lane = _lane(lanes, begin, end)
        if lane == len(lanes):
            lanes.append([])
            yield _name("thread_name", process.index, TRACES + lane, "function traces")
        lanes[lane].append(end)
        more = {"args": trace.args, "nodes": trace.nodes, "step": trace.step}
        yield _slice(f"trace {trace.name}", begin, end, process.index, TRACES + lane, **more)


def _windows(run: Run, process: Process) -> Iterator[JsonObject]:
    """Every span of TensorFlow's own profiler, on its own thread; damaged profiles are left out."""
    threads: dict[str, int] = {}
    for window in run.facts(ProfilerWindow):
        if window.process != process.index or not window.file:
            continue
        try:
            found = read(read_inside(run.folder, window.file))
        except (OSError, ValueError):
            continue
        begin = _opened(run, window)
        for thread in found:
            number = threads.setdefault(thread.name, WINDOWS + len(threads))
            yield _name("thread_name", process.index, number, f"TensorFlow {thread.name}")
            for span in thread.spans:
                start, end = _micros(begin + span.start), _micros(begin + span.start + span.length)
                if end > start:
                    yield _slice(span.name, start, end, process.index, number)


def _opened(run: Run, window: ProfilerWindow) -> float:
    """When a window began, which is the zero of its profile: at the end of the step before it."""
    loop = run.loop_of(window)
    before = sum(each.steps for each in run.loops if loop is not None and each.stop <= loop.start)
    if loop is not None and 0 < window.step - before < loop.steps:
        return float(np.interp(window.step - before, loop.number, loop.end))
    return window.time - window.spent - window.wall


def _lane(lanes: list[list[int]], begin: int, end: int) -> int:
    """The first lane in which a slice follows or lies inside the open ones, else the last one."""
    for number, ends in enumerate(lanes):
        while ends and ends[-1] <= begin:
            ends.pop()
        if not ends or end <= ends[-1]:
            return number
    return min(len(lanes), LANES - 1)


def _memory(process: Process) -> Iterator[JsonObject]:
    rss = process.ticks.columns.get("rss", np.empty(0))
    for time, value in zip(process.ticks.time, rss, strict=False):
        if np.isfinite(value):
            yield {
                "ph": "C",
                "name": "resident memory",
                "ts": _micros(float(time)),
                "pid": process.index,
                "tid": 0,
                "args": {"bytes": float(value)},
            }


def _findings(diagnosis: Diagnosis) -> Iterator[JsonObject]:
    """Findings have no moment: they stand at the start of the first loop."""
    run = diagnosis.run
    begin = run.loops[0].start if run.loops else 0.0
    for finding in diagnosis.findings:
        yield {
            "ph": "i",
            "s": "p",
            "name": clean(f"{finding.cause}: {finding.title}"),
            "cat": "finding",
            "ts": _micros(begin),
            "pid": run.processes[0].index,
            "tid": FINDINGS,
            "args": clean({"seconds": finding.seconds, "line": line_text(finding.location)}),
        }
