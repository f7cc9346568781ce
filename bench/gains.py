"""`python bench/gains.py [--keep FOLDER] [NAME …]`: what each automatic fix gives back, against what was promised.

Every example is recorded, diagnosed, fixed, proved and recorded again, in a copy; a row is kept as soon as it is
there. What is compared must be the same steps on both sides, so a trial makes all the steps of the recording:

* A cost in every step, or in some: the finding's seconds as a share of the steps that the proof counts (all but the
  first, which pays for tracing on either side), against the share of these steps that is gone afterwards. A little
  of the cost may have been the first step's; the share is never more than all.
* A cost of the first step: the same, with the first step on both sides.
* A cost that grows with the steps: the same, since the trial grows as far as the recording did. The verdict
  comes from the slope.
* Memory or files that grow and cost no time yet: bytes per step as the finding says, against the slope that is gone.
* A peak of memory: bytes that the finding says could be freed, against the fall of the peak.

Both are shares of their own process, so a machine that is slower in one of them does not matter. The promise is kept
where it lies within a quarter of what was given back; the proof's own interval counts for the latter.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.results import environment, machine  # noqa: E402
from tests.examples import Example, all_examples, marked  # noqa: E402
from unslow.analyse.run.assemble import load  # noqa: E402
from unslow.diagnose import diagnose  # noqa: E402
from unslow.errors import UnslowError  # noqa: E402
from unslow.fix.edit.apply import write  # noqa: E402
from unslow.fix.edit.diff import unified_diff  # noqa: E402
from unslow.model import Diagnosis, Fix, Proof, Refusal, Run  # noqa: E402
from unslow.planning import Composition, Step  # noqa: E402
from unslow.proof.prove import prove, question_for  # noqa: E402
from unslow.proof.sides import side_of  # noqa: E402

KEPT = ROOT / "bench" / "gains.json"
WITHIN = 0.25  # of what the fix gives back
_LONGEST = 30.0  # seconds of training in one trial; longer recordings are cut short

Row = dict[str, Any]


def read() -> dict[str, Row]:
    return dict(json.loads(KEPT.read_text(encoding="utf-8"))) if KEPT.exists() else {}


def keep(row: Row) -> None:
    rows = {**read(), row["example"]: {key: _short(value) for key, value in row.items()}}
    draft = KEPT.with_suffix(".draft")
    draft.write_text(
        json.dumps(dict(sorted(rows.items())), indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    draft.replace(KEPT)


def _short(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def measure(example: Example, place: Path) -> Row:
    """One example, from its recording to the recording of what the fix left."""
    shutil.copy(example.path, place / example.path.name)
    for helper in example.path.parent.glob(f"{example.path.stem}_helpers"):
        shutil.copytree(helper, place / helper.name)
    folder = recorded(example.path.name, place, "before")
    diagnosis = diagnose(load(folder))
    row = found(example, diagnosis)
    if "seconds" not in row:
        return row
    composition = Composition(diagnosis, example.expected)
    for number, step in enumerate(composition.steps()):
        proof = proved(row if number == 0 else {}, diagnosis.run, folder, step)
        if proof is not None:  # whether it is quiet afterwards is asked of every fix, proved or not
            composition.accept(step)
    if composition.texts:
        row["diff"] = "".join(
            unified_diff(file, diagnosis.run.sources[file], text)
            for file, text in composition.texts.items()
        )
        write(diagnosis.run, composition.texts)
        after = diagnose(load(recorded(example.path.name, place, "after")), with_fixes=False)
        row["left"] = [finding.cause for finding in after.findings if finding.fault]
        row["quiet"] = example.expected not in row["left"]
    return row


def recorded(script: str, place: Path, name: str) -> str:
    folder = place / ".unslow" / name  # a folder that trials leave out of their copies
    subprocess.run(
        [sys.executable, "-m", "unslow", "run", "-q", "--out", str(folder), script],
        cwd=place,
        check=True,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    return str(folder)


def found(example: Example, diagnosis: Diagnosis) -> Row:
    """What the recording says: the cause, whether it leads, whether its line is right, and its promise."""
    cause = str(example.expected)
    row: Row = {"example": example.path.stem, "cause": cause, "measured": machine()}
    faults = [finding.cause for finding in diagnosis.findings]
    row |= {"first": faults[:1] == [cause], "found": faults}
    finding = next((one for one in diagnosis.findings if one.cause == cause), None)
    if finding is None:
        return row
    where = finding.location
    lines = marked(diagnosis.run.sources.get(where.file, "") if where else "", cause)
    index = diagnosis.findings.index(finding)
    fix = diagnosis.fixes.get(index)
    run = diagnosis.run
    return row | {
        "line": not lines or (where is not None and where.line in lines),
        "title": finding.title,
        "seconds": finding.seconds,
        "trained": run.trained,
        "steps": run.steps,
        "grows": finding.grows,
        "bytes": finding.forecast is not None and finding.forecast.bytes is not None,
        "advice": finding.advice,
        "refused": fix.reason if isinstance(fix, Refusal) else "",
    }


def proved(row: Row, run: Run, folder: str, step: Step) -> Proof | None:
    """Prove one fix over all steps of the recording, and write what came of it into the row."""
    if not isinstance(step.fix, Fix):
        return None
    row |= {"fix": step.fix.title, "safety": step.fix.safety.name, "note": step.fix.note}
    question = question_for(run, step.finding, run.steps if run.trained < _LONGEST else None)
    try:
        proof = prove(
            side_of(run, folder, step.before), side_of(run, folder, step.after), question, tell
        )
    except UnslowError as problem:
        row["failed"] = str(problem)
        return None
    row |= {
        "verdict": proof.verdict.name,
        "ratio": proof.speedup,
        "low": proof.low,
        "high": proof.high,
        "before": proof.before,
        "after": proof.after,
        "trial": proof.steps,
        "whole": step.finding.in_first_step,
        "difference": proof.difference,
        "noise": proof.noise,
        "text": proof.text,
        "given": 1 - 1 / proof.speedup,
        "first_step": float(min(run.loops, key=lambda loop: loop.start).seconds[0]),
        "per_step": getattr(step.finding.detail, "bytes_per_step", None),
        "growth": [proof.growth.what, proof.growth.before, proof.growth.after]
        if proof.growth
        else None,
        "peak": [proof.peak.before, proof.peak.after] if proof.peak else None,
        "frees": step.finding.frees,
    }
    return proof


def off(row: Row) -> float | None:
    """By how much of what the fix gives back the promise misses it: 0.25 is a quarter too much, −0.25 too little.

    None where nothing was promised that a trial could give back.
    """
    if row["per_step"] and row["growth"]:
        _, before, after = row["growth"]
        return float(row["per_step"] / (before - after) - 1)
    if row.get("peak"):
        before, after = row["peak"]
        return float(row["frees"] / (before - after) - 1)
    if not row["seconds"]:
        return None
    said = promised(row)
    low, high = (1 - 1 / max(ratio, 1e-9) for ratio in (row["low"], row["high"]))
    nearest = min(max(said, low), high)
    return float(said / nearest - 1) if nearest > 0 else float("inf")


def promised(row: Row) -> float:
    """The cost as a share of the steps that the proof counts."""
    first = 0.0 if row["whole"] else row["first_step"]
    return float(min(row["seconds"] / (row["trained"] - first), 1.0))


def grown(row: Row) -> str:
    """The growth that is gone, per 1,000 steps."""
    what, before, after = row["growth"]
    unit, scale = ("ms", 1e6) if what == "step time" else ("MB", 1e-3)
    return f"{what} grew by {plain(before * scale)} {unit} per 1,000 steps, and by {plain(after * scale)} after"


def plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.01 else "0"


def said(row: Row) -> str:
    parts = [row["cause"], "first" if row["first"] else f"NOT FIRST {row['found']}"]
    if "seconds" not in row:
        return ", ".join(parts)
    parts += [
        "" if row["line"] else "WRONG LINE",
        f"cost {row['seconds']:.2f} of {row['trained']:.2f} s",
    ]
    if "verdict" in row:
        missed = off(row)
        parts += [row["text"], f"promised {promised(row):.1%}, given {row['given']:.1%}"]
        parts += ["" if missed is None else f"off by {missed:+.0%}"]
        parts += [f"left {row['left']}" if "left" in row else ""]
    else:
        parts += [
            row.get("failed") or (f"refused: {row['refused']}" if row["refused"] else "words only")
        ]
    return ", ".join(part for part in parts if part)


def tell(text: str) -> None:
    print(f"    {text}", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python bench/gains.py", description="What each automatic fix gives back."
    )
    parser.add_argument(
        "names", nargs="*", help="examples to measure; without, all that have not been measured yet"
    )
    parser.add_argument("--keep", help="leave the scripts and the recordings in this folder")
    asked = parser.parse_args(words)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sick = {
        example.path.stem: example
        for example in all_examples()
        if example.expected and example.possible
    }
    unknown = sorted(set(asked.names) - set(sick))
    if unknown:
        parser.error(f"no such example: {', '.join(unknown)}")
    names = asked.names or [name for name in sick if name not in read()]
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="unslow-gains-") as passing:
            place = Path(asked.keep).resolve() / name if asked.keep else Path(passing)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            try:
                row = measure(sick[name], place)
            except subprocess.CalledProcessError as problem:
                print(f"  it ended with {problem.returncode}", flush=True)
                continue
            if "seconds" not in row and "noisy-machine" in row["found"]:
                print(
                    "  not kept: others used the machine so much that nothing else could be told",
                    flush=True,
                )
                continue
            keep(row)
            print(f"  {said(row)}", flush=True)


if __name__ == "__main__":
    main()
