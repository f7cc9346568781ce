"""Calls of a compiled function that prepare it again: what could have been saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.graphs.unusual_calls import (
    Call,
    calls_in,
    known_usual,
    number_of,
    prepared_share,
    profiles,
    seconds_beyond,
    unusual_calls,
)
from unslow.analyse.grouping import grouped
from unslow.analyse.input import data_times
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.places import lines_in, places_of
from unslow.analyse.stats.robust import median_of
from unslow.facts.data import IteratorMade
from unslow.facts.functions import CallProfile, Trace
from unslow.model import Loop, Phase, Run

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

READS = (*data_times.READS, Trace)

# Compilations beyond the first: a last partial batch and a validation batch need one each.
FEWEST_COMPILATIONS = 3
# What a compilation takes at least, where no shape is seen (judgements).
_LONG_TIMES = 10  # a usual step
_LONG_SECONDS = 0.05
# Of the first compilation; a judgement: in two programs others took 0.4 to 0.9 times as long.
_OF_FIRST = 0.2
_MOST_WAITING = 0.5  # of the seconds of long steps, that the step is known to wait for data
_UNEXPLAINED = frozenset(("long", "early"))
_NO_CALL = CallProfile(0.0, 0.0, 0.0, 0.0, 0.0)


def usual_seconds(calls: Sequence[Call]) -> float:
    """What the same calls take without preparing; 0 where there was none to compare with."""
    known = known_usual(calls)
    return median(known) if known else 0.0


def avoidable_seconds(calls: Sequence[Call], otherwise: float = 0.0) -> float | None:
    """Seconds beyond usual calls, or of preparing in profiler windows; None without either.

    `otherwise` is a usual call as it was seen later, where the recorder knew none.
    """
    usual, windows = usual_seconds(calls), profiles(calls)
    if not usual and not windows:
        usual = otherwise
    if usual:
        return seconds_beyond(calls, usual)
    if not windows:
        return None
    share = prepared_share(windows)
    return sum(_preparing(call, share) * call.weight for call in calls)


def _preparing(call: Call, share: float) -> float:
    return call.fact.traced + share * (call.fact.took - call.fact.traced)


def calls_for_shapes(run: Run) -> list[list[Call]]:
    """Calls in the training that XLA compiled for new shapes, by function; first calls left out."""
    calls = [call for call in unusual_calls(run) if call.was("shapes", but_not="first")]
    compiled = [call for call in calls if call.fact.jit and run.in_training(call.fact)]
    by_function = grouped(compiled, lambda call: (call.fact.process, call.fact.function))
    return list(by_function.values())


def usual_in_loop(run: Run, calls: Sequence[Call]) -> float:
    """What TensorFlow runs in a usual step of the loop of some calls; 0 where none is left."""
    loops = [loop for loop in run.loops if any(loop.holds(call.fact) for call in calls)]
    # Calls that were not written lie between those that were, and no row of theirs is usual.
    if not loops or loops[0].count.max() > 1 or number_of(calls) > len(calls):
        return 0.0
    loop = loops[0]
    others = np.ones(len(loop.end), dtype=bool)
    rows = np.searchsorted(loop.end, [call.fact.time for call in calls])
    others[np.minimum(rows, len(others) - 1)] = False
    others[0] = False
    return median_of(loop.phases[others, Phase.RUN])


@dataclass(frozen=True)
class Recompiled:
    """Steps of a loop that XLA compiled again, told by what they took: no shape was seen."""

    steps: int
    took: float  # seconds of such a step, median
    usual: float  # seconds of the others
    seconds: float  # of all such steps, beyond usual ones
    first: float  # seconds of the first compilation; 0 where no window saw it


def recompiled_steps(run: Run, loop: Loop) -> Recompiled | None:
    """Steps that run a function for XLA inside of another one, and take as long as to compile it.

    A step that fetches its batch itself (as in fit) shows no shape. Its graph says whether XLA
    may see several: a dimension other than the batch's is open.
    """
    if not _has_open_shapes(run, loop):
        return None
    compiling, beside = _first_compilation(run, loop)
    took, weights, usual = _untraced(run, loop)
    if compiling:
        usual = min(usual or beside, beside)
    if usual <= 0:
        return None
    least = max(_LONG_TIMES * usual, _LONG_SECONDS, _OF_FIRST * compiling)
    is_long = took > least
    if not is_long.any():
        return None
    seconds = float(((took - usual) * weights)[is_long].sum())
    if _waiting(run, loop) > _MOST_WAITING * seconds:
        return None
    count, typical = int(weights[is_long].sum()), float(np.median(took[is_long]))
    return Recompiled(count, typical, usual, seconds, compiling)


def _has_open_shapes(run: Run, loop: Loop) -> bool:
    """Whether a graph for XLA, inside of a step of the loop, leaves a dimension open."""
    lines = lines_in(places_of(loop))
    inner = [trace for trace in run.facts(Trace, loop.process) if trace.jit and trace.depth > 0]
    mine = [trace for trace in inner if lines & lines_in(trace.stack)]
    return any(map(_is_open, chain.from_iterable(trace.args.values() for trace in mine)))


def _is_open(kind: str) -> bool:
    """Whether a type such as `float32[?,?,3]` has an open dimension beside that of the batch."""
    dimensions = kind.partition("[")[2].rstrip("]").split(",")
    return "?" in dimensions[1:]


def _first_compilation(run: Run, loop: Loop) -> tuple[float, float]:
    """Seconds of the longest compilation in a first call of the loop, and of its run beside it.

    Both are 0 where no window saw it.
    """
    firsts = [call for call in calls_in(run, loop) if call.was("first")]
    longest = max(profiles(firsts), key=lambda profile: profile.compile, default=_NO_CALL)
    return (longest.compile, longest.run + longest.data) if longest.compile else (0.0, 0.0)


def _untraced(run: Run, loop: Loop) -> tuple[Floats, Floats, float]:
    """Seconds that steps without a trace ran, how many each stands for, and a usual one.

    Where rows were merged, the calls that were written tell of them.
    """
    if loop.count.max() > 1:
        calls = [call for call in calls_in(run, loop) if _UNEXPLAINED.issuperset(call.fact.why)]
        took = np.array([call.fact.took for call in calls])
        weights = np.array([float(call.weight) for call in calls])
        return took, weights, min(known_usual(calls), default=0.0)
    running = loop.phases[:, Phase.RUN]
    kept = running[_without_starts(run, loop)]
    return kept, np.ones(len(kept)), median_of(running[1:])


def _without_starts(run: Run, loop: Loop) -> npt.NDArray[np.bool_]:
    """Rows that trace nothing, and that no new iterator makes wait until its buffers are full."""
    kept: npt.NDArray[np.bool_] = loop.phases[:, Phase.TRACE] <= 0
    made = [fact.time for fact in run.facts(IteratorMade, loop.process) if not fact.evaluates]
    rows = np.searchsorted(loop.end, made)
    kept[rows[rows < len(kept)]] = False
    kept[0] = False
    return kept


def _waiting(run: Run, loop: Loop) -> float:
    """Seconds in which compiled steps are known to wait for data, the filling of a cache included.

    That the first pass waits for a cache to fill is no fault of the input, but looks the same here.
    """
    inside = [one for one in pipelines(run) if not (one.in_python or one.evaluates)]
    measured = [one.wait * one.over for one in inside if one.is_seen_in(loop)]
    return max(
        float(np.nansum(measured)), data_times.data_times(run).get(loop, data_times.NONE).hidden
    )
