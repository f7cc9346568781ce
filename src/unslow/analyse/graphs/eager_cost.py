"""What a step costs by running op by op, from windows that timed every op and stack samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse.host.machine import slowdown
from unslow.analyse.loop_phases import LIBRARIES
from unslow.analyse.places import locations
from unslow.analyse.sampled_time import in_steps
from unslow.analyse.scopes import Scope
from unslow.analyse.stats.robust import ratio
from unslow.facts.eager import EagerOps
from unslow.model import Location, Loop, Phase, Run, Sample

# A compiled function was seen to cost about as much as asking for eight eager ops, and each op in
# it 7 % of asking for one: 0.2 ms and 1.7 µs where an eager op takes 25 µs.
_CALL = 8.0
_NODE = 0.07
# Its first call traces, optimizes and prepares each op: 340 to 490 µs an op were seen for six
# models, where dispatching one took 8 µs at least.
_FIRST_CALL = 50.0
_FEW_SAMPLES = 30
_SIGNS = {**dict.fromkeys(LIBRARIES, 1), "python": 0}  # of a sample by what ran; others count less
_OWN_PHASES = (Phase.RUN, Phase.OTHER, Phase.BUILD)


@dataclass(frozen=True)
class EagerCost:
    """One loop whose steps run op by op; seconds are per step."""

    ops: int
    step: float  # a typical step
    eager: float  # of it, in the code that could be compiled
    kernels: float  # computing, whoever asks
    compiled: float  # what that code is expected to take compiled
    floor: float  # what asking for one op costs
    first_call: float  # what that code is expected to take in its first call, compiled
    steps: int  # steps that would gain: those after the first
    tape: tuple[Location, ...]
    lines: tuple[tuple[tuple[Location, ...], int], ...]  # stacks and ops per step, most first
    top: tuple[tuple[str, int], ...]
    random: str  # an op among them that draws random numbers, if there is one

    def within(self, share: float) -> EagerCost:
        """The same where only a share of the ops can be compiled."""
        return replace(
            self,
            eager=self.eager * share,
            kernels=self.kernels * share,
            compiled=self.compiled * share,
            first_call=self.first_call * share,
        )

    @property
    def gain(self) -> float:
        """How many times as fast a step would be."""
        return self.step / max(self.step - self.eager + self.compiled, 1e-9)

    @property
    def saved(self) -> float:
        """Seconds that compiling would give back in this run, once the first call is paid for."""
        beyond_eager = max(0.0, self.first_call - self.eager)
        return max(0.0, (self.eager - self.compiled) * self.steps - beyond_eager)


def eager_cost(run: Run, loop: Loop) -> EagerCost | None:
    """The cost of a loop's eager ops; None where no window saw any."""
    seen = run.facts_during(loop, EagerOps)
    windows = [window for window in seen if window.ops and not window.outside]
    if not windows or loop.steps < 2:
        return None
    ops = int(np.median([window.ops for window in windows]))
    floor = min(window.floor for window in windows)
    mean = float((loop.seconds[1:] * loop.count[1:]).sum() / max(1, loop.count[1:].sum()))
    eager = _eager_share(run, loop) * mean
    computing = _computing(windows, ops, eager)
    slow = slowdown(run.process_of(loop), loop.start, loop.stop)
    last = windows[-1]
    return EagerCost(
        ops=ops,
        step=mean,
        eager=eager,
        kernels=computing,
        compiled=computing + compiled_dispatch(floor, ops),
        first_call=computing + _FIRST_CALL * floor * ops * slow,
        floor=floor,
        steps=loop.steps - 1,
        tape=next((locations(window.tape) for window in windows if window.tape), ()),
        lines=tuple((locations(stack), count) for stack, count, _ in last.lines),
        top=last.top,
        random=next((window.random for window in windows if window.random), ""),
    )


def _computing(windows: Sequence[EagerOps], ops: int, eager: float) -> float:
    """Seconds per step in kernels and compiled functions.

    The first step of an epoch also starts its data; the window of the usual size that computed
    least did not. But other programs may have slowed the steps down since: what computed for most
    of a window computes for as much of the eager time of a step.
    """
    usual = [window for window in windows if 0.8 * ops <= window.ops <= 1.25 * ops] or windows
    functions = float(np.median([window.functions_took for window in windows]))
    share = float(np.median([window.kernels / max(window.wall, 1e-9) for window in usual]))
    least = min(window.kernels for window in usual)
    return max(least, min(share, 1.0) * eager) + functions


def compiled_dispatch(floor: float, ops: int) -> float:
    """What a compiled function needs for the same ops beside computing."""
    return floor * (_CALL + _NODE * ops)


def _eager_share(run: Run, loop: Loop) -> float:
    """The share of a step in TensorFlow's own code, without waits, saves and evaluations."""
    own = ratio(sum(map(loop.phase, _OWN_PHASES)), loop.total)
    scope = Scope(run, loop.process)
    inside = [sample for sample in scope.samples if _counts(sample)]
    whole = in_steps(inside)
    if whole < _FEW_SAMPLES:
        return own
    lines = _library_lines(inside)
    library = [sample for sample in inside if _is_run(sample, lines) and not scope.fetches(sample)]
    return own * in_steps(library) / whole


def _is_run(sample: Sample, library_lines: Collection[tuple[Location, ...]]) -> bool:
    is_library = sample.leaf != "python" and sample.stack[:1] in library_lines
    return sample.phase is Phase.RUN or is_library


def _counts(sample: Sample) -> bool:
    return sample.training and sample.phase in _OWN_PHASES


def _library_lines(samples: Iterable[Sample]) -> set[tuple[Location, ...]]:
    """The user's lines below which TensorFlow mostly runs; what else runs there is run by it."""
    beyond_others = Counter[tuple[Location, ...]]()
    for sample in samples:
        sign = _SIGNS.get(sample.leaf, -1)
        beyond_others[sample.stack[:1]] += sign * sample.in_steps
    return {line for line, count in beyond_others.items() if count > 0}
