"""Fixes and proves the sick programs of the field suite, and compares their gain with the expert's.

For each program: the fixes of its recording are proved, the proved diff is applied to a copy, and the
result is run bare, as the program itself and the expert's version are. What is known is kept below
`.field/`, so it can be stopped and resumed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from bench.field.measure import KEPT, Ran, keep, known, patched_run, restored, turn
from bench.field.programs import ROOT, Program

_SHORT = 12  # lines of an expert's change up to which a diff is expected
_LIKE_EXPERT = 0.95  # of the expert's gain
_MEASURABLE = 0.5  # seconds: a smaller gain of the expert's cannot be compared between single runs
_LIGHTER = 0.9  # of the peak: a memory fix that reaches this is compared by bytes, not by seconds
_LONGEST = 1200.0  # seconds that one proof may take, the last trial included
_FIXER = ("analyse", "causes", "fix", "proof", "syntax")


@dataclass(frozen=True)
class Fixed:
    """What became of one program."""

    name: str
    twin_lines: int
    fixes: tuple[str, ...]  # causes with a diff
    obstacle: str  # why the first finding has none
    verdict: str  # of the diff: proved, if any of it was
    text: str  # the proof's own words
    bare: float
    twin: float
    fixed: float | None
    bare_peak: int
    twin_peak: int
    fixed_peak: int | None
    memory: bool

    @property
    def is_short(self) -> bool:
        return self.twin_lines <= _SHORT

    @property
    def has_diff(self) -> bool:
        return bool(self.fixes)

    @property
    def is_proved(self) -> bool:
        return self.verdict == "proved"

    @property
    def share(self) -> float | None:
        """Of what the expert's change gains: seconds, or bytes of the peak where it is about these."""
        if self.fixed is None or self.fixed_peak is None:
            return None
        if self.memory and self.twin_peak < _LIGHTER * self.bare_peak:
            return (self.bare_peak - self.fixed_peak) / (self.bare_peak - self.twin_peak)
        gain = self.bare - self.twin
        return (self.bare - self.fixed) / gain if gain >= _MEASURABLE else None


@cache
def fixer_digest() -> str:
    """Of all that decides about fixes."""
    whole = hashlib.sha256()
    for package in _FIXER:
        for file in sorted((ROOT / "src" / "unslow" / package).rglob("*.py")):
            whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def fixed(program: Program, budget: str) -> Fixed:
    """Prove the fixes of one program, and measure the result; what is known is not done again."""
    measured = turn(program)
    folder = measured.folder
    kept = KEPT / program.name / "fixes.json"
    digest = f"{program.digest}-{fixer_digest()}"
    found = known(kept, digest)
    if found is None:
        with restored(program, folder):
            found = _proved(str(folder), budget)
        keep(kept, digest, found)
    after = _measured(program, found["diff"]) if found["diff"] else None
    if measured.twin is None:
        raise ValueError(f"{program.name} has no change of an expert's")
    return judged(program, found, (measured.bare, measured.twin, after))


def _proved(folder: str, budget: str) -> dict[str, Any]:
    """What `unslow fix --prove` says, as its JSON."""
    words = [sys.executable, "-m", "unslow", "fix", folder, "--prove", "--budget", budget]
    done = subprocess.run(
        [*words, "--format", "json"],
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"unslow fix failed: {done.stderr[-2000:]}") from None
    if "error" in found:
        return {"fixes": [], "diff": "", "error": found["error"]["why"]}
    return {"fixes": found["fixes"], "diff": found["diff"], "error": ""}


def _measured(program: Program, diff: str) -> Ran:
    digest = f"{program.digest}-{hashlib.sha256(diff.encode()).hexdigest()[:16]}"
    kept = KEPT / program.name / "fixed.json"
    found = known(kept, digest)
    if found is not None:
        return Ran(**found)
    ran = patched_run(program, diff)
    keep(kept, digest, asdict(ran))
    return ran


def judged(program: Program, found: Mapping[str, Any], runs: tuple[Ran, Ran, Ran | None]) -> Fixed:
    rows: Sequence[Mapping[str, Any]] = found["fixes"]
    with_diff = [row for row in rows if row["fix"]]
    accepted = [row for row in with_diff if row["accepted"]]
    proof = next((row["proof"] for row in [*accepted, *with_diff] if row["proof"]), None)
    refusals = [f"{row['cause']}: {row['refusal']}" for row in rows if row["refusal"]]
    before, expert, after = runs
    is_run = after is not None and after.code == 0
    return Fixed(
        name=program.name,
        twin_lines=program.twin_lines,
        fixes=tuple(dict.fromkeys(row["cause"] for row in with_diff)),
        obstacle="" if with_diff else "; ".join([*refusals, found.get("error", "")]).strip("; "),
        verdict=proof["verdict"] if proof else "",
        text=proof["text"] if proof else "",
        bare=before.seconds,
        twin=expert.seconds,
        fixed=after.seconds if after is not None and is_run else None,
        bare_peak=before.peak_bytes,
        twin_peak=expert.peak_bytes,
        fixed_peak=after.peak_bytes if after is not None and is_run else None,
        memory=program.about_memory,
    )


def table(found: Sequence[Fixed]) -> str:
    """The part of the page about fixes."""
    short = [each for each in found if each.is_short]
    with_diff = [each for each in short if each.has_diff]
    proved = [each for each in with_diff if each.is_proved]
    compared = [each for each in proved if each.share is not None]
    reached = [each for each in compared if (each.share or 0.0) >= _LIKE_EXPERT]
    lines = [
        "## What is fixed by itself",
        "",
        f"Sick programs whose expert changed at most {_SHORT} lines: {len(short)}.",
        "",
        "| what | result |",
        "|---|---|",
        f"| with an automatic diff | {_of(with_diff, short)} |",
        f"| of these, proved | {_of(proved, with_diff)} |",
        f"| of these, at least {_LIKE_EXPERT:.0%} of the expert's gain | {_of(reached, compared)} |",
        "",
        "| program | expert's lines | diff for | verdict | bare | twin | fixed | share of the expert's gain |",
        "|---|---|---|---|---|---|---|---|",
        *map(_row, found),
        "",
    ]
    return "\n".join(lines)


def _of(some: Sequence[Fixed], every: Sequence[Fixed]) -> str:
    return f"{len(some)} of {len(every)} ({100 * len(some) / max(1, len(every)):.0f}%)"


def _row(each: Fixed) -> str:
    after = "" if each.fixed is None else f"{each.fixed:.1f} s"
    share = "" if each.share is None else f"{100 * each.share:.0f}%"
    cells = (
        f"`{each.name}`",
        str(each.twin_lines),
        ", ".join(each.fixes) or f"none: {each.obstacle or 'words only'}".replace("|", "\\|"),
        each.verdict,
        f"{each.bare:.1f} s",
        f"{each.twin:.1f} s",
        after,
        share,
    )
    return "| " + " | ".join(cells) + " |"
