"""Records the noise of a pull request that changes nothing: trials of one training against itself.

python bench/ci_noise_record.py               one more piece of the training with the fewest trials
python bench/ci_noise_record.py a_orbit_fit   of this one

Each trial is what `unslow compare --repeat` runs: a fresh recorded process with fixed seeds, in a copy of
its folder, stopped after as many steps as about ten seconds have. Trials of one training follow each other,
as those of a pull request do. A piece takes about a hundred seconds and is kept at once, so that any number of
pieces can be recorded whenever the machine has time. Everything that a trial showed goes into .noise/ (not
committed); `python bench/ci_noise.py --collect` makes bench/ci_noise_recorded.json of it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from unslow.proof.prove import steps_for  # noqa: E402
from unslow.proof.trials import Side, Trial, record_side  # noqa: E402
from unslow.proof.turns import TURN, run_in_turns  # noqa: E402

RAW = ROOT / ".noise"
FIELD = "field/programs/"
HEALTHY = "examples/healthy/"
PIECE = 116.0  # seconds; a trial that began within them is finished
TIMEOUT = 120.0

# Chosen by style and length of a step. Four more were on the list and were cut for want of time, before any
# of their pairs was recorded or looked at.
TRAININGS = {
    "a_orbit_fit": (FIELD + "a_orbit_fit", "fit_orbits.py"),  # compiled, 4 ms
    "c_pong_replay": (FIELD + "c_pong_replay", "dqn.py"),  # compiled, 2 ms, with a replay buffer
    "c_bucket_tagger": (FIELD + "c_bucket_tagger", "intents.py"),  # compiled, 9 ms, lengths vary
    "a_hmm_scan": (FIELD + "a_hmm_scan", "hmm.py"),  # compiled, 90 ms, a loop in the graph
    "b_digit_sums": (FIELD + "b_digit_sums", "fit_sums.py"),  # fit, 1 ms
    "c_census_rows": (FIELD + "c_census_rows", "income.py"),  # fit, 14 ms
    "a_box_keras": (FIELD + "a_box_keras", "boxes.py"),  # fit, 240 ms
    "b_leaf_photos": (FIELD + "b_leaf_photos", "train.py"),  # fit, waits for its input pipeline
    "a_maml_sine": (FIELD + "a_maml_sine", "maml.py"),  # eager, 140 ms
    "a_digits_tf1": (FIELD + "a_digits_tf1", "digits.py --epochs 3"),  # session, 30 ms
    "a_queue_patches": (FIELD + "a_queue_patches", "patches.py"),  # session, fed by a queue
    "hidden_pipeline": (HEALTHY, "hidden_pipeline.py"),  # compiled, Python in its input
}


@dataclass(frozen=True)
class Place:
    """Where the trials of one training are kept: a line of JSON for each."""

    name: str

    @property
    def file(self) -> Path:
        return RAW / f"{self.name}.pairs"

    def rows(self) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def add(self, row: Mapping[str, Any]) -> None:
        RAW.mkdir(exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def side_of(name: str) -> Side:
    folder, script = TRAININGS[name]
    return Side(
        [sys.executable, *script.split()], str(ROOT / folder), env={"TF_CPP_MIN_LOG_LEVEL": "3"}
    )


def row_of(pair: tuple[Trial, Trial], piece: float) -> dict[str, Any]:
    """What a pair showed: every step of both, without the first, which pays for tracing."""
    sides = [[round(float(each), 7) for each in trial.seconds[trial.group :]] for trial in pair]
    load = os.getloadavg()[0]
    return {"piece": piece, "at": time.time(), "load": load, "turn": TURN, "sides": sides}


def planned_steps(place: Place, side: Side) -> int:
    """Steps of a trial, by the rule of `compare --repeat` from a run of the whole training."""
    kept = RAW / "steps.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if place.name not in known:
        with tempfile.TemporaryDirectory(prefix="unslow-trial-") as folder:
            recorded = record_side(side, Path(folder), {}, TIMEOUT)
        known[place.name] = steps_for(recorded.run)
        RAW.mkdir(exist_ok=True)
        kept.write_text(json.dumps(known, indent=1))
    return int(known[place.name])


def record_piece(name: str) -> None:
    began = time.time()
    place, side = Place(name), side_of(name)
    steps = planned_steps(place, side)
    longest, count = 0.0, len(place.rows())
    while time.time() - began + longest < PIECE:
        start = time.time()
        pair = run_in_turns((side, side), steps, first=count % 2, timeout=TIMEOUT)
        place.add(row_of(pair, began))
        count += 1
        longest = max(longest, time.time() - start)
    print(f"{name}: {count} pairs of {steps} steps, {longest:.1f} s each", flush=True)


def main() -> None:
    names = sys.argv[1:] or [min(TRAININGS, key=lambda name: len(Place(name).rows()))]
    for name in names:
        record_piece(name)


if __name__ == "__main__":
    main()
