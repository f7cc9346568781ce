"""What the time of a loop's steps is called: by recorded phase, and the rest by stack samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from unslow.analyse.input.data_times import NONE as NO_DATA
from unslow.analyse.input.data_times import DataTime
from unslow.analyse.stats.robust import ratio
from unslow.facts.process import ITERATOR_END, MODULE_IMPORT
from unslow.model import Loop, Phase, Sample

LIBRARIES = ("tensorflow", "keras", "tf_keras")  # below the user's line, their time is TensorFlow's
PHASE_NAMES = {
    Phase.RUN: "TensorFlow runs",
    Phase.INPUT: "waiting for data",
    Phase.TRACE: "tracing functions",
    Phase.BUILD: "building ops, layers and variables",
    Phase.SYNC: "fetching values",
    Phase.SAVE: "saving",
    Phase.LOG: "logging",
    Phase.HOOKS: "callbacks",
    Phase.GC: "garbage collection",
    Phase.EVAL: "validation and prediction",
}
STARTING = "starting an iterator"
ENDING = "ending an iterator"
IMPORTING = "importing modules"
OWN_PYTHON = "your own Python"
CALLED = "your calls to TensorFlow"
_STARTING_KEY = "starting"
_KEYS = {CALLED: "called", ENDING: "ending", IMPORTING: "importing"}  # beside those of the phases
_NAMED_LEAVES = {ITERATOR_END: ENDING, MODULE_IMPORT: IMPORTING}


def split_phases(
    loop: Loop, data: DataTime = NO_DATA, rest: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Seconds of a loop by the name of the phase, for tables.

    `rest` are shares of what is left of a step beside the phases: what is in none of them is the
    user's own Python.
    """
    taken = {phase.name.lower(): loop.phase(phase) for phase in Phase}
    taken["run"] -= data.hidden
    taken["input"] += data.hidden - data.starting
    taken[_STARTING_KEY] = data.starting
    left = taken["other"]
    for name, key in _KEYS.items():
        share = (rest or {}).get(name, 0.0)
        if share:
            taken[key] = share * left
            taken["other"] -= taken[key]
    return taken


def rest_shares(loop: Loop, samples: Iterable[Sample]) -> dict[str, float]:
    """What no wrapped call of a loop accounts for, as shares by name."""
    counts: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for sample in samples:
        if sample.process == loop.process and is_between_calls(sample):
            counts[name_of(sample)] += sample.in_steps
            inside[name_of(sample)] += round(sample.within(loop.start, loop.stop))
    known = inside if inside.total() else counts
    return {name: ratio(count, known.total()) for name, count in known.items()}


def is_between_calls(sample: Sample) -> bool:
    is_rest = sample.phase is Phase.OTHER and bool(sample.stack)
    return is_rest and sample.training and sample.in_steps > 0


def name_of(sample: Sample) -> str:
    if sample.phase is not Phase.OTHER:
        return PHASE_NAMES[sample.phase]
    if sample.leaf in _NAMED_LEAVES:
        return _NAMED_LEAVES[sample.leaf]
    return CALLED if sample.leaf in LIBRARIES else OWN_PYTHON
