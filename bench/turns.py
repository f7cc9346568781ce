"""What a step takes under each other tool beside one under unslow, in pairs of short blocks of one process.

Two processes differ by more than most tools cost, so that only this tells the cheaper of two. Scalene cannot be turned
off once it is there, and has its place in bench/overhead.py only.

python bench/turns.py [--styles a,b] [--tools c,d] [--seconds 45]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import peers, report  # noqa: E402
from bench.blocks import BLOCK, SETTLE, Switch, seconds_of  # noqa: E402
from bench.loops import STYLES, Style  # noqa: E402
from bench.results import commit, keep_styles, median, ratio, read, run  # noqa: E402

WARM = 20.0  # seconds of steps with recording on before anything is timed: in its first ones it looks most
ATTACHED = 1.0  # seconds that a tool outside the process is given to read what is there, before anything is timed
DEAR = 0.2  # seconds of a block under a tool that takes as long to turn on and off
OUTSIDE = 0.5  # seconds of a block under it, which looks a hundred times a second; and it has twice as long for them
COLLECTED = (
    0.1,
    1.0,
)  # seconds of steps; what the end of the TensorFlow profiler takes grows from one to the other
COLLECTIONS = 5  # of each, of which the median counts

Off = Callable[[], object]


@dataclass(frozen=True)
class Tool:
    """One that can be turned on, as its own command would have it, which gives what turns it off."""

    on: Callable[[], Off]
    block: float = BLOCK  # seconds that are timed at once


def tools(place: Path) -> dict[str, Tool]:
    spied = ("py-spy", "record", "-o", str(place / "out.svg"), "-d", "600")
    return {
        "tf-profiler": Tool(lambda: _tensorflow(place)),
        "cprofile": Tool(_cprofile),
        "pyinstrument": Tool(_pyinstrument),
        "memray": Tool(lambda: _memray(place), DEAR),
        "viztracer": Tool(_viztracer),
        "py-spy": Tool(lambda: _attached(*spied), OUTSIDE),
        "austin": Tool(lambda: _attached("austin", "-o", str(place / "out.austin")), OUTSIDE),
    }


def _tensorflow(place: Path, save: bool = False) -> Off:
    import tensorflow as tf

    tf.profiler.experimental.start(str(place / "profile"))
    return lambda: tf.profiler.experimental.stop(save=save)


def _cprofile() -> Off:
    profiler = cProfile.Profile()
    profiler.enable()
    return profiler.disable


def _pyinstrument() -> Off:
    from pyinstrument import Profiler

    profiler = Profiler()
    profiler.start()
    return profiler.stop


def _memray(place: Path) -> Off:
    import memray

    tracker = memray.Tracker(place / f"out-{time.monotonic_ns()}.bin")
    tracker.__enter__()
    return lambda: tracker.__exit__(None, None, None)


def _viztracer() -> Off:
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0)
    tracer.start()

    def off() -> None:
        tracer.stop()
        tracer.clear()
        tracer.terminate()

    return off


def _attached(program: str, *words: str) -> Off:
    """A tool outside the process, which is started for every block."""
    child = subprocess.Popen(
        [str(Path(sys.executable).parent / program), *words, "-p", str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(ATTACHED)
    if child.poll() is not None:
        raise SystemExit(f"{program} ended at once, with exit code {child.returncode}")

    def off() -> None:
        child.send_signal(signal.SIGINT)
        child.wait()

    return off


def compared(
    style: Style, recording: Any, seconds: float, names: Sequence[str], place: Path
) -> dict[str, Any]:
    """By tool: seconds of a step under it and under unslow, pair by pair, for so long."""
    step = style.make()
    for _ in range(style.warm):
        step()
    each = seconds_of(step, max(1, style.timed // 10))
    seconds_of(step, round(WARM / each))
    switch, chance, found = Switch(recording), random.Random(0), {}
    switch.turn(False)

    def unslow() -> Off:
        switch.turn(True)
        return lambda: switch.turn(False)

    known = tools(place)
    for name in names:
        tool = known[name]
        tool.on()()  # the first time imports what the others only turn on
        calls = max(1, round(max(tool.block, style.settle / 4) / each))
        settle = min(SETTLE, math.ceil(style.settle / each)) if style.steps == 1 else 0
        sides: dict[str, list[float]] = {"tool": [], "unslow": []}
        until = time.monotonic() + seconds * (2 if tool.block == OUTSIDE else 1)
        while time.monotonic() < until:
            for side, on in chance.sample((("tool", tool.on), ("unslow", unslow)), 2):
                off = on()
                sides[side].append(seconds_of(step, calls, settle) / style.steps)
                off()
        found[name] = sides
    if "tf-profiler" in found:
        found["tf-profiler"]["collected"] = [collected(step, each, place) / style.steps]
    unslow()
    return found


def collected(step: Callable[[], object], each: float, place: Path) -> float:
    """Seconds that the end of the TensorFlow profiler takes for each call that it has seen: it writes them all then."""

    def took(calls: int) -> float:
        off = _tensorflow(place, save=True)
        seconds_of(step, calls)
        began = time.perf_counter()
        off()
        return time.perf_counter() - began

    few, many = (max(1, round(seconds / each)) for seconds in COLLECTED)
    grown = [took(few + many) - took(few) for _ in range(COLLECTIONS)]
    return median(grown) / many


def alone(name: str, seconds: float, names: Sequence[str]) -> dict[str, Any]:
    """One style in this process; the recording begins before TensorFlow is imported, as with `unslow run`."""
    from unslow.record.engine.start import Recording

    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        recording.start()
        __import__("tensorflow")
        found = compared(STYLES[name], recording, seconds, names, Path(folder))
        recording.end()
    return found


def judged(found: dict[str, Any], seconds: float) -> dict[str, Any]:
    """By tool: a step beside one under unslow, with what its end takes for a step."""
    rows = {}
    for name, sides in found.items():
        collected = sum(sides.get("collected", ()))
        steps = [took + collected for took in sides["tool"]]
        rows[name] = {
            "seconds": seconds,
            "pairs": len(steps),
            "step": median(steps),
            "unslow": median(sides["unslow"]),
            "collected": collected,
            "beside": ratio(steps, sides["unslow"], paired=True),
            "commit": commit(),
        }
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument(
        "--seconds", type=float, default=45.0, help="of pairs for each tool and style, or more"
    )
    options.add_argument(
        "--tools", default=",".join(tools(Path())), help="what is known of the others is kept"
    )
    options.add_argument(
        "--styles", default=",".join(STYLES), help="what is known of the others is kept"
    )
    options.add_argument(
        "--alone", action="store_true", help="measure one style here, and print it as JSON"
    )
    chosen = options.parse_args()
    styles = [name for name in STYLES if name in chosen.styles.split(",")]
    if chosen.alone:
        print("\n" + json.dumps(alone(styles[0], chosen.seconds, chosen.tools.split(","))))
        return
    peers.prepare()
    for peer in peers.PEERS:
        absent = peers.install(peer)
        if absent:
            raise SystemExit(f"{peer.title} {absent}")
    for name in styles:
        with tempfile.TemporaryDirectory() as place:
            words = [
                str(peers.PYTHON),
                __file__,
                "--alone",
                "--styles",
                name,
                "--seconds",
                str(chosen.seconds),
            ]
            done = run(
                [*words, "--tools", chosen.tools], Path(place), limit=20 * chosen.seconds + 300
            )
        if done.code:
            raise SystemExit(done.output)
        rows = judged(json.loads(done.output.splitlines()[-1]), chosen.seconds)
        said = "  ".join(f"{tool} {report.times(row['beside'], 3)}" for tool, row in rows.items())
        print(f"{name:<15} {done.seconds:4.0f} s  {said}", flush=True)
        known = read().get("turns", {}).get("styles", {}).get(name, {}).get("tools", {})
        keep_styles("turns", {name: {"tools": known | rows}})


if __name__ == "__main__":
    main()
