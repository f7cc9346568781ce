"""What a live view shows, as plain data: by the clocks of the processes that wrote the files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from unslow.analyse.run.assemble import shown_below
from unslow.analyse.run.loops import loops_of
from unslow.analyse.run.processes import worker_name
from unslow.analyse.run.recorded import decoded
from unslow.analyse.run.sources import sources_of
from unslow.facts.machine import Machine
from unslow.facts.workers import WorkerIdentity
from unslow.live.follow import Followed, Follower
from unslow.live.judge import Judge
from unslow.live.remaining import remaining
from unslow.model import Loop
from unslow.report.view import clean, command_line
from unslow.report.view.loops import STYLES, phase_bars, sparkline_of, trend_of
from unslow.report.words import Row
from unslow.runfolder.layout import ENDED_WHILE_ATTACHED, RUNS_ON, ProcessLog

RECENT = 20.0  # seconds that "now" means
FEW = 8  # rows that "now" means at least, where steps are long
QUIET = 5.0  # seconds without news before it is shown; at first the watcher writes every second
STALLED = 60.0  # seconds after which the machine itself may be gone
_ATTACHED = {
    RUNS_ON: "the recording has ended, and the training went on",
    ENDED_WHILE_ATTACHED: "the training has ended",
}
AT_ONCE = 4  # processes whose loops are found in one poll: each takes milliseconds


def state_of(follower: Follower, judge: Judge, quiet: float) -> Row:
    """The current state; `quiet`: seconds since anything was added to the folder, by our clock."""
    names = shown_below(str(follower.header.get("cwd", "")))
    process = max(follower.trained, key=lambda each: each.rows.steps_seen, default=None)
    for each in _stalest(follower, process):
        _find_loops(each, str(follower.folder), names)
    workers = [_worker(each) for each in follower.trained]
    state = {
        "command_line": command_line([str(word) for word in follower.header.get("command", ())]),
        "folder": str(follower.folder),
        "status": _status(follower, quiet),
        "seconds": max((each.seconds for each in follower.processes.values()), default=0.0),
        "steps": max((worker["steps"] for worker in workers), default=0),
        **_loops(process),
        "memory": _memory(process or _largest(follower), judge),
        "workers": workers if len(workers) > 1 else [],
        "missing": _missing(follower),
        "findings": judge.certain,
        "judged": judge.judged,
        "too_large": judge.too_large,
        "lost": _lost(follower),
    }
    plain: Row = clean(state)
    return plain


def _loops(process: Followed | None) -> Row:
    if process is None or not process.loops:
        return {"loop": None, "earlier": [], "expected": None}
    *earlier, last = process.loops
    return {
        "loop": _loop(last),
        "earlier": [_brief(loop) for loop in earlier],
        "expected": remaining(process, last, _pace(last)),
    }


def _stalest(follower: Follower, leader: Followed | None) -> list[Followed]:
    """Whose loops to find again: the leader's, and a few of many processes in turn."""
    changed = [
        each
        for each in follower.trained
        if each.loops_at != (each.rows.steps_seen, len(each.lines))
    ]
    return sorted(changed, key=lambda each: (each is not leader, each.loops_at))[:AT_ONCE]


def _find_loops(process: Followed, folder: str, names: Callable[[str], str]) -> None:
    """Its loops, the latest at the end. A place may be written a moment before its first row."""
    process.loops_at = (process.rows.steps_seen, len(process.lines))
    sites = process.rows.sites
    lines = [line for line in process.lines if line["k"] != "site" or line.get("id") in sites]
    log = ProcessLog(process.name, process.rows.packed(), lines)
    _, (recorded,) = decoded([log], [process.began], names)
    sources = partial(sources_of, folder, [recorded])
    process.loops = sorted(loops_of(recorded, sources), key=lambda loop: loop.stop)


def _status(follower: Follower, quiet: float) -> Row:
    if follower.ended:
        text = _ATTACHED.get(follower.ended, f"ended: {follower.ended}")
        return {"kind": "ended", "text": text}
    if not follower.started:
        return {"kind": "starting", "text": "not started yet"}
    processes = list(follower.processes.values())
    if not processes:
        return _quiet_status([], quiet) or _starting("TensorFlow is not imported yet")
    if all(process.how for process in processes):
        errors = [f": {process.how}" for process in processes if process.how != "exit"]
        return {"kind": "ending", "text": f"the training has ended{''.join(errors[:1])}"}
    training = {"kind": "training", "text": "training"}
    usual = training if follower.trained else _starting("no training step yet")
    return _quiet_status(processes, quiet) or usual


def _starting(text: str) -> Row:
    return {"kind": "starting", "text": text}


def _quiet_status(processes: list[Followed], quiet: float) -> Row | None:
    """None while the recorder writes as often as it usually does."""
    usual = max((process.distance for process in processes), default=0.0)
    if quiet <= max(QUIET, 3 * usual):
        return None
    why = _why(processes, quiet > max(STALLED, 6 * usual))
    return {"kind": "quiet", "text": f"no news for {quiet:.0f} s{why}"}


def _why(processes: list[Followed], long: bool) -> str:
    """What is known about the silence: whether processes of this machine are gone."""
    heads = [process.first("process") for process in processes]
    here = bool(heads) and all(head.get("host") == socket.gethostname() for head in heads)
    if here:
        alive = any(_lives(head.get("pid")) for head in heads)
        return "" if alive else ": the process is gone"
    return "; is its machine still there?" if long else ""


def _lives(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:  # another user's
        return True
    except (OSError, OverflowError):
        return False
    return True


def _recent(loop: Loop) -> Loop:
    """The rows of the last seconds; the first step of a loop is not like the others."""
    begin = int(np.searchsorted(loop.end, loop.end[-1] - RECENT))
    begin = max(min(begin, len(loop.end) - FEW), 1 if len(loop.end) > 1 else 0)
    kept = slice(begin, None)
    return replace(
        loop,
        end=loop.end[kept],
        count=loop.count[kept],
        seconds=loop.seconds[kept],
        low=loop.low[kept],
        high=loop.high[kept],
        phases=loop.phases[kept],
    )


def _pace(loop: Loop) -> float:
    now = _recent(loop)
    return now.total / now.steps if now.steps else 0.0


def _loop(loop: Loop) -> Row:
    now = _recent(loop)
    return {
        **_brief(loop),
        "now": _pace(loop),
        "over": now.total,
        "bars": phase_bars(now),
        "trend": trend_of(loop),
        "sparkline": sparkline_of(loop),
        "first": float(loop.seconds[0]),
    }


def _brief(loop: Loop) -> Row:
    return {
        "line": str(loop.location),
        "kind": STYLES.get(loop.style, loop.style),
        "steps": loop.steps,
        "seconds": loop.total,
        "group": loop.group,
    }


def _worker(process: Followed) -> Row:
    return {
        # Its place in a cluster, or its machine and number.
        "name": worker_name(process.first("process").get("cluster", "")) or process.name,
        "steps": sum(loop.steps for loop in process.loops),
        "now": _pace(process.loops[-1]) if process.loops else 0.0,
        "rss": process.rss,
        "how": process.how,
    }


def _missing(follower: Follower) -> list[str]:
    """Workers of the job that have written nothing yet."""
    identities = [each.facts(WorkerIdentity)[-1:] for each in follower.processes.values()]
    known = [identity for found in identities for identity in found]
    here = {(each.role, each.index) for each in known if each.role in ("chief", "worker")}
    size = max((each.size for each in known), default=0)
    chiefs = sum(role == "chief" for role, _ in here)
    expected = {("worker", index) for index in range(size - chiefs)}
    return [f"{role} {index}" for role, index in sorted(expected - here)]


def _largest(follower: Follower) -> Followed | None:
    return max(follower.processes.values(), key=lambda process: process.rss, default=None)


def _memory(process: Followed | None, judge: Judge) -> Row | None:
    if process is None or not process.rss:
        return None
    machine = next(iter(process.facts(Machine)), Machine())
    limits = (float(machine.limit_bytes), float(machine.memory_bytes))
    return {
        "rss": process.rss,
        "peak": process.peak,
        "limit": min((limit for limit in limits if limit > 0), default=0.0),
        "growth": judge.growth.get(process.name, 0.0),
    }


def _lost(follower: Follower) -> list[str]:
    lost = set()
    for process in follower.processes.values():
        for line in process.of("probe"):
            if str(line.get("state", "")).startswith("lost"):
                lost.add(str(line["name"]))
    return sorted(lost)
