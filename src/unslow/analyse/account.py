"""Where every second of a run went: the stretches of the program, and what each consists of.

One account for all reports. Inside the steps, the recorded phases say where the time went; outside
of them, stack samples do. What a finding explains is its own; what nothing names is the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from unslow.analyse.account_parts import (
    Kind,
    Part,
    by_phase,
    by_samples,
    first_steps,
    outside_parts,
)
from unslow.analyse.graphs.eager_calls import Region
from unslow.analyse.loop_phases import STARTING
from unslow.analyse.stretches import IMPORT, ORDER, TRAINING, gaps
from unslow.model import Finding, Loop, Process, Run, Sample

# Of the run: above it a run is not called healthy (a judgement; see docs/field.md).
UNEXPLAINED = 0.1
_SHORT = 0.05  # seconds: a shorter stretch is no row of its own


@dataclass(frozen=True)
class Stretch:
    """A part of the program's life: import, set-up, training, what comes between and after."""

    name: str
    seconds: float
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Account:
    """All seconds of the process that the run is about."""

    seconds: float
    stretches: tuple[Stretch, ...]
    overlap: float = 0.0  # seconds that findings claim beyond what there is

    def parts(self, kind: Kind) -> list[Part]:
        return [part for stretch in self.stretches for part in stretch.parts if part.kind is kind]

    @property
    def unexplained(self) -> float:
        return sum(part.seconds for part in self.parts(Kind.REST))

    @property
    def uncovered(self) -> list[Part]:
        """Overhead that is a real share of the run, and that no finding explains."""
        named: dict[str, float] = defaultdict(float)
        for part in self.parts(Kind.WASTE):
            named[part.name] += part.seconds
        large = {name for name, taken in named.items() if taken >= UNEXPLAINED * self.seconds}
        return [part for part in self.parts(Kind.WASTE) if part.name in large]

    @property
    def complete(self) -> bool:
        """Whether the run is explained well enough to be called healthy."""
        return self.unexplained <= UNEXPLAINED * self.seconds and not self.uncovered


def account_of(run: Run, findings: Sequence[Finding]) -> Account:
    """The account of the process that took longest; findings claim seconds in order of rank."""
    if not run.processes:
        return Account(run.seconds, ())
    process = max(run.processes, key=lambda each: each.ended - each.started)
    loops = run.loops_of(process.index)
    samples = run.samples_of(process.index)
    faults = [finding for finding in findings if finding.fault and finding.seconds > 0]
    share = _share_of_job(run, process, loops)
    inside = [
        replace(finding, seconds=finding.seconds * share) for finding in _in_stretch(faults, "")
    ]
    stretches = []
    overlap = 0.0
    if loops:
        training, overlap = _steps(run, loops, samples, inside)
        stretches.append(training)
    for name, start, end in gaps(run, process, loops):
        claims = list(_in_stretch(faults, name))
        region = Region(process.index, name, start, end)
        stretches.append(_outside(run, region, samples, claims))
    stretches.sort(key=lambda stretch: ORDER.index(stretch.name))
    return Account(
        seconds=sum(stretch.seconds for stretch in stretches),
        stretches=tuple(stretches),
        overlap=overlap,
    )


def _share_of_job(run: Run, process: Process, loops: Sequence[Loop]) -> float:
    """Of what findings say of the training: workers of a job train at once, and it is the sum."""
    if not process.worker:
        return 1.0
    workers = {each.index for each in run.processes if each.worker}
    whole = sum(loop.total for loop in run.loops if loop.process in workers)
    return sum(loop.total for loop in loops) / whole if whole > 0 else 1.0


def _in_stretch(findings: Iterable[Finding], stretch: str) -> Iterator[Finding]:
    """Findings with the seconds that they take in one stretch."""
    for finding in findings:
        seconds = finding.seconds_in(stretch)
        if seconds > 0:
            yield replace(finding, seconds=seconds)


def _steps(
    run: Run, loops: Sequence[Loop], samples: Sequence[Sample], findings: Sequence[Finding]
) -> tuple[Stretch, float]:
    """The time inside of steps, by phase; findings take theirs first."""
    total = sum(loop.total for loop in loops)
    first = first_steps(run, loops)
    parts = [*by_phase(run, loops, first), *by_samples(run, loops, samples)]
    claimed, overlap = _claimed(findings, total)
    taken = sum(part.seconds for part in claimed)
    # What is found in the first step explains its preparation before anything else.
    causes = {finding.cause for finding in findings if finding.in_first_step}
    started = sum(first.values())
    explained = min(started, sum(part.seconds for part in claimed if part.cause in causes))
    parts.append(Part("preparing the first step", started - explained, Kind.KNOWN))
    left = _without(parts, taken - explained)
    return Stretch(TRAINING, total, (*claimed, *left)), overlap


def _claimed(findings: Sequence[Finding], most: float) -> tuple[list[Part], float]:
    """The seconds of each finding, and what they claim together beyond what there is."""
    parts = []
    left = most
    for finding in findings:
        seconds = min(finding.seconds, left)
        left -= seconds
        if seconds > 0:
            cause = finding.cause
            parts.append(Part(cause, seconds, Kind.FINDING, finding.location, cause))
    return parts, sum(finding.seconds for finding in findings) - (most - left)


_GIVES = (Kind.WASTE, Kind.REST, Kind.COMPUTE, Kind.KNOWN)  # whose seconds findings explain first


def _gives(part: Part) -> int:
    """Its place; what recreates iterators needlessly also explains that they are started."""
    return _GIVES.index(Kind.WASTE if part.name == STARTING else part.kind)


def _without(parts: Sequence[Part], taken: float) -> list[Part]:
    """What is left of the parts once findings have taken theirs: overhead first, compute last."""
    left = []
    for part in sorted(parts, key=_gives):
        seconds = max(0.0, part.seconds - taken)
        taken = max(0.0, taken - part.seconds)
        left.append(replace(part, seconds=seconds))
    return [part for part in left if part.seconds > 0]


def _outside(
    run: Run, region: Region, samples: Sequence[Sample], findings: Sequence[Finding]
) -> Stretch:
    name, seconds = region.stretch, region.stop - region.start
    if name == IMPORT:
        return Stretch(name, seconds, (Part("import", seconds, Kind.KNOWN),))
    parts = outside_parts(run, region, samples)
    if not parts:
        kind = Kind.KNOWN if seconds < _SHORT else Kind.REST
        return Stretch(name, seconds, (Part("not sampled", seconds, kind),))
    claimed, _ = _claimed(findings, seconds)
    taken = sum(part.seconds for part in claimed)
    return Stretch(name, seconds, (*claimed, *_without(parts, taken)))
