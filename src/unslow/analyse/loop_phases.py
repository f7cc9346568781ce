"""What the time of a loop's steps is called: by recorded phase, and the rest by stack samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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
ENDING = "ending an iterator"
IMPORTING = "importing modules"
OWN_PYTHON = "your own Python"
CALLED = "your calls to TensorFlow"
_NAMED_LEAVES = {ITERATOR_END: ENDING, MODULE_IMPORT: IMPORTING}


def split_phases(loop: Loop, hidden: float = 0.0, called: float = 0.0) -> dict[str, float]:
    """Seconds of a loop by the name of the phase, for tables.

    `hidden` seconds of compiled steps are a wait for data. `called` is the share of TensorFlow in
    what is left of a step beside the phases: it is no Python of the user's.
    """
    taken = {phase.name.lower(): loop.phase(phase) for phase in Phase}
    taken["run"] -= hidden
    taken["input"] += hidden
    if called:
        taken["called"] = called * taken["other"]
        taken["other"] -= taken["called"]
    return taken


def called_share(loop: Loop, samples: Iterable[Sample]) -> float:
    """The share of TensorFlow in what no wrapped call of a loop accounts for."""
    counts: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for sample in samples:
        if sample.process == loop.process and is_between_calls(sample):
            counts[name_of(sample)] += sample.in_steps
            inside[name_of(sample)] += round(sample.within(loop.start, loop.stop))
    known = inside if inside.total() else counts
    return ratio(known[CALLED], known.total())


def is_between_calls(sample: Sample) -> bool:
    is_rest = sample.phase is Phase.OTHER and bool(sample.stack)
    return is_rest and sample.training and sample.in_steps > 0


def name_of(sample: Sample) -> str:
    if sample.phase is not Phase.OTHER:
        return PHASE_NAMES[sample.phase]
    if sample.leaf in _NAMED_LEAVES:
        return _NAMED_LEAVES[sample.leaf]
    return CALLED if sample.leaf in LIBRARIES else OWN_PYTHON
