"""From a run folder to a Run: processes, loops, samples, sources, and what was damaged."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from unslow.analyse.graphs.call_profile import with_profile
from unslow.analyse.run.detail import in_detail
from unslow.analyse.run.loops import loops_of
from unslow.analyse.run.processes import process_of
from unslow.analyse.run.recorded import Recorded, began, decoded
from unslow.analyse.run.samples import samples_of
from unslow.analyse.run.sources import sources_of
from unslow.analyse.stats.robust import ratio
from unslow.analyse.workers.clocks import origins, timed
from unslow.errors import UnslowError
from unslow.facts.functions import UnusualCall
from unslow.facts.json_object import JsonObject
from unslow.facts.kinds import all_kinds
from unslow.facts.schema import Fact, Tally, Thinned
from unslow.facts.table import FactTable
from unslow.model import Process, Run
from unslow.runfolder import layout
from unslow.runfolder.layout import Folder, Unreadable

# Seconds without a word from any process of a job: the recorder of each writes every few seconds,
# in runs of days every few minutes.
_SILENT = 1800.0
# Seconds: what was flushed is at most one second old, and starting and ending Python takes another.
_LONG_SILENCE = 3.0
_SEE_RUNS = "Type `unslow runs` to see the runs there are."


def load(folder: str) -> Run:
    """Read a run folder; one that is no run folder, or of another version, is an error."""
    try:
        raw = layout.read(folder)
    except (Unreadable, OSError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        next_step = getattr(problem, "next_step", "") or _SEE_RUNS
        raise UnslowError(f"cannot read {folder}", why, next_step, "bad-run-folder") from None
    return assemble(raw)


def assemble(whole: Folder) -> Run:
    raw, at_lowest_rate = in_detail(whole)
    header = raw.header
    cwd = str(header.get("cwd", ""))
    starts = {log: start for log in raw.logs if (start := began(log)) is not None}
    begins = origins([timed(log, start) for log, start in starts.items()])
    table, recorded = decoded(starts, [origin.start for origin in begins], shown_below(cwd))
    table.decode_all()
    table.complete(UnusualCall, lambda call: with_profile(call, raw.path))
    processes = tuple(map(process_of, recorded))
    sources = sources_of(raw.path, recorded)
    loops = list(chain.from_iterable(loops_of(process, lambda: sources) for process in recorded))
    samples = chain.from_iterable(samples_of(process, loops) for process in recorded)
    lasted = float(header.get("seconds") or 0.0)
    return Run(
        folder=raw.path,
        command=tuple(str(word) for word in header.get("command", ())),
        cwd=cwd,
        started=float(header.get("started") or 0.0),
        seconds=max((process.ended for process in processes), default=lasted),
        ended=str(header.get("ended") or _unfinished(raw, processes)),
        processes=processes,
        loops=tuple(sorted(loops, key=lambda loop: loop.start)),
        samples=tuple(samples),
        sources=sources,
        sampling_hz=_sampling(processes),
        table=table,
        origins=dict(enumerate(begins)),
        attached=bool(header.get("attached")),
        at_lowest_rate=at_lowest_rate,
        notes=(*_notes(raw, recorded, table), *_silence(header, processes)),
    )


def shown_below(cwd: str) -> Callable[[str], str]:
    """Paths as they are shown: relative to the working directory where they lie below it."""
    below = cwd.rstrip("/") + "/"

    @lru_cache(maxsize=4096)  # a path is read about as often as there are facts
    def shown(path: str) -> str:
        return os.path.relpath(path, cwd) if cwd and path.startswith(below) else path

    return shown


def _sampling(processes: tuple[Process, ...]) -> float:
    """Samples per second."""
    seconds = sum(process.ended - process.started for process in processes)
    samples = sum(process.own["samples"] for process in processes)
    return ratio(samples, seconds)


def _unfinished(raw: Folder, processes: Sequence[Process]) -> str:
    """Still running, or the launcher died with it: whether the launcher lives tells."""
    if "job" in raw.header:
        return _unfinished_job(raw, processes)
    launcher = raw.header.get("launcher")
    if launcher and Path(f"/proc/{launcher}").exists():
        return "running"
    return "unknown: the launcher was killed, or could not write how the command ended"


def _unfinished_job(raw: Folder, processes: Sequence[Process]) -> str:
    """A job on several machines: nobody here can ask whether its processes live."""
    endings = [process.how for process in processes]
    is_launched = bool(raw.header.get("members"))  # by `unslow run`
    if endings and not is_launched and "killed" not in endings:
        failed = [how for how in endings if how != "exit"]
        return f"exit 1 ({failed[0]})" if failed else "exit 0"
    return "running" if _age(raw.path) < _SILENT else "unknown: nothing was written for a long time"


def _age(folder: str) -> float:
    """Seconds since anything was written into a folder."""
    times = [entry.stat().st_mtime for entry in os.scandir(folder)]
    return time.time() - max(times, default=0.0)


def _silence(header: JsonObject, processes: Sequence[Process]) -> Iterator[str]:
    """A command that ended by itself long after the last word of its processes."""
    by_itself = str(header.get("ended") or "").startswith("exit")
    if not by_itself or {process.how for process in processes} != {"killed"}:
        return
    silent = float(header.get("seconds") or 0.0) - max(each.ended for each in processes)
    if silent > _LONG_SILENCE:
        yield (
            f"nothing was recorded in the last {silent:.0f} s: "
            "the run folder could no longer be written, or the program ended without cleaning up"
        )


def _left_out(kinds: Counter[str], read: int) -> str:
    """Facts beyond what is read; those that recur carry running totals."""
    known = all_kinds()
    lossy = sorted(kind for kind in kinds if not _is_running(known.get(kind)))
    said = f"of {read + kinds.total():,} facts {read:,} were read; totals are those of all of them"
    return f"{said}, except for {', '.join(lossy)}" if lossy else said


def _is_running(kind: type[Fact] | None) -> bool:
    return kind is not None and issubclass(kind, Thinned | Tally)


def _notes(raw: Folder, processes: Sequence[Recorded], table: FactTable) -> Iterator[str]:
    """What was damaged or missing."""
    for log in raw.logs:
        if log.torn:
            yield f"{log.name}: the end of its log is cut off; the rest is used"
    read = {process.log.name for process in processes}
    for log in raw.logs:
        if log.name not in read:
            yield f"{log.name}: its log has no header and was left out"
    lines = sum(log.damaged for log in raw.logs) + sum(table.damaged.values())
    rows = sum(process.parsed.damaged for process in processes)
    for count, what in ((lines, "line"), (rows, "row")):
        if count:
            yield f"{count} damaged {what}{'s' if count > 1 else ''} of its logs left out"
    left_out: Counter[str] = sum((log.left_out for log in raw.logs), Counter())
    if left_out:
        yield _left_out(left_out, sum(len(log.lines) for log in raw.logs))
    yield from _not_started(raw)


def _not_started(raw: Folder) -> Iterator[str]:
    """Processes in which the recorder could not start."""
    for failed in sorted(Path(raw.path).glob("failed-*.txt")):
        try:
            why = layout.read_inside(raw.path, failed.name).decode(errors="replace").strip()
        except OSError:
            continue
        pid = failed.stem.partition("-")[2]
        yield f"recording could not start in process {pid}: {why}"
