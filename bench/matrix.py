"""TensorFlow and Python versions, one environment each: every loop style, and some examples at their line.

python -m bench.matrix [CELL …] [--quick] [--jobs N]     such as tf2.16-py3.11; all without one

Environments are made outside of the tree, results are kept in .chaos/results, and docs/support.md
is written from them. Stop it and start it again: what has a result is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench.chaos.kept import KEPT, ROOT
from bench.chaos.processes import environment
from tests.examples import Example

PLACE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unslow" / "matrix"
RESULTS = KEPT / "results" / "matrix.json"
_EXAMPLES = ROOT / "examples"
_TIMEOUT = 400.0
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
_QUICK = ("fit_dataset", "function_decorated", "session_plain", "eager_by_hand")
FOUND = (
    *("retracing", "eager_step", "input_bound", "graph_growth", "feed_dict", "host_sync"),
    *("run_eagerly", "iterator_rebuilt", "hoarded_tensors", "slow_callbacks"),
)


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
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    pip = [str(cell.interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    wanted = [f"tensorflow-cpu=={cell.tensorflow}.*", "--editable", str(ROOT)]
    done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"it does not install: {done.stderr.strip().splitlines()[-1][:200]}"
    ready.touch()
    return ""


def _python(version: str) -> str | None:
    found = shutil.which(f"python{version}")
    own = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(own[-1]) if own else found


def tried(cell: Cell, script: Path) -> dict[str, Any]:
    """Record one script in a cell: its loops, its first finding, and the probes that were lost."""
    with tempfile.TemporaryDirectory(prefix="unslow-matrix-") as name:
        place = Path(name)
        shutil.copy(script, place)
        for helper in script.parent.glob(f"{script.stem}_helpers"):
            shutil.copytree(helper, place / helper.name)
        words = ["-m", "unslow", "run", "-q", "--json", "report.json", script.name]
        try:
            done = _run(cell, words, place)
            if done.returncode:
                bare = _run(cell, [script.name], place)
                if bare.returncode == done.returncode:
                    return {"lost": [], "problem": "", "unfit": _last_line(bare)}
        except subprocess.TimeoutExpired:
            return {"lost": [], "problem": f"not done after {_TIMEOUT:.0f} s"}
        if not (place / "report.json").exists():
            return {"lost": [], "problem": _last_line(done)}
        report = json.loads((place / "report.json").read_text(encoding="utf-8"))
    return {**_judged(script, report, done.returncode), "lost": _lost(report)}


def _run(cell: Cell, words: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(cell.interpreter), *words],
        cwd=place,
        # The environment may have been made from another checkout.
        env=environment({"PYTHONPATH": str(ROOT / "src")}),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["no report"])[-1][:200]


def _lost(report: dict[str, Any]) -> list[str]:
    return [f"{row['probe']}: {row['reason']}"[:160] for row in report["lost_probes"]]


def _judged(script: Path, report: dict[str, Any], code: int) -> dict[str, Any]:
    if code:
        return {"problem": f"exit {code}, and bare it runs"}
    if script.parent.name == "styles":
        return {"problem": _miscounted(script, report)}
    return {"problem": _misjudged(Example(script), report)}


def _miscounted(script: Path, report: dict[str, Any]) -> str:
    steps = re.search(r"^# steps: (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [int(word) for word in steps.group(1).split(",")] if steps else []
    counted = [loop["steps"] for loop in report["loops"]]
    return "" if counted == expected else f"{counted} steps, not {expected}"


def _misjudged(example: Example, report: dict[str, Any]) -> str:
    expected = str(example.expected)
    first = report["findings"][0] if report["findings"] else None
    if first is not None and first["cause"] == expected:
        lines = example.lines(expected)
        found = (first["location"] or {}).get("line")
        return "" if not lines or found in lines else f"at line {found}, not {lines}"
    unjudged = {row["cause"]: row["reason"] for row in report["not_judged"]}
    if expected in unjudged:
        return f"{expected} was not judged: {unjudged[expected]}"[:200]
    return f"{first['cause'] if first else 'nothing'} instead of {expected}"


def scripts(quick: bool) -> list[Path]:
    styles = sorted((_EXAMPLES / "styles").glob("*.py"))
    examples = [_EXAMPLES / f"{name}.py" for name in FOUND]
    if quick:
        styles = [path for path in styles if path.stem in _QUICK] or styles[:3]
        examples = examples[:2]
    return [*styles, *(path for path in examples if path.exists())]


def load() -> dict[str, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def keep(rows: dict[str, dict[str, Any]]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    draft = RESULTS.with_suffix(".draft")
    draft.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    draft.replace(RESULTS)


def run(cell: Cell, chosen: Iterable[Path], jobs: int) -> None:
    rows = load()
    row = rows.setdefault(cell.name, {"scripts": {}})
    row["problem"] = made(cell)
    row["date"] = date.today().isoformat()
    keep(rows)
    if row["problem"]:
        print(f"{cell.name}: {row['problem']}", flush=True)
        return
    left = [path for path in chosen if _is_open(row["scripts"].get(path.stem))]
    with ThreadPoolExecutor(jobs) as pool:
        for path, result in zip(left, pool.map(lambda path: tried(cell, path), left), strict=True):
            rows = load()
            rows[cell.name]["scripts"][path.stem] = result
            keep(rows)
            print(f"{cell.name}: {path.stem}: {result['problem'] or 'right'}", flush=True)


def _is_open(result: dict[str, Any] | None) -> bool:
    return result is None or bool(result["problem"])


def page(rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        "# Supported versions",
        "",
        "Written by `make matrix`. Do not edit. Each cell records loop styles, whose steps must be",
        "counted exactly, and examples, whose cause must be found first, or be named as not judged.",
        "",
        "| TensorFlow | Python | styles and examples right | lost probes | run on |",
        "|---|---|---|---|---|",
    ]
    lines += [_row(cell, rows.get(cell.name)) for cell in cells()]
    lines += ["", "## What differs", "", *(_differences(rows) or ["Nothing in what was run."])]
    return "\n".join(lines) + "\n"


def _row(cell: Cell, row: dict[str, Any] | None) -> str:
    head = f"| {cell.tensorflow} | {cell.python} |"
    if row is None or not row["scripts"]:
        why = row["problem"] if row and row["problem"] else "not run yet"
        return f"{head} {why} | – | – |"
    results = [result for result in row["scripts"].values() if not result.get("unfit")]
    right = sum(not result["problem"] for result in results)
    lost = len({text.partition(":")[0] for result in results for text in result.get("lost", ())})
    return f"{head} {right} of {len(results)} | {lost} | {row['date']} |"


def _differences(rows: dict[str, dict[str, Any]]) -> list[str]:
    return [f"- {text}" for name, row in sorted(rows.items()) for text in _of_cell(name, row)]


def _of_cell(name: str, row: dict[str, Any]) -> Iterator[str]:
    for script, result in sorted(row["scripts"].items()):
        if result["problem"]:
            yield f"{name}, `{script}`: {result['problem']}"
        elif result.get("unfit"):
            yield f"{name}, `{script}` does not run there, also without unslow: {result['unfit']}"
    lost = {text for result in row["scripts"].values() for text in result.get("lost", ())}
    for text in sorted(lost):
        yield f"{name}: lost probe {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cells", nargs="*", help="such as tf2.16-py3.11; all without one")
    parser.add_argument("--quick", action="store_true", help="a few scripts of each cell")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at a time")
    options = parser.parse_args()
    for cell in cells():
        if not options.cells or cell.name in options.cells:
            run(cell, scripts(options.quick), options.jobs)
    (ROOT / "docs" / "support.md").write_text(page(load()), encoding="utf-8")
    print("written: docs/support.md")
    rows = [result for row in load().values() for result in row["scripts"].values()]
    return 1 if any(result["problem"] for result in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
