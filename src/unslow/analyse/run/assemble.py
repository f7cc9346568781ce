"""From a run folder to a Run: clocks aligned, nanoseconds to seconds, updates to steps and loops."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from unslow.analyse.graphs.call_profile import read_call
from unslow.analyse.run.loops import loops_of
from unslow.analyse.run.samples import samples_of
from unslow.errors import UnslowError
from unslow.facts.codec import Context
from unslow.facts.table import FactTable
from unslow.model import Event, Process, Run, Ticks
from unslow.runfolder import layout as runfile
from unslow.runfolder.layout import ProcessLog
from unslow.runfolder.steplog import rows_of

# Lines that are taken apart here and are not facts for a cause.
_PLUMBING = frozenset(("process", "source", "tick", "samples", "stack", "site", "probe", "end"))
_OWN_CPU = "own_cpu"


def load(folder: str) -> Run:
    """Read a run folder; a folder that is not one, or too new, is an error that says what to do."""
    try:
        raw = runfile.read(folder)
    except runfile.Unreadable as problem:
        raise UnslowError(
            f"cannot read {folder}",
            str(problem),
            "Type `unslow runs` to see the runs there are.",
            "bad-run-folder",
        ) from None
    except OSError as problem:
        raise UnslowError(
            f"cannot read {folder}",
            problem.strerror or str(problem),
            "Type `unslow runs` to see the runs there are.",
            "bad-run-folder",
        ) from None
    return assemble(raw)


def assemble(raw: runfile.Folder) -> Run:
    header = raw.header
    logs = [log for log in raw.logs if any(line["k"] == "process" for line in log.lines)]
    start = min((_first(log, "process").get("since", _began(log)) for log in logs), default=0)
    names = _Names(str(header.get("cwd", "")))
    lines = [
        (line, Context(index, start, names)) for index, log in enumerate(logs) for line in log.lines
    ]
    processes = tuple(_process(index, log, start) for index, log in enumerate(logs))
    events = [
        replace(event, data=_looked_into(raw.path, event)) if event.kind == "call" else event
        for index, log in enumerate(logs)
        for event in _events(index, log, start, names)
    ]
    loops = [loop for index, log in enumerate(logs) for loop in loops_of(index, log, start, names)]
    samples = [
        sample
        for index, log in enumerate(logs)
        for sample in samples_of(index, log, loops, start, names)
    ]
    ended = str(header.get("ended") or _unfinished(header))
    seconds = max(
        (process.ended for process in processes), default=float(header.get("seconds") or 0.0)
    )
    return Run(
        folder=raw.path,
        command=tuple(str(word) for word in header.get("command", ())),
        cwd=str(header.get("cwd", "")),
        started=float(header.get("started") or 0.0),
        seconds=seconds,
        ended=ended,
        processes=processes,
        loops=tuple(sorted(loops, key=lambda loop: loop.start)),
        events=tuple(sorted(events, key=lambda event: event.time)),
        samples=tuple(samples),
        sources=_sources(raw.path, logs, names),
        sampling_hz=_sampling(processes),
        table=FactTable(lines),
        notes=tuple(_notes(raw)),
    )


class _Names:
    """Paths as they are shown: relative to the run's working directory where they lie below it."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def __call__(self, path: str) -> str:
        if self._cwd and path.startswith(self._cwd.rstrip("/") + "/"):
            return os.path.relpath(path, self._cwd)
        return path


def _first(log: ProcessLog, kind: str) -> dict[str, Any]:
    return next((line for line in log.lines if line["k"] == kind), {})


def _began(log: ProcessLog) -> int:
    return int(_first(log, "imported").get("since") or _first(log, "process").get("t") or 0)


def _process(index: int, log: ProcessLog, start: int) -> Process:
    head, tail, imported = _first(log, "process"), _first(log, "end"), _first(log, "imported")
    probes = dict(tail.get("probes") or {})
    for line in log.lines:
        if line["k"] == "probe":
            probes[line["name"]] = line["state"]
    if not tail:  # it was killed: what had been armed by then is told by what was written
        probes = dict.fromkeys(_USUAL_PROBES, "armed") | probes
    last = max((int(line["t"]) for line in log.lines), default=start)
    ends = rows_of(log.rows)["end"]
    if len(ends):
        last = max(last, int(ends[-1]))
    return Process(
        index=index,
        pid=int(head.get("pid", 0)),
        host=str(head.get("host", "")),
        worker=_worker(head.get("cluster", "")),
        argv=tuple(map(str, head.get("argv", ()))),
        versions={
            "python": str(head.get("python", "")),
            "tensorflow": str(imported.get("tensorflow", "")),
            "keras": str(tail.get("keras") or imported.get("keras", "")),
        },
        started=(_began(log) - start) / 1e9,
        ended=(last - start) / 1e9,
        how=str(tail.get("how", "killed")),
        probes=probes,
        own=_own(log, tail),
        ticks=_ticks(log, start),
        machine={
            key: value for key, value in _first(log, "machine").items() if key not in ("k", "t")
        },
    )


_USUAL_PROBES = ("functions", "sessions", "eager", "keras", "input", "tensors", "gc")


def _worker(cluster: str) -> str:
    import json

    try:
        task = json.loads(cluster)["task"]
        return f"{task['type']} {task['index']}"
    except (ValueError, KeyError, TypeError):
        return ""


_AROUND = 3.0  # what a step pays, as a multiple of closing its row: seen by bench/blocks.py in compiled steps


def _own(log: ProcessLog, tail: Mapping[str, Any]) -> dict[str, float]:
    """What recording cost this process: wrapped calls, dear looks and the watcher's own processor time."""
    ticks = [line for line in log.lines if line["k"] == "tick" and line.get("watcher")]
    watcher = max((float(line.get(_OWN_CPU, 0)) for line in ticks), default=0.0) / 1e9
    calls = float(tail.get("calls", 0)) * float(tail.get("call_cost_ns", 0)) / 1e9
    looks = float(tail.get("looks_ns", 0)) / 1e9
    rows = _AROUND * float(tail.get("rows_ns", 0)) / 1e9
    return {
        "seconds": calls + rows + looks + watcher,
        "rows": rows,
        "calls": float(tail.get("calls", 0)),
        "looks": looks,
        "watcher": watcher,
        "call_cost": float(tail.get("call_cost_ns", 0)) / 1e9,
        "samples": float(tail.get("samples", 0)),
        "peak_rss_bytes": float(tail.get("peak_rss", 0)),
        "recorder_bytes": float(tail.get("recorder_bytes", 0)),
    }


def _ticks(log: ProcessLog, start: int) -> Ticks:
    lines = [line for line in log.lines if line["k"] == "tick"]
    names = sorted({name for line in lines for name in line} - {"k", "t", _OWN_CPU, "watcher"})
    columns = {name: np.array([float(line.get(name, np.nan)) for line in lines]) for name in names}
    return Ticks((np.array([float(line["t"]) for line in lines]) - start) / 1e9, columns)


def _events(index: int, log: ProcessLog, start: int, names: _Names) -> Iterable[Event]:
    for line in log.lines:
        if line["k"] not in _PLUMBING:
            data = {key: value for key, value in line.items() if key not in ("k", "t")}
            yield Event(
                line["k"], (int(line["t"]) - start) / 1e9, index, _plain(data, names, start)
            )


def _looked_into(folder: str, event: Event) -> Mapping[str, Any]:
    """An event with what its own file says of it."""
    kept = event.data.get("trace")
    profile = read_call(Path(folder) / Path(kept).name) if kept else None
    return {**event.data, **asdict(profile)} if profile is not None else event.data


def _plain(data: dict[str, Any], names: _Names, start: int) -> dict[str, Any]:
    """Seconds for nanoseconds, and shown names for paths."""
    plain: dict[str, Any] = {}
    for key, value in data.items():
        if key.endswith("_ns") and isinstance(value, int | float):
            plain[key[:-3]] = value / 1e9
        elif key in ("stack", "place", "made", "tape", "with") and isinstance(value, list):
            plain[key] = shown(value, names)
        elif key == "lines" and isinstance(value, list):
            plain[key] = [[shown(line[0], names), *line[1:]] for line in value]
        elif key in ("runs", "found", "stages") and isinstance(value, list):
            plain[key] = [
                _plain(each, names, start) if isinstance(each, dict) else each for each in value
            ]
        elif key in ("file", "folder") and isinstance(value, str):
            plain[key] = names(value)
        else:
            plain[key] = value
    return plain


def shown(places: list[Any], names: _Names) -> list[Any]:
    """A place `[file, line, function]`, or a list of them, with the file as it is shown."""
    if places and isinstance(places[0], str):
        return [names(places[0]), *places[1:]]
    return [shown(place, names) for place in places if isinstance(place, list)]


def _sources(folder: str, logs: list[ProcessLog], names: _Names) -> dict[str, str]:
    found = {}
    for log in logs:
        for line in log.lines:
            if line["k"] == "source":
                kept = Path(folder) / runfile.SOURCES / f"{line['digest']}.py"
                try:
                    found[names(line["file"])] = kept.read_bytes().decode("utf-8", "surrogatepass")
                except (OSError, UnicodeDecodeError):
                    continue
    return found


def _sampling(processes: tuple[Process, ...]) -> float:
    seconds = sum(process.ended - process.started for process in processes)
    samples = sum(process.own.get("samples", 0.0) for process in processes)
    return samples / seconds if seconds > 0 and samples else 0.0


def _unfinished(header: Mapping[str, Any]) -> str:
    """Still running, or the launcher died with it: told by whether the launcher lives."""
    launcher = header.get("launcher")
    if isinstance(launcher, int) and Path(f"/proc/{launcher}").exists():
        return "running"
    return "unknown: the launcher ended before the command did"


def _notes(raw: runfile.Folder) -> Iterable[str]:
    for log in raw.logs:
        if log.torn:
            yield f"{log.name}: the end of its log is cut off; what was whole is used"
        if not any(line["k"] == "process" for line in log.lines):
            yield f"{log.name}: its log has no header and was left out"
    for failed in sorted(Path(raw.path).glob("failed-*.txt")):
        yield f"recording could not start in process {failed.stem.partition('-')[2]}: {failed.read_text().strip()}"
