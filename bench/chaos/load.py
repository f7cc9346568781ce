"""Load: sizes far beyond an ordinary run, with bounds on processor time and memory.

The bounds are two to five times what a quiet core takes: seconds of processor, so that a machine
where other things run passes too.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.chaos.damage import RECORDED
from bench.chaos.kept import ROOT, Attack, Result
from bench.chaos.processes import environment
from bench.results import peak_of
from bench.results import run as measured

_SYNTHETIC = ROOT / "bench" / "synthetic.py"
_PROCESS_STEPS = 2_000
_MB = 1 << 20
_RECORDER_MB = 100.0  # that ten million steps may take in the recorded process
_WATCHED = 15.0  # seconds for which a folder of runs is watched
_WATCHING = 0.25  # of a core, at most
Line = dict[str, Any]
Grow = Callable[[list[Line]], Iterator[Line]]


@dataclass(frozen=True)
class Bound:
    """What a command may take."""

    seconds: float  # of processor time
    megabytes: float


_LISTED = Bound(10, 150)


def attacks() -> list[Attack]:
    return [
        Attack("64 processes record into one folder at once", lambda: many_processes(64)),
        Attack("10⁷ steps", lambda: many_steps(10**7, Bound(10, 400))),
        Attack("10⁶ facts", lambda: many_facts(10**6, Bound(30, 1_500))),
        Attack("10⁴ functions", lambda: many_functions(10**4, Bound(15, 500))),
        Attack("10⁴ runs below one directory", lambda: many_runs(10**4)),
    ]


def many_processes(processes: int) -> Result:
    from unslow.analyse.run.assemble import load

    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
        command = [sys.executable, str(_SYNTHETIC), f"{place}/run", str(_PROCESS_STEPS)]
        children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(processes)]
        codes = {child.wait(timeout=600) for child in children}
        run = load(f"{place}/run")
        broke = [] if codes == {0} else [f"exit codes {sorted(codes)}"]
        if len(run.processes) != processes or run.steps != processes * _PROCESS_STEPS:
            broke.append(f"{len(run.processes)} processes and {run.steps} steps are in the run")
        broke += [f"damaged: {note}" for note in run.notes]
        shown = _within(Path(place), ["why", f"{place}/run"], Bound(20, 400))
        return Result(processes, "nothing", (*broke, *shown.broke), shown.note)


def many_steps(steps: int, bound: Bound) -> Result:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        place = Path(name)
        command = [sys.executable, str(_SYNTHETIC), str(place / "run"), str(steps)]
        wrote = measured(command, place, limit=1500)
        if wrote.code:
            return Result(broke=(f"recording them failed: {wrote.output[-200:]}",))
        own = json.loads(wrote.output.splitlines()[-1])
        mine = (own["peak"] - own["resident_before"]) / _MB
        broke = [] if mine < _RECORDER_MB else [f"the recorder took {mine:.0f} MB"]
        shown = _within(place, ["why", str(place / "run")], bound)
        folder = own["folder_bytes"] / _MB
        note = f"recorder {mine:.0f} MB, run folder {folder:.1f} MB; {shown.note}"
        return Result(1, "nothing", (*broke, *shown.broke), note)


def many_facts(facts: int, bound: Bound) -> Result:
    """The facts of an example over and over, with running totals as a recorder writes them."""
    with _grown("retracing", lambda lines: _over_and_over(lines, facts)) as (place, folder):
        return _within(place, ["why", str(folder)], bound)


def many_functions(functions: int, bound: Bound) -> Result:
    with _grown("retracing", lambda lines: _more_functions(lines, functions)) as (place, folder):
        return _within(place, ["why", str(folder)], bound)


_ONCE = ("process", "imported", "end", "site", "stack", "source")  # lines of which there is one


def _over_and_over(lines: list[Line], facts: int) -> Iterator[Line]:
    yield from lines
    repeated = [line for line in lines if line["k"] not in _ONCE]
    counts: Counter[tuple[str, str]] = Counter()
    for line in lines:
        counts[line["k"], str(line.get("key"))] += 1
    for number in range(len(lines), facts):
        line = repeated[number % len(repeated)]
        counts[line["k"], str(line.get("key"))] += 1
        count = counts[line["k"], str(line.get("key"))]
        running = {"n": count, "sum_ns": count * line["took_ns"]} if "took_ns" in line else {}
        yield {**line, **running, "t": line["t"] + number}


def _more_functions(lines: list[Line], functions: int) -> Iterator[Line]:
    yield from lines
    traces = [line for line in lines if line["k"] == "trace"]
    for number in range(functions):
        line = traces[number % len(traces)]
        own = {"function": 1000 + number, "name": f"function_{number}", "key": f"f{number}", "n": 1}
        yield {**line, **own}


@contextmanager
def _grown(name: str, grow: Grow) -> Iterator[tuple[Path, Path]]:
    """A recording of an example whose log was rewritten, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as scratch:
        place = Path(scratch)
        folder = place / "run"
        with zipfile.ZipFile(RECORDED / f"{name}.zip") as archive:
            archive.extractall(folder)
        (log,) = folder.glob("*.events")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        with log.open("w") as file:
            for line in grow(lines):
                file.write(json.dumps(line) + "\n")
        yield place, folder


def many_runs(runs: int, watched: float = _WATCHED) -> Result:
    """Many run folders: listed, the newest shown, two compared, all watched."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        place = Path(name)
        with zipfile.ZipFile(RECORDED / "retracing_dtype.zip") as archive:
            header = archive.read("run.json")
            for number in range(runs):
                folder = place / ".unslow" / f"20260101-{number:06d}-train"
                folder.mkdir(parents=True)
                (folder / "run.json").write_bytes(header)
                if number >= runs - 2:
                    archive.extractall(folder)
        last, before = f"{runs - 1:06d}", f"{runs - 2:06d}"
        results = [
            _within(place, ["runs"], _LISTED),
            _within(place, ["why"], _LISTED),
            _within(place, ["compare", before, last], _LISTED),
            _within(place, ["live", last], _LISTED),
            _watching(place, watched),
        ]
        broke = tuple(text for result in results for text in result.broke)
        return Result(len(results), "nothing", broke, "; ".join(one.note for one in results))


def _watching(place: Path, seconds: float) -> Result:
    """`unslow watch` of the whole folder, which goes on until it is interrupted."""
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "unslow", "watch", ".unslow"],
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    spent = sum(map(int, Path(f"/proc/{child.pid}/stat").read_text().split()[13:15])) / 100
    peak = peak_of(child.pid) / _MB
    child.send_signal(signal.SIGINT)
    code = child.wait(timeout=60)
    share = spent / (time.monotonic() - began)
    broke = [] if code in (0, 130, -signal.SIGINT) else [f"`watch` ended with {code}"]
    if share > _WATCHING:
        broke.append(f"`watch` took {share:.0%} of a core, more than {_WATCHING:.0%}")
    if peak > _LISTED.megabytes:
        broke.append(f"`watch` took {peak:.0f} MB")
    return Result(1, "", tuple(broke), f"`watch` took {share:.0%} of a core and {peak:.0f} MB")


def _within(place: Path, words: list[str], bound: Bound) -> Result:
    """A command of ours, with bounds on its processor time and its memory."""
    limit = 20 * bound.seconds  # of real time, on a machine where other things run
    done = measured([sys.executable, "-m", "unslow", *words], place, limit=limit)
    took = f"`{words[0]}` took {done.cpu:.1f} s of processor and {done.peak / _MB:.0f} MB"
    broke = []
    if done.code:
        broke.append(f"`{words[0]}` ended with {done.code}: {done.output[-300:]}")
    if done.code is None or done.cpu > bound.seconds:
        broke.append(f"{took}, more than {bound.seconds:.0f} s")
    if done.peak > bound.megabytes * _MB:
        broke.append(f"{took}, more than {bound.megabytes:.0f} MB")
    return Result(
        1, "", tuple(broke), f"{took} (at most {bound.seconds:.0f} s, {bound.megabytes:.0f} MB)"
    )
