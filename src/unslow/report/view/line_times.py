"""Seconds per line of the user's code, and when they were spent, from the stack samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unslow.analyse.stats.robust import ratio
from unslow.model import Location, Process, Run, Sample

Line = tuple[str, int]  # file and line
Bin = tuple[int, float, float]  # process, start, end: what one bundle of samples covers


@dataclass
class LineTime:
    """Seconds in which a line was on the training thread's stack, and was the innermost."""

    inclusive: float = 0.0
    innermost: float = 0.0
    spans: list[tuple[float, float, float]] = field(default_factory=list)  # start, end, seconds


def line_times(run: Run) -> dict[Line, LineTime]:
    """A bundle of samples covers a known time, which is shared by the lines seen in it.

    The rate of sampling changes during a run, so that samples cannot simply be counted.
    """
    counts = _bundle_sizes(run)
    begun = {process.index: _first_reading(process) for process in run.processes}
    found: dict[Line, LineTime] = defaultdict(LineTime)
    for sample in run.samples:
        if not sample.training:
            continue
        lines = {(place.file, place.line) for place in sample.stack}
        innermost = [(place.file, place.line) for place in sample.stack[:1]]
        for start, end, seconds in _covered(sample, counts, begun):
            for line in lines:
                found[line].inclusive += seconds
                found[line].spans.append((start, end, seconds))
            for line in innermost:
                found[line].innermost += seconds
    return dict(found)


def _bundle_sizes(run: Run) -> Counter[Bin]:
    """Samples of the training thread in each bundle."""
    counts: Counter[Bin] = Counter()
    for sample in run.samples:
        if sample.training:
            for start, end, count in sample.bins:
                counts[sample.process, start, end] += count
    return counts


def _first_reading(process: Process) -> float:
    """When the watcher began; its first bundle would reach back to the program's start."""
    return float(process.ticks.time[0]) if len(process.ticks.time) else 0.0


def _covered(
    sample: Sample, counts: Counter[Bin], begun: Mapping[int, float]
) -> Iterator[tuple[float, float, float]]:
    for start, end, count in sample.bins:
        first = min(end, max(start, begun.get(sample.process, 0.0)))
        yield first, end, (end - first) * ratio(count, counts[sample.process, start, end])


def at(times: Mapping[Line, LineTime], place: Location | None) -> LineTime:
    return times.get((place.file, place.line), LineTime()) if place else LineTime()
