"""Runs the chaos suite, part by part; what held is kept, so it can be stopped and resumed.

python -m bench.chaos [PART …] [--only NAME …] [--jobs N] [--again]
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from time import perf_counter

from bench.chaos.kept import ROOT, Attack, Results, elapsed_file, run_all
from bench.chaos.page import PARTS, page

# The parts by their longest attack: the last ones are short, so that no core waits at the end.
_LONGEST_FIRST = ("supply", "hostile", "load", "faults", "own_errors", "transparency")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all without one")
    parser.add_argument("--only", nargs="*", default=[], help="attacks whose name begins so")
    parser.add_argument("--jobs", type=int, default=2, help="attacks at a time")
    parser.add_argument("--again", action="store_true", help="try also what held before")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    # Started in the background of a shell, a process ignores SIGINT, and so would its trainings.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen: dict[str, list[Attack]] = {}
    for part in options.parts or _LONGEST_FIRST:
        attacks = importlib.import_module(f"bench.chaos.{part}").attacks()
        chosen[part] = [one for one in attacks if one.name.startswith(tuple(options.only) or "")]
    is_whole = not options.parts and not options.only and not elapsed_file().parent.exists()
    began = perf_counter()
    run_all(chosen, options.jobs, options.again)
    if is_whole:
        elapsed_file().write_text(f"{perf_counter() - began:.1f}", encoding="utf-8")
    results = {part: Results.load(part) for part in PARTS}
    (ROOT / "docs" / "reliability.md").write_text(page(results), encoding="utf-8")
    broken = sum(len(row.broke) for each in results.values() for row in each.rows.values())
    print(f"written: docs/reliability.md; {broken} broken")
    return 1 if broken else 0


sys.exit(main())
