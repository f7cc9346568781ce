"""Stack samples of a process, added up by place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from unslow.model import Location, Loop, Phase, Sample
from unslow.runfolder.layout import ProcessLog


def samples_of(
    process: int, log: ProcessLog, loops: Sequence[Loop], start: int, names: Callable[[str], str]
) -> Iterable[Sample]:
    stacks = {line["id"]: line for line in log.lines if line["k"] == "stack"}
    mine = [loop for loop in loops if loop.process == process]
    begin = min((loop.start for loop in mine), default=0.0)
    end = max((loop.stop for loop in mine), default=0.0)
    halves: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    inside: Counter[int] = Counter()
    bins: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for line in log.lines:
        if line["k"] != "samples":
            continue
        first, last = (line["since"] - start) / 1e9, (line["t"] - start) / 1e9
        middle = (first + last) / 2
        for number, count in line["counts"]:
            halves[middle > (begin + end) / 2][number] += count
            bins[number].append((first, last, count))
            if begin <= middle <= end:
                inside[number] += count
    for number, line in stacks.items():
        if halves[0][number] + halves[1][number]:
            stack = tuple(
                Location(names(file), at, function) for file, at, function in line["stack"]
            )
            yield Sample(
                stack=stack,
                leaf=str(line["leaf"]),
                process=process,
                training=bool(line.get("trains", True)),
                first_half=halves[0][number],
                second_half=halves[1][number],
                in_steps=inside[number],
                phase=Phase(line.get("phase", Phase.OTHER)),
                bins=tuple(bins[number]),
            )
