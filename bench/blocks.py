"""What recording costs a step, inside one process: short blocks of a loop with all of ours on, and off, in turn.

One process differs from the next by more than recording costs, and a machine's pace wanders within a tenth of a
second: two blocks of a hundredth, one right after the other, differ by little else.

python bench/blocks.py [--styles a,b] [--seconds 150]
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.loops import STYLES, Style  # noqa: E402
from bench.results import keep_styles, median, ratio, run  # noqa: E402

BLOCK = 0.01  # seconds at least, and a quarter of what is not timed: short against what changes the machine's pace
PROCESSES = 3  # in which a style is measured: where its objects happen to lie makes one faster than the next
# After each switch so many calls are not timed, as long as they fit into the seconds of their style: where a method was
# replaced, Python forgets what it had learnt of it, and needs some dozens of calls to learn it anew.
SETTLE = 64


class Gate:
    """Stands where the watcher waits for its end, and holds it there while recording is off."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.open = threading.Event()
        self.open.set()

    def wait(self, timeout: float) -> bool:
        self.open.wait()
        return self._stop.wait(timeout)

    def set(self) -> None:
        self.open.set()
        self._stop.set()


class Switch:
    """Takes all that a recording has put into a process out, and puts it back."""

    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._gate = Gate(recording.watcher._stop)
        recording.watcher._stop = self._gate
        self._collecting = [
            each
            for each in gc.callbacks
            if type(getattr(each, "__self__", None)).__module__.startswith("unslow.")
        ]
        self._interval = (sys.getswitchinterval(), 0.005)
        self._since = 0
        self.on = True

    def _placed(self) -> list[tuple[Any, str, Any, Any]]:
        """Whose attribute, what it was, and what it is now: a probe may have put the plain one back for a while."""
        entries = [entry for probe in self._recording.arming.probes for entry in probe._restore]
        return [
            (owner, attribute, held, vars(owner)[attribute])
            for owner, attribute, held, _ in entries
        ]

    def turn(self, on: bool) -> None:
        if on == self.on:
            return
        self.on = on
        if on:
            self._put_back()
        else:
            self._take_out()

    def _take_out(self) -> None:
        from unslow.record.engine import probe

        self._gate.open.clear()
        self._since = time.perf_counter_ns()
        self._interval = (sys.getswitchinterval(), self._interval[1])
        sys.setswitchinterval(self._interval[1])
        gc.callbacks[:] = [each for each in gc.callbacks if each not in self._collecting]
        self._out = self._placed()
        for owner, attribute, held, _ in reversed(self._out):
            if held is probe._MISSING:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, held)

    def _put_back(self) -> None:
        for owner, attribute, _, current in self._out:
            setattr(owner, attribute, current)
        gc.callbacks.extend(self._collecting)
        sys.setswitchinterval(self._interval[0])
        # For the recording no time has passed meanwhile: its steps begin here, and its readings are due so much later.
        now, watcher, steps = time.perf_counter_ns(), self._recording.watcher, self._recording.steps
        self._recording.recorder.local.lane.last = now
        steps._rows.written += now - self._since
        steps._asked_time += now - self._since
        for moment in ("_began", "_ticked", "_sampled"):
            setattr(watcher, moment, getattr(watcher, moment) + now - self._since)
        self._gate.open.set()


def compared(style: Style, recording: Any, seconds: float) -> dict[str, Any]:
    """Blocks on and off, in random order within a pair; what each took per step, and what recording says it cost."""
    step = style.make()
    for _ in range(style.warm):
        step()
    switch, chance = Switch(recording), random.Random(0)
    each = seconds_of(step, max(1, style.timed // 10))
    calls = max(1, round(max(BLOCK, style.settle / 4) / each))
    settle = min(SETTLE, math.ceil(style.settle / each)) if style.steps == 1 else 0
    began, until = budget(recording), time.monotonic() + seconds
    sides: dict[bool, list[float]] = {True: [], False: []}
    while time.monotonic() < until:
        for on in chance.sample((True, False), 2):
            switch.turn(on)
            sides[on].append(seconds_of(step, calls, settle) / style.steps)
    switch.turn(True)
    return {
        "block_steps": calls * style.steps,
        "on": sides[True],
        "off": sides[False],
        "budget": per_step(began, budget(recording)),
    }


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """What the processes of a style measured, as one."""
    on, off = ([each for part in parts for each in part[side]] for side in ("on", "off"))
    return {
        "block_steps": parts[0]["block_steps"],
        "pairs": len(on),
        "bare": median(off),
        "recorded": median(on),
        "ratio": ratio(on, off, paired=True),
        "whole": sum(on) / sum(off),
        "processes": [ratio(part["on"], part["off"], paired=True)[0] for part in parts],
        "added": median([above - below for above, below in zip(on, off, strict=True)]),
        "budget": parts[-1]["budget"],
        "lost": parts[-1]["lost"],
    }


def seconds_of(step: Callable[[], object], calls: int, settle: int = 0) -> float:
    """Seconds of a call, after some that are not timed. All are made by one line, as a training loop's are."""
    began = 0.0
    for number in range(settle + calls):
        if number == settle:
            began = time.perf_counter()
        step()
    return (time.perf_counter() - began) / calls


def budget(recording: Any) -> dict[str, Any]:
    """Running totals of what recording has cost: nanoseconds by probe, wrapped calls, the watcher's processor."""
    recorder, watcher = recording.recorder, recording.watcher
    clock = time.pthread_getcpuclockid(watcher._thread)
    return {
        "steps": recording.steps.total,
        "looks": dict(recorder.inspection_times),
        "calls": sum(lane.calls for lane in recorder.lanes),
        "call_cost": watcher.call_cost,
        "watcher": time.clock_gettime_ns(clock),
        "bytes": recorder.writer.written,
    }


def per_step(began: dict[str, Any], ended: dict[str, Any]) -> dict[str, Any]:
    """Seconds per recorded step, by who spent them."""
    steps = max(1, ended["steps"] - began["steps"])
    looks = {
        name: (spent - began["looks"].get(name, 0)) / steps / 1e9
        for name, spent in ended["looks"].items()
    }
    calls = (ended["calls"] - began["calls"]) / steps
    return {
        "steps": steps,
        "looks": {name: spent for name, spent in sorted(looks.items()) if spent > 0},
        "calls": calls,
        "wrappers": calls * ended["call_cost"] / 1e9,
        "watcher": (ended["watcher"] - began["watcher"]) / steps / 1e9,
        "bytes": (ended["bytes"] - began["bytes"]) / steps,
    }


def alone(name: str, seconds: float) -> dict[str, Any]:
    """One style in this process; the recording begins before TensorFlow is imported, as with `unslow run`."""
    from unslow.record.engine.start import Recording

    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        recording.start()
        __import__("tensorflow")
        found = compared(STYLES[name], recording, seconds)
        found["lost"] = {
            probe: state for probe, state in recording.recorder.probes.items() if "lost" in state
        }
        recording.end()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument(
        "--seconds", type=float, default=150.0, help="of blocks for a style, in three processes"
    )
    options.add_argument(
        "--styles", default=",".join(STYLES), help="what is known of the others is kept"
    )
    options.add_argument(
        "--alone", action="store_true", help="measure one style here, and print it as JSON"
    )
    options.add_argument("--dry", action="store_true", help="print, and keep nothing")
    chosen = options.parse_args()
    styles = [name for name in STYLES if name in chosen.styles.split(",")]
    if chosen.alone:
        print("\n" + json.dumps(alone(styles[0], chosen.seconds)))
        return
    found = {}
    for name in styles:
        seconds = chosen.seconds * STYLES[name].longer / PROCESSES
        row = found[name] = together([_apart(name, seconds) for _ in range(PROCESSES)])
        said = " ".join("–" if value is None else f"{value:.4f}" for value in row["ratio"])
        each = " ".join(f"{value:.4f}" for value in row["processes"])
        print(
            f"{name:<15} {row['bare'] * 1e3:7.3f} ms  {said} ({each})  {row['pairs']} pairs"
            f"  whole {row['whole']:.4f}×  +{row['added'] * 1e6:.1f} µs  {row['lost'] or ''}",
            flush=True,
        )
    if not chosen.dry:
        keep_styles("blocks", found, processes=PROCESSES, seconds=chosen.seconds)


def _apart(name: str, seconds: float) -> dict[str, Any]:
    """One style in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, __file__, "--alone", "--styles", name, "--seconds", str(seconds)]
        done = run(words, Path(place), limit=seconds + 300)
    if done.code:
        raise SystemExit(done.output)
    return dict(json.loads(done.output.splitlines()[-1]))


if __name__ == "__main__":
    main()
