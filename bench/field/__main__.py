"""Runs the field suite, one program at a time; what was measured is kept, so it can be stopped and resumed.

python -m bench.field [NAME …]     all programs, or those whose name begins so; writes docs/field.md for all
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback

from bench.field import stability
from bench.field.measure import KEPT
from bench.field.page import page
from bench.field.programs import ROOT, all_programs
from bench.field.score import Score, score

SCORES = KEPT / "scores.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="only programs whose name begins with one of these"
    )
    options = parser.parse_args()
    chosen = [p for p in all_programs() if p.name.startswith(tuple(options.names) or "")]
    if not chosen:
        print(f"no program begins with {' or '.join(options.names)}", file=sys.stderr)
        return 2
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
        (ROOT / "docs" / "field.md").write_text(page(scores, stability.known()), encoding="utf-8")
        print("written: docs/field.md")
    return 0 if len(scores) == len(chosen) else 1


def _line(one: Score) -> str:
    verdict = "right" if one.right else f"WRONG, expected {one.expected or 'nothing'}"
    alarms = f"; false alarms: {', '.join(one.false_alarms)}" if one.false_alarms else ""
    return (
        f"{one.said or 'no problem'} — {verdict}{alarms}; unexplained {100 * one.unexplained:.0f}%"
    )


sys.exit(main())
