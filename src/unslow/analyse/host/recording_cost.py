"""What a profiler, tracer or debugger that is left on adds to the steps of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.host import step_profile
from unslow.analyse.host.machine import during
from unslow.analyse.host.step_profile import windows
from unslow.analyse.places import shown
from unslow.analyse.run.tallies import line_totals
from unslow.analyse.stats.robust import spread
from unslow.facts.profiler import FullTrace, ProfilerSwitch, Timeline
from unslow.model import Location, Loop, Run

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

READS = (ProfilerSwitch, Timeline, FullTrace, *step_profile.READS)
TENSORFLOW_PROFILER = "tf.profiler"
FULL_TRACE = "FULL_TRACE"  # of a session's run
NUMERIC_CHECKS = "tf.debugging.enable_check_numerics"
DEBUG_DUMPS = "tf.debugging.experimental.enable_dump_debug_info"

_FEWEST_COMPARED = 10  # steps with and without it that its cost can be measured from (judgement)
_CERTAIN = 4.0  # standard errors, beyond which a difference is not chance
_LEAST_ADDED = 0.03  # of a step; a judgement: less is not worth reporting
_FEWEST_TRACED = 4  # runs of a session (judgement)
_USUAL_BESIDE = 5e-4  # seconds: a run takes a part of this around its graph without any trace
_LEAST_BESIDE = 0.1  # of a step
_FEWEST_READINGS = 8  # of the memory
_LEAST_GAINED = 32 << 20  # bytes; a judgement: less may be anything


@dataclass(frozen=True)
class Recording:
    """One tool that recorded steps of a loop."""

    tool: str
    on: int  # steps with it
    off: int
    each: float | None  # seconds that it adds to a step; None where that is unknown
    writing: float  # seconds that writing its results took, in the loop or after it
    place: Location | None


def recording(run: Run, loop: Loop, tool: str) -> Recording:
    switches = [one for one in run.facts(ProfilerSwitch, loop.process) if one.what == tool]
    on = np.zeros(len(loop.end), dtype=bool)
    for switch in switches:
        on[loop.end > switch.time] = switch.on  # a step counts by when its update came
    added = _added(loop.seconds[1:], on[1:])
    starts = [one.stack for one in switches if one.on and one.stack]
    return Recording(
        tool,
        on=int(loop.count[on].sum()),
        off=int(loop.count[~on].sum()),
        each=_measured_inside(run, loop, tool) if added is None else added,
        writing=_writing(run, loop, tool, switches),
        place=shown(run, starts[0]) if starts else None,
    )


def _added(seconds: Floats, on: npt.NDArray[np.bool_]) -> float | None:
    """What it adds to a step; 0 within the noise, None without steps to compare with."""
    with_it, without = seconds[on], seconds[~on]
    if min(len(with_it), len(without)) < _FEWEST_COMPARED:
        return None
    usual = float(np.median(without))
    more = float(np.median(with_it)) - usual
    errors = [spread(values) / math.sqrt(len(values)) for values in (with_it, without)]
    return more if more > max(_CERTAIN * math.hypot(*errors), _LEAST_ADDED * usual) else 0.0


def _measured_inside(run: Run, loop: Loop, tool: str) -> float | None:
    """What recording adds to a step, where no step is without it; None where that is unknown."""
    if tool == FULL_TRACE:
        return _beside_graph(run, loop)
    if tool in (NUMERIC_CHECKS, DEBUG_DUMPS):
        return _debugger_kernels(run, loop)
    return None


def _beside_graph(run: Run, loop: Loop) -> float | None:
    """What a fully traced run takes beside its graph; None where it is little."""
    traced = [one for one in run.facts_during(loop, FullTrace) if one.inside > 0]
    if len(traced) < _FEWEST_TRACED:
        return None
    typical = median(one.took - one.inside for one in traced)
    return typical if typical > max(_USUAL_BESIDE, _LEAST_BESIDE * loop.typical()) else None


def _debugger_kernels(run: Run, loop: Loop) -> float | None:
    """What a debugger's own kernels take of a step; None where it is little."""
    for window in windows(run, loop)[-1:]:
        if window.checks > _LEAST_ADDED * window.wall:
            return window.checks
    return None


def _writing(run: Run, loop: Loop, tool: str, switches: Sequence[ProfilerSwitch]) -> float:
    """Seconds in which what was recorded is written."""
    stops = [one for one in switches if not one.on and one.time >= loop.start]
    timelines = line_totals(run, loop, Timeline) if tool == FULL_TRACE else []
    return sum(one.took for one in stops) + sum(total.seconds for total in timelines)


def memory_recorded(run: Run, loop: Loop) -> float:
    """Bytes per step that TensorFlow's profiler keeps, where memory clearly grows to the end."""
    switches = run.facts(ProfilerSwitch)
    starts = [one.time for one in switches if one.on and one.what == TENSORFLOW_PROFILER]
    times, rss = during(run, loop, "rss")
    rss = rss[times >= starts[0]]
    if len(rss) < _FEWEST_READINGS:
        return 0.0
    third = len(rss) // 3
    late = float(np.median(rss[-third:]) - np.median(rss[third:-third]))
    gained = float(rss[-1] - rss[third])
    steps = loop.steps + 1 - loop.step_at(max(starts[0], loop.start))
    return gained / (steps * 2 / 3) if gained > _LEAST_GAINED and late > gained / 4 else 0.0
