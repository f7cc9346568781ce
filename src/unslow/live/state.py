"""What a live view shows, as plain data: only from the files, and by the clocks of the processes that wrote them."""

from __future__ import annotations

import json
import os
import shlex
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from unslow.analyse.run.loops import loops_of
from unslow.analyse.run.recorded import decoded
from unslow.live.expect import expected_end
from unslow.live.follow import Followed, Follower
from unslow.live.judge import Judge
from unslow.model import Loop
from unslow.report.view import clean
from unslow.report.view.loops import STYLES, phase_bars, sparkline_of, trend_of
from unslow.runfolder.layout import ProcessLog

RECENT = 20.0  # seconds that "now" means
FEW = 8  # rows that it means at least, where steps are long
QUIET = 5.0  # seconds without a word before it is said; the watcher writes several times a second at first
STALLED = 60.0
AT_ONCE = 4  # processes whose loops are found at one look


def state_of(follower: Follower, judge: Judge, quiet: float) -> dict[str, Any]:
    """The view at this moment; `quiet` is how long ago, by our clock, anything was added to the folder."""
    names = _names(str(follower.header.get("cwd", "")))
    process = max(follower.trained, key=lambda each: each.rows.steps_seen, default=None)
    for each in _stalest(follower, process):
        _find_loops(each, names)
    workers = [_worker(each) for each in follower.trained]
    loops = process.loops if process else []
    command = [str(word) for word in follower.header.get("command", ())]
    state = {
        "command_line": shlex.join([PurePath(command[0]).name, *command[1:]]) if command else "",
        "folder": str(follower.folder),
        "status": _status(follower, quiet),
        "seconds": max((each.seconds for each in follower.processes.values()), default=0.0),
        "steps": max((worker["steps"] for worker in workers), default=0),
        "loop": _loop(loops[-1]) if loops else None,
        "earlier": [_brief(loop) for loop in loops[:-1]],
        "expected": expected_end(process, loops[-1], _pace(loops[-1]))
        if process and loops
        else None,
        "memory": _memory(process or _largest(follower), judge),
        "workers": workers if len(workers) > 1 else [],
        "findings": judge.certain,
        "judged": judge.judged,
        "too_large": judge.too_large,
        "lost": _lost(follower),
    }
    plain: dict[str, Any] = clean(state)
    return plain


def _names(cwd: str) -> Callable[[str], str]:
    """Paths as every report shows them: relative where they lie below the run's working directory."""
    below = cwd.rstrip("/") + "/"
    return lambda path: os.path.relpath(path, cwd) if cwd and path.startswith(below) else path


def _stalest(follower: Follower, leader: Followed | None) -> list[Followed]:
    """Whose loops to find anew: the leader's, and of many processes a few in turn, since each takes milliseconds."""
    changed = [
        each
        for each in follower.trained
        if each.loops_at != (each.rows.steps_seen, len(each.lines))
    ]
    return sorted(changed, key=lambda each: (each is not leader, each.loops_at))[:AT_ONCE]


def _find_loops(process: Followed, names: Callable[[str], str]) -> None:
    """Its loops, the one that stepped last at the end. A place may be written a moment before its first row."""
    process.loops_at = (process.rows.steps_seen, len(process.lines))
    sites = process.rows.sites
    lines = [line for line in process.lines if line["k"] != "site" or line.get("id") in sites]
    log = ProcessLog(process.name, process.rows.packed(), lines)
    _, (recorded,) = decoded([log], process.began, names)
    process.loops = sorted(loops_of(recorded), key=lambda loop: loop.stop)


def _status(follower: Follower, quiet: float) -> dict[str, str]:
    if follower.ended:
        return {"kind": "ended", "text": f"ended: {follower.ended}"}
    if not follower.started:
        return {"kind": "starting", "text": "not started yet"}
    processes = list(follower.processes.values())
    if processes and all(process.how for process in processes):
        errors = [process.how for process in processes if process.how != "exit"]
        return {
            "kind": "ending",
            "text": f"the training has ended{f': {errors[0]}' if errors else ''}",
        }
    usual = max((process.distance for process in processes), default=0.0)
    if quiet > max(QUIET, 3 * usual):
        return {
            "kind": "quiet",
            "text": f"no news for {quiet:.0f} s{_why(processes, quiet > max(STALLED, 6 * usual))}",
        }
    if follower.trained:
        return {"kind": "training", "text": "training"}
    if processes:
        return {"kind": "starting", "text": "no training step yet"}
    return {"kind": "starting", "text": "TensorFlow is not imported yet"}


def _why(processes: list[Followed], long: bool) -> str:
    """What can be told of a silence: of our own machine's processes that they are gone, of others little."""
    heads = [process.first("process") for process in processes]
    here = bool(heads) and all(head.get("host") == socket.gethostname() for head in heads)
    if here and not any(_lives(int(head.get("pid") or 0)) for head in heads):
        return ": it is gone"
    return "; is its machine still there?" if long and not here else ""


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # another user's
        return True
    except (OSError, OverflowError):
        return False
    return pid > 0


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


def _loop(loop: Loop) -> dict[str, Any]:
    now = _recent(loop)
    return {
        **_brief(loop),
        "now": _pace(loop),
        "over": now.total,
        "bars": phase_bars(now),
        "trend": trend_of(loop.trend),
        "sparkline": sparkline_of(loop),
        "first": float(loop.seconds[0]),
    }


def _brief(loop: Loop) -> dict[str, Any]:
    return {
        "line": str(loop.location),
        "kind": STYLES.get(loop.style, loop.style),
        "steps": loop.steps,
        "seconds": loop.total,
        "group": loop.group,
    }


def _worker(process: Followed) -> dict[str, Any]:
    now = _recent(process.loops[-1]) if process.loops else None
    return {
        "name": _called(process),
        "steps": sum(loop.steps for loop in process.loops),
        "now": now.total / now.steps if now and now.steps else 0.0,
        "rss": process.rss,
        "how": process.how,
    }


def _called(process: Followed) -> str:
    """Its place in a cluster, or its machine and number."""
    try:
        task = json.loads(process.first("process").get("cluster", ""))["task"]
        return f"{task['type']} {task['index']}"
    except (ValueError, KeyError, TypeError):
        return process.name


def _largest(follower: Follower) -> Followed | None:
    return max(follower.processes.values(), key=lambda process: process.rss, default=None)


def _memory(process: Followed | None, judge: Judge) -> dict[str, Any] | None:
    if process is None or not process.rss:
        return None
    machine = process.first("machine")
    limits = [float(machine.get(name) or 0) for name in ("limit_bytes", "memory_bytes")]
    return {
        "rss": process.rss,
        "peak": process.peak,
        "limit": min((limit for limit in limits if limit > 0), default=0.0),
        "growth": judge.growth.get(process.name, 0.0),
    }


def _lost(follower: Follower) -> list[str]:
    lines = [
        line
        for process in follower.processes.values()
        for line in process.lines
        if line["k"] == "probe"
    ]
    return sorted(
        {str(line["name"]) for line in lines if str(line.get("state", "")).startswith("lost")}
    )
