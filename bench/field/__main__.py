"""Runs the field suite, one program at a time; what was measured is kept, so it can be stopped and resumed.

python -m bench.field [NAME …]           all programs, or those whose name begins so; writes docs/field.md for all
python -m bench.field --fixes [NAME …]   fixes and proves the sick ones; the page has them when all are known
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence

from bench.field import stability
from bench.field.fixes import Fixed, fixed, table
from bench.field.measure import KEPT
from bench.field.page import page
from bench.field.programs import ROOT, Program, all_programs
from bench.field.score import Score, score

SCORES = KEPT / "scores.json"
FIXES = KEPT / "fixes.md"  # the part of the page about fixes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="only programs whose name begins with one of these"
    )
    parser.add_argument("--fixes", action="store_true", help="fix and prove the sick programs")
    parser.add_argument("--budget", default="4m", help="for the proofs of one program")
    options = parser.parse_args()
    chosen = [p for p in all_programs() if p.name.startswith(tuple(options.names) or "")]
    if not chosen:
        print(f"no program begins with {' or '.join(options.names)}", file=sys.stderr)
        return 2
    if options.fixes:
        return _fix([program for program in chosen if program.twin], options.budget)
    scores: list[Score] = []
    for number, program in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {program.name}: ", end="", flush=True)
        try:
            scores.append(score(program))
        except Exception:  # noqa: BLE001 - one program must not stop the suite
            print("failed")
            traceback.print_exc()
            continue
        print(_line(scores[-1]), flush=True)
    KEPT.mkdir(exist_ok=True)
    SCORES.write_text(json.dumps([one.as_row() for one in scores], indent=1), encoding="utf-8")
    right = sum(one.right for one in scores)
    print(f"{right} of {len(scores)} right")
    if not options.names:
        written = page(scores, stability.known())
        if FIXES.exists():
            written += FIXES.read_text(encoding="utf-8")
        (ROOT / "docs" / "field.md").write_text(written, encoding="utf-8")
        print("written: docs/field.md")
    return 0 if len(scores) == len(chosen) else 1


def _fix(chosen: Sequence[Program], budget: str) -> int:
    """Fix and prove; the table of what is known so far is kept for the page."""
    found: list[Fixed] = []
    for number, program in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {program.name}: ", end="", flush=True)
        try:
            found.append(fixed(program, budget))
        except Exception:  # noqa: BLE001 - one program must not stop the suite
            print("failed")
            traceback.print_exc()
            continue
        one = found[-1]
        share = "" if one.share is None else f", {100 * one.share:.0f}% of the expert's gain"
        print(f"{one.text or one.obstacle or 'no diff'}{share}", flush=True)
    FIXES.parent.mkdir(exist_ok=True)
    FIXES.write_text(table(found), encoding="utf-8")
    return 0 if len(found) == len(chosen) else 1


def _line(one: Score) -> str:
    verdict = "right" if one.right else f"WRONG, expected {one.expected or 'nothing'}"
    alarms = f"; false alarms: {', '.join(one.false_alarms)}" if one.false_alarms else ""
    claim = ""
    if one.saved_share is not None:
        claim = f"; claims {one.claimed_share:.0%} of the run, the twin saves {one.saved_share:.0%}"
    return (
        f"{one.said or 'no problem'} — {verdict}{alarms}; unexplained {100 * one.unexplained:.0f}%"
        f"{claim}; own cost {one.own_seconds:.2f} s, measured {one.own_measured:.2f} s of CPU"
    )


sys.exit(main())
