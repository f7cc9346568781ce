"""What a step takes under each tool, all of them in one process: each is on for a moment, in random order, in turn.

Two processes differ by more than most tools cost, so that only this tells the cheaper of two. Scalene cannot be turned
off once it is there, and has its place in bench/overhead.py only.

python bench/turns.py [--styles a,b] [--rounds 40]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import peers  # noqa: E402
from bench.blocks import SETTLE, Switch, seconds_of  # noqa: E402
from bench.loops import STYLES, Style  # noqa: E402
from bench.results import keep, median, ratio, run  # noqa: E402

BLOCK = 0.1  # seconds: ten samples of a profiler that takes a hundred a second
LEAST = 2  # calls in a block, however long they take
ATTACHED = 0.2  # seconds that a tool outside the process is given to begin

Off = Callable[[], object]


def tools(place: Path, recording: Any) -> dict[str, Callable[[], Off]]:
    """By name: what turns a tool on, as its own command would have it, and gives back what turns it off."""
    return {
        "bare": lambda: bool, "unslow": _unslow(Switch(recording)), "tf-profiler": lambda: _tensorflow(place),
        "cprofile": _cprofile, "pyinstrument": _pyinstrument, "memray": lambda: _memray(place), "viztracer": _viztracer,
        "py-spy": lambda: _attached("py-spy", "record", "-o", str(place / "out.svg"), "-d", "600"),
        "austin": lambda: _attached("austin", "-o", str(place / "out.austin")),
    }  # fmt: skip


def _unslow(switch: Switch) -> Callable[[], Off]:
    switch.turn(False)

    def on() -> Off:
        switch.turn(True)
        return lambda: switch.turn(False)

    return on


def _tensorflow(place: Path) -> Off:
    import tensorflow as tf

    tf.profiler.experimental.start(str(place / "profile"))
    return lambda: tf.profiler.experimental.stop(save=False)


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
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(ATTACHED)
    if child.poll() is not None:
        raise SystemExit(f"{program} ended at once, with exit code {child.returncode}")

    def off() -> None:
        child.send_signal(signal.SIGINT)
        child.wait()

    return off


def in_turn(style: Style, recording: Any, rounds: int, place: Path) -> dict[str, list[float]]:
    """Seconds of a step under each tool, round by round."""
    step = style.make()
    for _ in range(style.warm):
        step()
    chance, known = random.Random(0), tools(place, recording)
    each = seconds_of(step, max(1, style.timed // 10))
    calls = max(LEAST if style.steps == 1 else 1, round(BLOCK / each))
    settle = min(SETTLE, round(style.settle / each)) if style.steps == 1 else 1
    took: dict[str, list[float]] = {name: [] for name in known}
    for number in range(rounds + 1):
        for name in chance.sample(sorted(known), len(known)):
            off = known[name]()
            seconds = seconds_of(step, calls, settle) / style.steps
            off()
            if number:  # the first round imports what the others only turn on
                took[name].append(seconds)
    known["unslow"]()
    return took


def alone(name: str, rounds: int) -> dict[str, list[float]]:
    """One style in this process; the recording begins before TensorFlow is imported, as with `unslow run`."""
    from unslow.record.start import Recording

    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        recording.start()
        __import__("tensorflow")
        took = in_turn(STYLES[name], recording, rounds, Path(folder))
        recording.end()
    return took


def judged(took: dict[str, list[float]]) -> dict[str, Any]:
    """By tool: a step beside the bare one, and beside one under unslow, of the same round."""
    return {
        name: {
            "step": median(steps), "ratio": ratio(steps, took["bare"], paired=True),
            "beside": ratio(steps, took["unslow"], paired=True),
        }
        for name, steps in took.items()
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--rounds", type=int, default=40, help="in each of which every tool has its turn")
    options.add_argument("--styles", default=",".join(STYLES), help="some of them are only printed, and not kept")
    options.add_argument("--alone", action="store_true", help="measure one style here, and print it as JSON")
    chosen = options.parse_args()
    styles = [name for name in STYLES if name in chosen.styles.split(",")]
    if chosen.alone:
        print("\n" + json.dumps(alone(styles[0], chosen.rounds)))
        return
    peers.prepare()
    for peer in peers.PEERS:
        absent = peers.install(peer)
        if absent:
            raise SystemExit(f"{peer.title} {absent}")
    found = {}
    for name in styles:
        with tempfile.TemporaryDirectory() as place:
            words = [str(peers.PYTHON), __file__, "--alone", "--styles", name, "--rounds", str(chosen.rounds)]
            done = run(words, Path(place), limit=1200)
        if done.code:
            raise SystemExit(done.output)
        rows = found[name] = judged(json.loads(done.output.splitlines()[-1]))
        said = "  ".join(f"{tool} {row['ratio'][0]:.3f}×" for tool, row in rows.items() if tool != "bare")
        print(f"{name:<15} {done.seconds:4.0f} s  {said}", flush=True)
    if len(styles) == len(STYLES):
        keep("turns", {"rounds": chosen.rounds, "styles": found})


if __name__ == "__main__":
    main()
