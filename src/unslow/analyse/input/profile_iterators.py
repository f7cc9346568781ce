"""What a profile shows of tf.data: how long steps wait for each iterator, and its stages by their place below it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unslow.analyse.host.xplane import Span, Thread, covered

_STAGE = (
    "Iterator::"  # "Iterator::Root::Prefetch::Zip[1]::Map": one element asked of the last one named
)
_GET = "::DoCompute"  # "IteratorGetNextOp::DoCompute": a step asks for a batch
_CALL = (
    "InstantiatedCapturedFunction::RunAsync"  # a stage with threads of its own calls its function
)
_PROCESS = "ExecutorState::Process"
_SEVERAL = (
    "Zip",
    "Concatenate",
)  # their numbers are those of their inputs, and of a repetition that of the pass


@dataclass
class _Stage:
    """What the iterators in one place did; seconds over the whole window."""

    count: int = 0  # elements handed out
    total: float = 0.0
    own: float = 0.0  # without the stages that it asked in the same thread
    took: float = (
        0.0  # calls of its function from start to end, where it makes them from threads of its own
    )
    work: float = 0.0  # running them, over all threads
    parallelism: int = 0
    tuned: bool = False
    buffered: int = 0
    buffered_bytes: int = 0


def gets(threads: Iterable[Thread]) -> list[Span]:
    """The times in which a graph waited for the next batch."""
    return [span for thread in threads for span in thread.spans if _is_get(span)]


def pipes(threads: Sequence[Thread], busy: Sequence[Span]) -> list[dict[str, Any]]:
    """One for each iterator that a graph asked: a wait counts while none of the step's own kernels (`busy`) ran."""
    profile = _Profile()
    for thread in threads:
        profile.walk(thread)
    computing = covered(busy)
    return [
        {
            "gets": len(asked),
            "wait": covered([*asked, *busy]) - computing,
            "bytes": max(span.facts.get("element_size", 0) for span in asked),
            "cores": profile.roots[root].get("cpu_budget", 0),
            "memory": profile.roots[root].get("ram_budget_megabytes", 0) * 1e6,
            "stages": {path: asdict(stage) for path, stage in profile.stages_of(root).items()},
        }
        for root, asked in profile.asked.items()
        if asked
    ]


class _Profile:
    """Spans of all threads, put together by the numbers of the iterators and of the calls of functions."""

    def __init__(self) -> None:
        self.asked: dict[int, list[Span]] = defaultdict(
            list
        )  # by the number of the outermost iterator
        self.roots: dict[int, dict[str, int]] = {}
        self._parents: dict[int, int] = {}
        self._stages: dict[tuple[int, str], _Stage] = defaultdict(_Stage)  # by iterator and place
        self._calls: dict[
            int, tuple[int, str, float]
        ] = {}  # call → iterator and place of its stage, and its start
        self._ends: dict[int, float] = {}
        self._work: dict[int, float] = defaultdict(float)

    def walk(self, thread: Thread) -> None:
        outermost: Span | None = None  # the last one that no other stage asked in this thread
        for span, around in _nested(thread):
            if span.name.startswith(_STAGE):
                asker = _innermost(around, _STAGE)
                self._add(span, asker, around)
                outermost = span if asker is None else outermost
            elif span.name == _CALL:
                if outermost is not None and _innermost(around, _STAGE) is None:
                    # It has just asked for the element that it hands to its function.
                    caller, place = outermost.facts.get("parent_id", 0), above(_place(outermost))
                    self._calls[span.facts.get("id", 0)] = (caller, place, span.start)
            elif span.name == _PROCESS:
                call = span.facts.get("id", 0)
                self._ends[call] = max(self._ends.get(call, 0.0), span.end)
                if _innermost(around, _PROCESS) is None:
                    self._work[call] += span.length

    def _add(self, span: Span, asker: Span | None, around: Sequence[Span]) -> None:
        facts, place = span.facts, _place(span)
        number = facts.get("id", 0)
        if "parent_id" in facts:
            self._parents[number] = facts["parent_id"]
        else:
            self.roots[number] = dict(facts)
            self.asked[number] += [one for one in around if _is_get(one)]
        stage = self._stages[number, place]
        stage.count += 1
        stage.total += span.length
        stage.own += span.length
        stage.parallelism = max(stage.parallelism, facts.get("parallelism", 0))
        stage.tuned = stage.tuned or bool(facts.get("autotune"))
        stage.buffered = max(stage.buffered, facts.get("buffered_elements", 0))
        stage.buffered_bytes = max(
            stage.buffered_bytes, facts.get("buffered_bytes_MB", 0) * 1_000_000
        )
        if asker is not None:
            self._stages[asker.facts.get("id", 0), _place(asker)].own -= span.length

    def stages_of(self, root: int) -> dict[str, _Stage]:
        """Stages by place: a repetition makes the iterators below it anew."""
        found: dict[str, _Stage] = defaultdict(_Stage)
        for (number, place), stage in self._stages.items():
            if self._root(number) == root:
                _merge(found[place], stage)
        for call, (number, place, start) in self._calls.items():
            if self._root(number) == root and call in self._ends:
                stage = found[place]
                stage.took += self._ends[call] - start
                stage.work += self._work[call]
        return dict(found)

    def _root(self, number: int) -> int | None:
        for _ in range(100):
            if number not in self._parents:
                break
            number = self._parents[number]
        # A stage that was under way through all of the window left no span: those below it hang in the air.
        return (
            number
            if number in self.roots
            else next(iter(self.roots))
            if len(self.roots) == 1
            else None
        )


def _merge(into: _Stage, stage: _Stage) -> None:
    for name, value in vars(stage).items():
        mine = getattr(into, name)
        setattr(into, name, mine + value if name in ("count", "total", "own") else max(mine, value))


def _nested(thread: Thread) -> Iterator[tuple[Span, Sequence[Span]]]:
    """Each span with those around it in its thread, the outermost first."""
    around: list[Span] = []
    for span in thread.spans:
        while around and around[-1].end <= span.start:
            around.pop()
        yield span, around
        around.append(span)


def _innermost(around: Sequence[Span], name: str) -> Span | None:
    return next((span for span in reversed(around) if span.name.startswith(name)), None)


def _is_get(span: Span) -> bool:
    return span.name.endswith(_GET) and "GetNext" in span.name


def _place(span: Span) -> str:
    """As in "Root/Zip[1]/Map": an input keeps its number; pipelines that a stage makes per element are one, "[]"."""
    return "/".join(_counted(part) for part in span.name.split("::")[1:])


def _counted(part: str) -> str:
    found = re.fullmatch(r"(\w+)\[(\d+)\]", part)
    if found is None or found[1] in _SEVERAL:
        return part
    return found[1] if found[1].endswith(("Repeat", "Shuffle")) else f"{found[1]}[]"


def above(place: str) -> str:
    """The place of the stage that asks this one."""
    return re.sub(r"\[\d*\]$", "", place.rpartition("/")[0])
