"""`python -m bench.claims [--only EXPERIMENT] [--rounds N]`: measure, keep the numbers, write docs/claims.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone

os.environ.setdefault(
    "TF_CPP_MIN_LOG_LEVEL", "3"
)  # before the server of processes imports TensorFlow

from bench.claims import kept, page
from bench.claims.catalogue import EXPERIMENTS, claims_of
from bench.claims.experiment import Experiment, Result
from bench.claims.measure import rounds
from bench.claims.verdict import judge, open_sides

LOOKS = (
    3,
    6,
    12,
    24,
)  # rounds after which a claim is judged: at each of these four, and never in between
_ENOUGH = 1380.0  # seconds; the whole is to end within 25 minutes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=[one.id for one in EXPERIMENTS], metavar="EXPERIMENT"
    )
    parser.add_argument(
        "--rounds", type=int, help="rounds per experiment, in place of its own number"
    )
    parser.add_argument(
        "--page", action="store_true", help="measure nothing: write the page from the kept numbers"
    )
    asked = parser.parse_args()
    chosen = [one for one in EXPERIMENTS if asked.only is None or one.id in asked.only]
    try:
        if not asked.page:
            measure(chosen, asked.rounds)
    except KeyboardInterrupt:
        print("\nstopped: what was measured is kept", flush=True)
    page.write(kept.read())


def measure(chosen: Sequence[Experiment], count: int | None) -> None:
    """All experiments; then, in what is left of the time, more rounds of the sides that leave a claim open.

    Twice as many each time, cheap ones first. An interval of 99 % at each of four looks errs in at most 4 of 100, so
    that chance is not asked until it agrees.
    """
    began = time.monotonic()
    run = datetime.now(timezone.utc).isoformat(timespec="seconds")
    results = {experiment.id: Result(run) for experiment in chosen}
    cost: dict[str, float] = {}
    for look in LOOKS if count is None else (count,):
        left = sorted(chosen, key=lambda one: cost.get(one.id, 0.0))
        if look > LOOKS[0] and count is None:
            left = [one for one in left if one.pairs > 1 and unsettled(one, results[one.id])]
        for place, experiment in enumerate(left, 1):
            started, result = time.monotonic(), results[experiment.id]
            gone = started - began
            if result.samples and gone > _ENOUGH:
                return
            head = f"[{place:>2}/{len(left)} to round {look}, {gone:4.0f} s] {experiment.id}"
            # On a machine so busy that the time is up, a number without its interval is still a number.
            wanted = (
                count or (min(look, experiment.pairs) if look == LOOKS[0] else look)
                if gone < _ENOUGH
                else 1
            )
            for what in rounds(
                experiment, result, wanted, unsettled(experiment, result) if result.samples else ()
            ):
                show(f"{head}: {what}")
            kept.keep(experiment.id, result)
            cost.setdefault(experiment.id, time.monotonic() - started)
            show(f"{head}: {said(experiment, result)}", last=True)


def unsettled(experiment: Experiment, result: Result) -> set[str]:
    """The sides of which more rounds could settle a claim."""
    return {side for _, claim in claims_of(experiment.id) for side in open_sides(claim, result)}


def said(experiment: Experiment, result: Result) -> str:
    verdicts = [
        f"{number} {judge(claim, result)[0].value}" for number, claim in claims_of(experiment.id)
    ]
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
