"""Stack samples of a process, added up by place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from unslow.analyse.places import located
from unslow.analyse.run.recorded import Recorded
from unslow.facts.process import Samples, StackSeen
from unslow.model import Loop, Phase, Sample


def samples_of(process: Recorded, loops: Sequence[Loop]) -> Iterator[Sample]:
    mine = [loop for loop in loops if loop.process == process.index]
    begin = min((loop.start for loop in mine), default=0.0)
    end = max((loop.stop for loop in mine), default=0.0)
    first_half: Counter[int] = Counter()
    second_half: Counter[int] = Counter()
    inside: Counter[int] = Counter()
    bins: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for taken in process.of(Samples):
        middle = (taken.since + taken.time) / 2
        half = second_half if middle > (begin + end) / 2 else first_half
        for number, count in taken.counts:
            half[number] += count
            bins[number].append((taken.since, taken.time, count))
            if begin <= middle <= end:
                inside[number] += count
    stacks = {seen.id: seen for seen in process.of(StackSeen)}  # one that was written twice is one
    for seen in stacks.values():
        if first_half[seen.id] + second_half[seen.id]:
            yield Sample(
                stack=located(seen.stack),
                leaf=_leaf(seen),
                process=process.index,
                training=seen.trains,
                first_half=first_half[seen.id],
                second_half=second_half[seen.id],
                in_steps=inside[seen.id],
                phase=_phase(seen.phase),
                bins=tuple(bins[seen.id]),
            )


def _leaf(seen: StackSeen) -> str:
    """What ran below the user's line; below a wrapper of ours it is what the wrapper is around."""
    if seen.leaf != "unslow":
        return seen.leaf
    return "python" if _phase(seen.phase) is Phase.GC else "tensorflow"


def _phase(number: int) -> Phase:
    return Phase(number) if 0 <= number < len(Phase) else Phase.OTHER
