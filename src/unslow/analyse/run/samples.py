"""Stack samples of a process, added up by place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from unslow.analyse.places import locations as locations
from unslow.analyse.run.recorded import Recorded
from unslow.facts.process import Samples, StackSeen
from unslow.model import Loop, Phase, Sample

Bin = tuple[float, float, int]  # start, end, samples


def samples_of(process: Recorded, loops: Sequence[Loop]) -> Iterator[Sample]:
    mine = [loop for loop in loops if loop.process == process.index]
    begin = min((loop.start for loop in mine), default=0.0)
    end = max((loop.stop for loop in mine), default=0.0)
    bins: dict[int, list[Bin]] = defaultdict(list)
    for taken in process.of(Samples):
        for number, count in taken.counts:
            bins[number].append((taken.since, taken.time, count))
    stacks = {seen.id: seen for seen in process.of(StackSeen)}  # one that was written twice is one
    found = (_sample(process, seen, bins[seen.id], (begin, end)) for seen in stacks.values())
    return (sample for sample in found if sample.count)


def _sample(
    process: Recorded, seen: StackSeen, bins: Sequence[Bin], training: tuple[float, float]
) -> Sample:
    begin, end = training
    moments = [((since + until) / 2, count) for since, until, count in bins]
    late = sum(count for moment, count in moments if moment > (begin + end) / 2)
    return Sample(
        stack=locations(seen.stack),
        leaf=_leaf(seen),
        process=process.index,
        training=seen.trains,
        first_half=sum(count for _, count in moments) - late,
        second_half=late,
        in_steps=sum(count for moment, count in moments if begin <= moment <= end),
        phase=_phase(seen.phase),
        bins=tuple(bins),
    )


def _leaf(seen: StackSeen) -> str:
    """What ran below the user's line; below a wrapper of ours it is what the wrapper is around."""
    if seen.leaf != "unslow":
        return seen.leaf
    return "python" if _phase(seen.phase) is Phase.GC else "tensorflow"


def _phase(number: int) -> Phase:
    return Phase(number) if 0 <= number < len(Phase) else Phase.OTHER
