"""What a profile shows of tf.data: how long steps wait for iterators, and what stages do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unslow.analyse.host.xplane import Span, Thread, covered

# "Iterator::Root::Prefetch::Zip[1]::Map": one element is requested from the last stage named.
_STAGE = "Iterator::"
_GET = "::DoCompute"  # "IteratorGetNextOp::DoCompute": a step requests a batch
_CALL = "InstantiatedCapturedFunction::RunAsync"  # a stage with its own threads calls its function
_PROCESS = "ExecutorState::Process"
_SEVERAL_INPUTS = ("Zip", "Concatenate")  # their numbers are those of their inputs
_MOST_DEPTH = 100


@dataclass
class ProfiledStage:
    """What the iterators at one place did; seconds over the whole window."""

    count: int = 0  # elements given to the stage above
    own: float = 0.0  # without the stages that it called in the same thread
    took: float = 0.0  # calls of its function from its own threads, from start to end
    work: float = 0.0  # running them, over all threads
    parallelism: int = 0
    tuned: bool = False
    buffered: int = 0
    buffered_bytes: int = 0

    def merge(self, other: ProfiledStage) -> None:
        self.count += other.count
        self.own += other.own
        self.parallelism = max(self.parallelism, other.parallelism)
        self.tuned = self.tuned or other.tuned
        self.buffered = max(self.buffered, other.buffered)
        self.buffered_bytes = max(self.buffered_bytes, other.buffered_bytes)


@dataclass(frozen=True)
class ProfiledIterator:
    """An iterator that a graph requested batches from."""

    gets: int  # batches
    wait: float  # seconds in which none of the step's own kernels ran
    bytes: float  # of a batch
    cores: int  # as tf.data's model has them
    memory: float  # bytes that tf.data allows itself for buffers
    stages: Mapping[str, ProfiledStage]  # by place: "Root/Prefetch/Map"


@dataclass(frozen=True)
class _FunctionCall:
    iterator: int
    place: str
    start: float


def gets(threads: Iterable[Thread]) -> list[Span]:
    """The times in which a graph waited for the next batch."""
    return [span for thread in threads for span in thread.spans if _is_get(span)]


def profiled_iterators(
    threads: Iterable[Thread], kernels: Sequence[Span]
) -> tuple[ProfiledIterator, ...]:
    """Every iterator of a profile; `kernels` are those of the step itself."""
    profile = _Profile()
    for thread in threads:
        profile.walk(thread)
    computing = covered(kernels)
    return tuple(
        ProfiledIterator(
            gets=len(waits),
            wait=covered([*waits, *kernels]) - computing,
            bytes=max(span.facts.get("element_size", 0) for span in waits),
            cores=profile.roots[root].get("cpu_budget", 0),
            memory=profile.roots[root].get("ram_budget_megabytes", 0) * 1e6,
            stages=profile.stages_of(root),
        )
        for root, waits in profile.waits.items()
        if waits
    )


class _Profile:
    """Spans of all threads, joined by the ids of iterators and of function calls."""

    def __init__(self) -> None:
        self.waits: dict[int, list[Span]] = defaultdict(list)  # by id of the outermost iterator
        self.roots: dict[int, dict[str, int]] = {}
        self._parents: dict[int, int] = {}
        self._stages: dict[tuple[int, str], ProfiledStage] = defaultdict(ProfiledStage)
        self._calls: dict[int, _FunctionCall] = {}
        self._ends: dict[int, float] = {}
        self._work: dict[int, float] = defaultdict(float)

    def walk(self, thread: Thread) -> None:
        outermost: Span | None = None  # the last one that no other stage called in this thread
        for span, around in _nested(thread):
            caller = around[-1].stage if around else None
            if span.name.startswith(_STAGE):
                self._add(span, caller, around)
                outermost = span if caller is None else outermost
            elif span.name == _CALL and outermost is not None and caller is None:
                # The stage above has just requested the element that it gives to its function.
                parent, place = outermost.facts.get("parent_id", 0), above(_place(outermost))
                self._calls[span.facts.get("id", 0)] = _FunctionCall(parent, place, span.start)
            elif span.name == _PROCESS:
                call = span.facts.get("id", 0)
                self._ends[call] = max(self._ends.get(call, 0.0), span.end)
                if not around or around[-1].process is None:
                    self._work[call] += span.length

    def _add(self, span: Span, caller: Span | None, around: Sequence[_Enclosing]) -> None:
        facts, place = span.facts, _place(span)
        number = facts.get("id", 0)
        if "parent_id" in facts:
            self._parents[number] = facts["parent_id"]
        else:
            self.roots[number] = dict(facts)
            self.waits[number] += [one.span for one in around if _is_get(one.span)]
        self._stages[number, place].merge(
            ProfiledStage(
                count=1,
                own=span.length,
                parallelism=facts.get("parallelism", 0),
                tuned=bool(facts.get("autotune")),
                buffered=facts.get("buffered_elements", 0),
                buffered_bytes=facts.get("buffered_bytes_MB", 0) * 1_000_000,
            )
        )
        if caller is not None:
            self._stages[caller.facts.get("id", 0), _place(caller)].own -= span.length

    def stages_of(self, root: int) -> dict[str, ProfiledStage]:
        """Stages by place: a repetition recreates the iterators below it."""
        found: dict[str, ProfiledStage] = defaultdict(ProfiledStage)
        for (number, place), stage in self._stages.items():
            if self._root(number) == root:
                found[place].merge(stage)
        for number, call in self._calls.items():
            if self._root(call.iterator) == root and number in self._ends:
                found[call.place].took += self._ends[number] - call.start
                found[call.place].work += self._work[number]
        return dict(found)

    def _root(self, number: int) -> int | None:
        for _ in range(_MOST_DEPTH):
            if number not in self._parents:
                break
            number = self._parents[number]
        if number in self.roots:
            return number
        # A stage that ran through the whole window left no span, and so those below it no parent.
        return next(iter(self.roots)) if len(self.roots) == 1 else None


class _Enclosing(NamedTuple):
    """A span that others are in, with the innermost stage and executor up to it."""

    span: Span
    stage: Span | None
    process: Span | None


def _nested(thread: Thread) -> Iterator[tuple[Span, Sequence[_Enclosing]]]:
    """Each span with those around it in its thread, the outermost first."""
    around: list[_Enclosing] = []
    for span in thread.spans:
        while around and around[-1].span.end <= span.start:
            around.pop()
        yield span, around
        _, stage, process = around[-1] if around else (None, None, None)
        if span.name.startswith(_STAGE):
            stage = span
        if span.name.startswith(_PROCESS):
            process = span
        around.append(_Enclosing(span, stage, process))


def _is_get(span: Span) -> bool:
    return span.name.endswith(_GET) and "GetNext" in span.name


def _place(span: Span) -> str:
    """As in "Root/Zip[1]/Map"; "[]" for pipelines that a stage makes per element."""
    return "/".join(_numbered(part) for part in span.name.split("::")[1:])


def _numbered(part: str) -> str:
    found = re.fullmatch(r"(\w+)\[(\d+)\]", part)
    if found is None or found[1] in _SEVERAL_INPUTS:
        return part
    return found[1] if found[1].endswith(("Repeat", "Shuffle")) else f"{found[1]}[]"


def above(place: str) -> str:
    """The place of the stage that requests elements from this one."""
    return re.sub(r"\[\d*\]$", "", place.rpartition("/")[0])
