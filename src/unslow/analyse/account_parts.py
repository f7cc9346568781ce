"""What the seconds of a stretch consist of: the steps by phase, all else by stack samples."""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from unslow.analyse.graphs.eager_calls import Dispatching, Region, dispatching, region_of
from unslow.analyse.graphs.first_step import first_step
from unslow.analyse.grouping import grouped
from unslow.analyse.input.data_times import NONE, data_times
from unslow.analyse.loop_phases import (
    CALLED,
    ENDING,
    IMPORTING,
    OWN_PYTHON,
    PHASE_NAMES,
    STARTING,
    is_between_calls,
    name_of,
    rest_shares,
)
from unslow.analyse.sampled_time import in_steps
from unslow.analyse.scopes import Scope
from unslow.model import Location, Loop, Phase, Run, Sample


class Kind(enum.Enum):
    """What a part of the account is."""

    COMPUTE = "compute"  # TensorFlow does the program's work
    FINDING = "finding"  # what a finding explains
    KNOWN = "known"  # named, and asked for by the program: validation, data preparation, imports
    WASTE = "overhead"  # a phase that does no work of the model's, and no finding explains
    REST = "unexplained"


# What a phase is where no finding explains it; the others are overhead.
_KINDS = {Phase.RUN: Kind.COMPUTE, Phase.EVAL: Kind.KNOWN}
_FEW_STARTS = 3  # steps after the first: what so few of them prepare is a search over models
_OF_LARGEST = 0.1  # of the longest preparation: a step that prepares less does not start anew
_PREPARATION = "data preparation"
_BESIDE_PYTHON = (_PREPARATION, ENDING, IMPORTING)  # what is no work of the loop's own lines
_FIRST_TIMED = 5  # steps: ops are timed from this one on; fewer show no habit
_OP_BY_OP = "calling ops one by one"
_STARTING = frozenset((Phase.TRACE, Phase.BUILD, Phase.HOOKS))  # of a first step: paid once


@dataclass(frozen=True)
class Part:
    """Some seconds of a stretch under one name."""

    name: str
    seconds: float
    kind: Kind
    location: Location | None = None  # the user's line that most of it was spent at
    cause: str = ""  # of a finding


def by_phase(run: Run, loops: Sequence[Loop], first: Mapping[Phase, float]) -> list[Part]:
    """The recorded phases, without what first steps paid for once."""
    seconds = {phase: sum(loop.phase(phase) for loop in loops) - first[phase] for phase in Phase}
    times = data_times(run)
    of_data = [times.get(loop, NONE) for loop in loops]
    waited, starting = sum(each.hidden for each in of_data), sum(each.starting for each in of_data)
    seconds[Phase.RUN] -= waited
    seconds[Phase.INPUT] += waited - starting
    kinds = dict(_KINDS)
    if not any(loop.trains for loop in loops):
        kinds[Phase.INPUT] = Kind.KNOWN  # the pipeline is what the program computes
    parts = [
        Part(name, seconds[phase], kinds.get(phase, Kind.WASTE))
        for phase, name in PHASE_NAMES.items()
    ]
    most = max(of_data, key=lambda each: each.starting, default=NONE)
    parts.append(Part(STARTING, starting, Kind.KNOWN, most.made_at))
    return [part for part in parts if part.seconds]


def first_steps(run: Run, loops: Sequence[Loop]) -> dict[Phase, float]:
    """What first steps paid for once: tracing, building, compiling, starting callbacks."""
    paid = dict.fromkeys(Phase, 0.0)
    for loop in loops:
        paid[Phase.RUN] += _prepared_in_run(run, loop)
        for row in _starts(loop):
            for phase in _STARTING:
                paid[phase] += float(loop.phases[row][phase] * loop.count[row])
    return paid


def _prepared_in_run(run: Run, loop: Loop) -> float:
    """Seconds of the first run that loaded and compiled its graphs, where a window saw it."""
    first = first_step(run, loop)
    if first is None or not first.measured:
        return 0.0
    prepared = first.parts["graph optimisation and loading"] + first.parts["XLA compile"]
    return min(prepared, float(loop.phases[0][Phase.RUN]))


def _starts(loop: Loop) -> list[int]:
    """The first step, and those of the models that follow it in one loop, if they are few."""
    if not len(loop.phases):
        return []
    prepared = loop.phases[:, Phase.TRACE] + loop.phases[:, Phase.BUILD]
    is_large = prepared[1:] > _OF_LARGEST * prepared.max()
    again = [int(row) + 1 for row in is_large.nonzero()[0]]
    return [0, *again] if len(again) <= _FEW_STARTS else [0]


def by_samples(run: Run, loops: Sequence[Loop], samples: Sequence[Sample]) -> list[Part]:
    """The rest of the steps by stack samples: the user's own Python, and TensorFlow called by it.

    Python that makes what a loop iterates over, once per epoch, is the data preparation.
    """
    own = called = 0.0
    for loop in loops:
        share = rest_shares(loop, samples).get(CALLED, 0.0)
        called += share * loop.phase(Phase.OTHER)
        own += (1 - share) * loop.phase(Phase.OTHER)
    scope = Scope(run, loops[0].process)
    named = _by_name(samples, scope)
    beside = {name: in_steps(named[name]) for name in (OWN_PYTHON, *_BESIDE_PYTHON)}
    each_sample = own / max(1, sum(beside.values()))
    known = [
        Part(name, each_sample * beside[name], Kind.KNOWN, _hottest(named[name]))
        for name in _BESIDE_PYTHON
    ]
    rest = own - sum(part.seconds for part in known)
    python = Part(OWN_PYTHON, rest, Kind.REST, _hottest(named[OWN_PYTHON]))
    calls = Part(CALLED, called, Kind.COMPUTE, _hottest(named[CALLED]))
    timed = [loop for loop in loops if loop.steps >= _FIRST_TIMED]
    dispatched = [dispatching(run, region_of(loop), scope) for loop in timed]
    parts = [*known, python, *_called(calls, dispatched)]
    return [part for part in parts if part.seconds]


def _called(part: Part, dispatched: Sequence[Dispatching]) -> list[Part]:
    """Calls of TensorFlow, and of them what is spent on calling ops one by one."""
    seconds = min(part.seconds, sum(each.seconds for each in dispatched))
    if not seconds:
        return [part]
    most = max(dispatched, key=lambda each: each.seconds)
    rest = replace(part, seconds=part.seconds - seconds)
    return [rest, Part(_OP_BY_OP, seconds, Kind.WASTE, most.location)]


def _by_name(samples: Iterable[Sample], scope: Scope) -> dict[str, list[Sample]]:
    between = filter(is_between_calls, samples)
    return defaultdict(list, grouped(between, lambda sample: _name_in(sample, scope)))


def _name_in(sample: Sample, scope: Scope) -> str:
    name = name_of(sample)
    return _PREPARATION if name == OWN_PYTHON and scope.prepares(sample) else name


def _hottest(samples: Iterable[Sample]) -> Location | None:
    counts: Counter[Location] = Counter()
    for sample in samples:
        counts[sample.stack[0]] += sample.in_steps
    return _most(counts)


def _most(counts: Mapping[Location, float]) -> Location | None:
    return max(counts, key=lambda place: counts[place], default=None)


def outside_parts(run: Run, region: Region, samples: Sequence[Sample]) -> list[Part]:
    """A stretch outside of the steps, by stack samples; nothing where there were none.

    What the program does there once is known.
    """
    lines: dict[str, dict[Location, float]] = defaultdict(lambda: defaultdict(float))
    for sample in samples:
        count = sample.within(region.start, region.stop)
        if count and sample.stack:
            lines[name_of(sample)][sample.stack[0]] += count
    whole = sum(sum(counter.values()) for counter in lines.values())
    parts = []
    for label, counter in lines.items():
        taken = (region.stop - region.start) * sum(counter.values()) / whole
        part = Part(label, taken, Kind.KNOWN, _most(counter))
        if label == CALLED:
            parts += _called(part, [dispatching(run, region, Scope(run, region.process))])
        else:
            parts.append(part)
    return parts
