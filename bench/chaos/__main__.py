"""Runs the chaos suite, part by part; what held is kept, so it can be stopped and resumed.

python -m bench.chaos [PART …] [--only NAME …] [--jobs N] [--again]
"""

from __future__ import annotations

import argparse
import importlib
import sys

from bench.chaos.kept import ROOT, Results, run_all
from bench.chaos.page import PARTS, page


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
    for part in options.parts or PARTS:
        attacks = importlib.import_module(f"bench.chaos.{part}").attacks()
        chosen = [one for one in attacks if one.name.startswith(tuple(options.only) or "")]
        run_all(part, chosen, options.jobs, options.again)
    results = {part: Results.load(part) for part in PARTS}
    (ROOT / "docs" / "reliability.md").write_text(page(results), encoding="utf-8")
    broken = sum(len(row.broke) for each in results.values() for row in each.rows.values())
    print(f"written: docs/reliability.md; {broken} broken")
    return 1 if broken else 0


sys.exit(main())
