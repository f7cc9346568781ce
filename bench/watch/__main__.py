"""Measures what `unslow watch` promises and writes docs/watch-results.md.

python -m bench.watch keep RUN …    keep the blocks of long recorded runs, from which months are drawn
python -m bench.watch simulate      false alarms in simulated months, delays of simulated slow-downs
python -m bench.watch cost          time and memory of watching
python -m bench.watch real          twenty minutes of real training, sick and healthy, side by side
python -m bench.watch               simulate, cost and real
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.watch import cost, noise, page, real, simulate

STAGES = {"simulate": simulate.measure, "cost": cost.measure, "real": real.measure}


def main(words: list[str]) -> None:
    if words[:1] == ["keep"]:
        noise.keep([noise.long_run(Path(folder)) for folder in words[1:]])
        return
    for stage in words or list(STAGES):
        print(f"==> {stage}", flush=True)
        page.store(stage, STAGES[stage]())
    page.write()


main(sys.argv[1:])
