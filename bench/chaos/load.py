"""Load: sizes far beyond an ordinary run, with bounds on time and memory.

The bounds are for a machine where other things run: about five times what two quiet cores take.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.chaos.damage import RECORDED
from bench.chaos.kept import ROOT, Attack, Result
from bench.results import run as measured

_PROCESSES, _PROCESS_STEPS = 64, 2_000
_STEPS = 10_000_000
_FACTS = 1_000_000
_FUNCTIONS = 10_000
_RUNS = 10_000
_SYNTHETIC = ROOT / "bench" / "synthetic.py"
_MB = 1 << 20
Grow = Callable[[list[dict[str, Any]]], Iterator[dict[str, Any]]]


def attacks() -> list[Attack]:
    return [
        Attack("64 processes record into one folder at once", many_processes, alone=True),
        Attack("10⁷ steps", many_steps, alone=True),
        Attack("10⁶ facts", many_facts, alone=True),
        Attack("10⁴ functions", many_functions, alone=True),
        Attack("10⁴ runs below one directory", many_runs, alone=True),
    ]


def many_processes() -> Result:
    from unslow.analyse.run.assemble import load

    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
        command = [sys.executable, str(_SYNTHETIC), f"{place}/run", str(_PROCESS_STEPS)]
        children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(_PROCESSES)]
        codes = {child.wait(timeout=600) for child in children}
        run = load(f"{place}/run")
        broke = [] if codes == {0} else [f"exit codes {sorted(codes)}"]
        if len(run.processes) != _PROCESSES or run.steps != _PROCESSES * _PROCESS_STEPS:
            broke.append(f"{len(run.processes)} processes and {run.steps} steps are in the run")
        broke += [f"damaged: {note}" for note in run.notes]
        shown = _reported(Path(place), Path(place) / "run", 60, 700)
        return Result(_PROCESSES, "nothing", (*broke, *shown.broke), shown.note)


def many_steps() -> Result:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        place = Path(name)
        command = [sys.executable, str(_SYNTHETIC), str(place / "run"), str(_STEPS)]
        wrote = measured(command, place, limit=1500)
        if wrote.code:
            return Result(broke=(f"recording them failed: {wrote.output[-200:]}",))
        own = json.loads(wrote.output.splitlines()[-1])
        mine = (own["peak"] - own["resident_before"]) / _MB
        broke = [] if mine < 100 else [f"the recorder took {mine:.0f} MB"]
        shown = _reported(place, place / "run", 30, 700)
        note = f"recorder {mine:.0f} MB, folder {own['folder_bytes'] / _MB:.0f} MB; {shown.note}"
        return Result(1, "nothing", (*broke, *shown.broke), note)


def many_facts() -> Result:
    """A million facts of every kind that an example recorded, over and over."""
    with _grown("retracing", _over_and_over) as (place, folder):
        return _reported(place, folder, 300, 6_000)


def many_functions() -> Result:
    with _grown("retracing", _more_functions) as (place, folder):
        return _reported(place, folder, 120, 1_500)


def _over_and_over(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from lines
    repeated = [line for line in lines if line["k"] not in ("process", "imported", "end", "site")]
    number = len(lines)
    while number < _FACTS:
        for line in repeated:
            yield {**line, "t": line["t"] + number}
            number += 1


def _more_functions(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from lines
    traces = [line for line in lines if line["k"] == "trace"]
    for number in range(_FUNCTIONS):
        line = traces[number % len(traces)]
        yield {**line, "function": 1000 + number, "name": f"function_{number}", "n": 1}


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


def many_runs() -> Result:
    """Ten thousand run folders: listed, the newest shown, two compared."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        place = Path(name)
        with zipfile.ZipFile(RECORDED / "retracing_dtype.zip") as archive:
            header = archive.read("run.json")
            for number in range(_RUNS):
                folder = place / ".unslow" / f"20260101-{number:06d}-train"
                folder.mkdir(parents=True)
                (folder / "run.json").write_bytes(header)
                if number >= _RUNS - 2:
                    archive.extractall(folder)
        last, before = f"{_RUNS - 1:06d}", f"{_RUNS - 2:06d}"
        results = [
            _within(place, ["runs"], 30, 300),
            _within(place, ["why"], 30, 300),
            _within(place, ["compare", before, last], 40, 300),
        ]
        broke = tuple(text for result in results for text in result.broke)
        return Result(len(results), "nothing", broke, "; ".join(one.note for one in results))


def _reported(place: Path, folder: Path, seconds: float, megabytes: float) -> Result:
    return _within(place, ["why", str(folder)], seconds, megabytes)


def _within(place: Path, words: list[str], seconds: float, megabytes: float) -> Result:
    """A command of ours, with bounds on its time and its memory."""
    done = measured([sys.executable, "-m", "unslow", *words], place, limit=2 * seconds)
    note = f"`{words[0]}` took {done.seconds:.1f} s and {done.peak / _MB:.0f} MB"
    broke = []
    if done.code:
        broke.append(f"`{words[0]}` ended with {done.code}: {done.output[-300:]}")
    if done.code is None or done.seconds > seconds:
        broke.append(f"`{words[0]}` took {done.seconds:.0f} s, more than {seconds:.0f}")
    if done.peak > megabytes * _MB:
        broke.append(f"`{words[0]}` took {done.peak / _MB:.0f} MB, more than {megabytes:.0f}")
    return Result(1, "", tuple(broke), note)
