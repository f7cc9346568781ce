"""`python -m bench.claims [--only EXPERIMENT] [--rounds N]`: measure, keep the numbers, write docs/claims.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before the server of processes imports TensorFlow

from bench.claims import kept, page
from bench.claims.catalogue import EXPERIMENTS, claims_of
from bench.claims.experiment import Experiment, Result
from bench.claims.measure import rounds
from bench.claims.verdict import Verdict, judge

_MORE = 2  # rounds that the second helping has beyond the first
_ENOUGH = 720.0  # seconds; the whole is to end within a quarter of an hour


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[one.id for one in EXPERIMENTS], metavar="EXPERIMENT")
    parser.add_argument("--rounds", type=int, help="rounds per experiment, in place of its own number")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page from the kept numbers")
    asked = parser.parse_args()
    chosen = [one for one in EXPERIMENTS if asked.only is None or one.id in asked.only]
    try:
        if not asked.page:
            measure(chosen, asked.rounds)
    except KeyboardInterrupt:
        print("\nstopped: what was measured is kept", flush=True)
    page.write(kept.read())


def measure(chosen: Sequence[Experiment], count: int | None) -> None:
    """All experiments once; then, in what is left of the time, a larger helping where noise left a claim open.

    Never a third helping, or chance would be asked until it agrees.
    """
    began = time.monotonic()
    run = datetime.now(timezone.utc).isoformat(timespec="seconds")
    results = {experiment.id: Result(run) for experiment in chosen}
    for helping in (1, 2):
        left = [one for one in chosen if helping == 1 or (one.pairs > 1 and not settled(one, results[one.id]))]
        for place, experiment in enumerate(left, 1):
            gone = time.monotonic() - began
            if helping == 2 and (count is not None or gone > _ENOUGH):
                return
            head = f"[{'again ' * (helping == 2)}{place:>2}/{len(left)} {gone:4.0f} s] {experiment.id}"
            result = results[experiment.id]
            # On a machine so busy that the time is up, a number without its interval is still a number.
            turns = count or (experiment.pairs + _MORE * (helping == 2) if gone < _ENOUGH else 1)
            for what in rounds(experiment, result, turns):
                show(f"{head}: {what}")
            kept.keep(experiment.id, result)
            show(f"{head}: {said(experiment, result)}", last=True)


def settled(experiment: Experiment, result: Result) -> bool:
    return all(judge(claim, result)[0] is not Verdict.OPEN for _, claim in claims_of(experiment.id))


def said(experiment: Experiment, result: Result) -> str:
    verdicts = [f"{number} {judge(claim, result)[0].value}" for number, claim in claims_of(experiment.id)]
    raised = f"; {len(result.raised)} sides raised" if result.raised else ""
    return ", ".join(verdicts) + raised


def show(text: str, last: bool = False) -> None:
    """One line that is written over on a terminal; elsewhere only what is final."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text[:150]}", end="\n" if last else "", flush=True)
    elif last:
        print(text, flush=True)


if __name__ == "__main__":
    main()
