"""TensorFlow and Python versions, one environment each: loop styles, and causes at their line.

python -m bench.matrix [CELL …] [--quick | --every] [--again] [--jobs N]
                       such as tf2.16-py3.11; all without one

Environments are made outside of the tree; results are kept in bench/matrix.json, and docs/support.md
is written from them. Stop it and start it again: what has a result is not run again.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench.chaos.kept import ROOT
from bench.chaos.processes import environment, environment_with
from bench.matrix_forks import OF_THE_MACHINE, copied, report_of
from tests.examples import Example, all_examples

PLACE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unslow" / "matrix"
RESULTS = ROOT / "bench" / "matrix.json"
_LOCK = PLACE / "lock"
_EXAMPLES = ROOT / "examples"
_TIMEOUT = 900.0  # seconds; the longest took 60 of a processor that others may use, too
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
Row = dict[str, Any]
# TensorFlow → the Pythons that it has wheels for.
CELLS = {
    "2.15": ("3.10", "3.11"),
    "2.16": ("3.10", "3.11", "3.12"),
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.10", "3.11", "3.12"),
    "2.19": ("3.10", "3.11", "3.12"),
    "2.20": ("3.10", "3.11", "3.12", "3.13"),
    "2.21": ("3.10", "3.11", "3.12", "3.13"),
}
# Scripts that run by `unslow run` in every cell; the others are forks of one process.
_QUICK = (
    *("fit_dataset", "function_decorated", "session_plain", "eager_by_hand"),
    *("retracing_method", "eager_step"),
)
# Their findings are about the memory of the process, of which a fork shares what TensorFlow takes.
_OF_A_PROCESS = ("memory_pressure", "memory_peak_pairs")


@dataclass(frozen=True)
class Cell:
    tensorflow: str
    python: str

    @property
    def name(self) -> str:
        return f"tf{self.tensorflow}-py{self.python}"

    @property
    def interpreter(self) -> Path:
        return PLACE / self.name / "bin" / "python"


def cells() -> list[Cell]:
    return [Cell(version, python) for version, pythons in CELLS.items() for python in pythons]


def made(cell: Cell) -> str:
    """Make the environment of a cell; says why it could not be made."""
    place = PLACE / cell.name
    ready = place / "ready"
    if ready.exists():
        return ""
    python = _python(cell.python)
    if python is None:
        return f"there is no Python {cell.python} here"
    uv = [_uv(), "pip", "install", "-q", "--python", str(cell.interpreter)]
    subprocess.run([_uv(), "venv", "-q", "--clear", "--python", python, str(place)], check=True)
    wanted = [f"tensorflow-cpu=={cell.tensorflow}.*", str(ROOT)]
    # Keras 2 as a package of its own, which asks for the distribution `tensorflow`.
    keras = ["--no-deps", f"tf-keras=={cell.tensorflow}.*"]
    for words in (wanted, keras):
        done = subprocess.run([*uv, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            return f"it does not install: {done.stderr.strip().splitlines()[-1][:200]}"
    ready.touch()
    return ""


def _uv() -> str:
    """uv, which links what several cells have in common."""
    place = PLACE / "uv"
    if not (place / "bin" / "uv").exists():
        environment_with(["uv"], place)
    return str(place / "bin" / "uv")


def _python(version: str) -> str | None:
    found = shutil.which(f"python{version}")
    own = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(own[-1]) if own else found


def launched(cell: Cell, script: Path) -> Row:
    """Record one script in a cell: its loops, its first finding, and the probes that were lost."""
    with tempfile.TemporaryDirectory(prefix="unslow-matrix-") as name:
        place = Path(name)
        copied(script, place)
        words = ["-m", "unslow", "run", "-q", "--out", "recorded", "--json", "report.json"]
        try:
            done = _run(cell, [*words, script.name], place)
            if done.returncode:
                bare = _run(cell, [script.name], place)
                if bare.returncode == done.returncode:
                    return {"lost": [], "problem": "", "unfit": _last_line(bare)}
        except subprocess.TimeoutExpired:
            return {"lost": [], "problem": f"not done after {_TIMEOUT:.0f} s"}
        if not (place / "report.json").exists():
            return {"lost": [], "problem": _last_line(done)}
        report = report_of(str(place / "recorded"), script)
    return {**_judged(script, report, done.returncode), "lost": _lost(report)}


def _run(cell: Cell, words: Sequence[str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(cell.interpreter), *words],
        cwd=place,
        env=_variables(),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )


def _variables() -> dict[str, str]:
    """The environment may have been made from another checkout, and keeps its bytecode."""
    paths = f"{ROOT / 'src'}:{ROOT}"
    extra = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return environment(extra, quiet=False)  # which would go without oneDNN: an example is about it


def forked(cell: Cell, scripts: Sequence[Path], jobs: int) -> Iterator[tuple[Path, Row]]:
    """Record scripts in forks; what is wrong there is recorded again by `unslow run`, alone."""
    left = {script.stem: script for script in scripts}
    words = ["-m", "bench.matrix_forks", str(jobs), *map(str, scripts)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [str(cell.interpreter), *words],
            cwd=ROOT,
            env=_variables(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        for line in process.stdout or ():
            if line.startswith("{"):
                row = json.loads(line)
                script = left[row["script"]]
                result = _judged(script, row["report"], row["code"])
                result["lost"] = _lost(row["report"])
                if result["problem"]:
                    print(f"{cell.name}: {script.stem}: again, {result['problem']}", flush=True)
                else:
                    yield left.pop(script.stem), result
        if process.wait():
            errors.seek(0)
            print(f"{cell.name}: the forks ended with {errors.read()[-300:]}", flush=True)
    yield from ((script, launched(cell, script)) for script in left.values())


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The error that a program ended with: its last line that begins with one, and what follows."""
    lines = [line.strip() for line in done.stderr.strip().splitlines()] or ["no report"]
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    return " ".join(filter(None, lines[errors[-1] if errors else -1 :]))[:200]


def _lost(report: Row) -> list[str]:
    return [f"{row['probe']}: {row['reason']}"[:160] for row in report["lost_probes"]]


def _judged(script: Path, report: Row, code: int) -> Row:
    if code:
        return {"problem": f"exit {code}, and bare it runs"}
    if script.parent.name == "styles":
        return {"problem": _miscounted(script, report)}
    return _judged_example(Example(script), report)


def _miscounted(script: Path, report: Row) -> str:
    steps = re.search(r"^# steps: (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [int(word) for word in steps.group(1).split(",")] if steps else []
    counted = [loop["steps"] for loop in report["loops"]]
    return "" if counted == expected else f"{counted} steps, not {expected}"


def _judged_example(example: Example, report: Row) -> Row:
    expected = str(example.expected)
    first = report["findings"][0] if report["findings"] else None
    if first is not None and first["cause"] == expected:
        lines = example.lines(expected)
        line = (first["location"] or {}).get("line")
        is_there = not lines or line in lines
        return {"problem": "" if is_there else f"at line {line}, not {lines}"}
    unjudged = {row["cause"]: row["reason"] for row in report["not_judged"]}
    if expected in unjudged:
        return {"problem": "", "unjudged": unjudged[expected][:200]}
    return {"problem": f"{first['cause'] if first else 'nothing'} instead of {expected}"}


def scripts(every: bool) -> list[Path]:
    """Every loop style, and the shortest example of every cause, or every example."""
    examples = [one for one in all_examples() if one.expected and one.possible]
    shortest: dict[str, Example] = {}
    for one in sorted(examples, key=_recorded_seconds):
        shortest.setdefault(str(one.expected), one)
    quick = [one for one in examples if one.path.stem in _QUICK]
    chosen = examples if every else [*quick, *shortest.values()]
    return list(dict.fromkeys([*_styles(), *(one.path for one in chosen)]))


def _styles() -> list[Path]:
    return sorted((_EXAMPLES / "styles").glob("*.py"))


def _recorded_seconds(example: Example) -> float:
    if not example.recording.exists():
        return float("inf")
    with zipfile.ZipFile(example.recording) as archive:
        return float(json.loads(archive.read("run.json"))["seconds"])


def load() -> dict[str, Row]:
    if not RESULTS.exists():
        return {}
    found: dict[str, Row] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


@contextmanager
def changed() -> Iterator[dict[str, Row]]:
    """The results, to be changed by one process at a time: cells may run side by side."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = load()
        yield rows
        keep(rows)


def keep(rows: dict[str, Row]) -> None:
    draft = RESULTS.with_suffix(".draft")
    draft.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    draft.replace(RESULTS)


def run(cell: Cell, chosen: Sequence[Path], again: bool, jobs: int) -> None:
    problem = made(cell)
    with changed() as rows:
        row = rows.setdefault(cell.name, {"scripts": {}})
        row["problem"] = problem
        row["date"] = date.today().isoformat()
    if problem:
        print(f"{cell.name}: {problem}", flush=True)
        return
    began = time.monotonic()
    left = [path for path in chosen if again or _is_open(row["scripts"].get(path.stem))]
    by_launcher = [path for path in left if path.stem in (*_QUICK, *_OF_A_PROCESS)]
    by_fork = [path for path in left if path not in by_launcher]
    for path in by_launcher:
        _keep_result(cell, path, launched(cell, path))
    if by_fork:
        for path, result in forked(cell, _longest_first(by_fork), jobs):
            _keep_result(cell, path, result)
    if left:
        minutes = (time.monotonic() - began) / 60
        print(f"{cell.name}: {len(left)} scripts in {minutes:.1f} minutes", flush=True)


def _longest_first(paths: Sequence[Path]) -> list[Path]:
    """Nothing long begins last, while the other places stand empty; the styles are all short."""
    styles = set(_styles())
    examples = [path for path in paths if path not in styles]
    examples.sort(key=lambda path: _recorded_seconds(Example(path)), reverse=True)
    return [*examples, *(path for path in paths if path in styles)]


def _keep_result(cell: Cell, path: Path, result: Row) -> None:
    with changed() as rows:
        rows[cell.name]["scripts"][path.stem] = result
    print(f"{cell.name}: {path.stem}: {result['problem'] or 'right'}", flush=True)


def _is_open(result: Row | None) -> bool:
    return result is None or bool(result["problem"])


def page(rows: dict[str, Row]) -> str:
    styles = len(_styles())
    examples = len(scripts(every=False)) - styles
    lines = [
        "# Supported versions",
        "",
        "Written by `make matrix`. Do not edit. Each cell records loop styles, whose steps must be",
        "counted exactly, and examples, whose cause must be found first and at its line, or be named",
        f"as not judged. A full cell has {styles} styles and {examples} examples, one or more of each",
        "cause; what does not run on a version, also without unslow, is named below.",
        f"`{OF_THE_MACHINE}` is judged in its own example alone: it speaks of where a cell was run.",
        "Several cells ran at a time on two cores: an answer that was wrong was asked for once more,",
        "alone, and the last one counts.",
        "",
        "| TensorFlow | Python | loop styles right | examples right | lost probes | run on |",
        "|---|---|---:|---:|---:|---|",
    ]
    lines += [_row(cell, rows.get(cell.name)) for cell in cells()]
    lines += ["", "## What differs", "", *(_differences(rows) or ["Nothing in what was run."])]
    return "\n".join(lines) + "\n"


def _row(cell: Cell, row: Row | None) -> str:
    head = f"| {cell.tensorflow} | {cell.python} |"
    if row is None or not row["scripts"]:
        why = row["problem"] if row and row["problem"] else "not run yet"
        return f"{head} {why} | – | – | – |"
    names = {path.stem for path in _styles()}
    fit = {name: one for name, one in row["scripts"].items() if not one.get("unfit")}
    styles = _right([one for name, one in fit.items() if name in names])
    examples = _right([one for name, one in fit.items() if name not in names])
    lost = len({text.partition(":")[0] for one in fit.values() for text in one.get("lost", ())})
    return f"{head} {styles} | {examples} | {lost} | {row['date']} |"


def _right(results: Sequence[Row]) -> str:
    return f"{sum(not one['problem'] for one in results)} of {len(results)}"


def _differences(rows: dict[str, Row]) -> list[str]:
    return [f"- {text}" for name, row in sorted(rows.items()) for text in _of_cell(name, row)]


def _of_cell(name: str, row: Row) -> Iterator[str]:
    for script, result in sorted(row["scripts"].items()):
        if result["problem"]:
            yield f"{name}, `{script}`: {result['problem']}"
        elif result.get("unfit"):
            yield f"{name}, `{script}` does not run there, also without unslow: {result['unfit']}"
        elif result.get("unjudged"):
            yield f"{name}, `{script}` is not judged there: {result['unjudged']}"
    lost = {text for result in row["scripts"].values() for text in result.get("lost", ())}
    for text in sorted(lost):
        yield f"{name}: lost probe {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cells", nargs="*", help="such as tf2.16-py3.11; all without one")
    parser.add_argument("--quick", action="store_true", help="six scripts of each cell")
    parser.add_argument("--every", action="store_true", help="every example, not one of each cause")
    parser.add_argument("--again", action="store_true", help="also what has a result")
    parser.add_argument("--jobs", type=int, default=1, help="scripts of a cell at a time")
    options = parser.parse_args()
    chosen = scripts(options.every)
    if options.quick:
        chosen = [path for path in chosen if path.stem in _QUICK]
    for cell in cells():
        if not options.cells or cell.name in options.cells:
            run(cell, chosen, options.again, options.jobs)
    (ROOT / "docs" / "support.md").write_text(page(load()), encoding="utf-8")
    print("written: docs/support.md")
    rows = [result for row in load().values() for result in row["scripts"].values()]
    return 1 if any(result["problem"] for result in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
