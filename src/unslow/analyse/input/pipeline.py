"""A pipeline as it ran, and its stages: what each did per batch, and which one is the slowest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from unslow.analyse.input.model_readings import Readings
from unslow.analyse.input.overlay import base
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import BuiltStage
from unslow.model import Location, Loop

_NOT_ASKED_FOR = BuiltStage(kind="")  # TensorFlow added the stage


@dataclass(frozen=True)
class Stage:
    """One stage. Times are seconds per batch of the pipeline, added up over its threads."""

    name: str  # as TensorFlow runs it: "MapAndBatch"
    # The user's line; None for what TensorFlow added or the program built before the recording.
    location: Location | None = None
    busy: float = 0.0
    elements: float = 0.0  # per batch
    parallelism: float = 1.0
    tuned: bool = False
    asynchronous: bool = False  # works in threads of its own
    buffered: float = 0.0  # elements in its buffer at the last reading
    buffered_bytes: float = 0.0
    bytes: float = 0.0  # of one of its elements
    asked: BuiltStage = _NOT_ASKED_FOR  # as the program built it

    @property
    def injected(self) -> bool:
        """Whether TensorFlow added it: the program asked for no such stage."""
        return self.location is None and not self.asked.kind

    @property
    def seen(self) -> bool:
        """Whether it was seen giving out anything."""
        return self.elements > 0

    @property
    def kind(self) -> str:
        """The transformation that the program asked for: "Map" for "MapAndBatch"."""
        return base(self.asked.kind or self.name)

    @property
    def items(self) -> float:
        """Elements per batch that its function handles; those of a map fused with a batch too."""
        fused = self.asked.batch_size if self.name == "MapAndBatch" else None
        return self.elements * (fused or 1)

    @property
    def item_bytes(self) -> float:
        return max(ratio(self.bytes * self.elements, self.items), self.asked.bytes)

    @property
    def seconds(self) -> float:
        """Seconds per batch with its threads working together."""
        return self.busy / max(1.0, self.parallelism)


@dataclass(frozen=True)
class Pipeline:
    """One pipeline of a run: all iterators over the same stages, added up."""

    process: int
    dataset: int
    location: Location | None  # where its iterator is made
    stages: tuple[Stage, ...]  # from the one that gives batches to the sources
    built: tuple[BuiltStage, ...]  # the stages as the program built them
    batches: int
    wait: float  # seconds in GetNext per batch; NaN where it was not measured
    over: int  # batches that `wait` was measured over
    later: float  # the same once a cache is full; NaN where that was not seen
    filling: int  # batches of the pass that fills a cache; 0 where no cache is ever full
    fetches: int  # batches that Python fetched; the others went straight into a compiled step
    fetch: float  # seconds per such fetch
    per_step: float  # batches per training step
    iterators: int
    read: int  # of them, the ones whose models were read
    made: tuple[float, ...]  # when iterators over it were made
    sources: int  # times that the pipeline itself was built
    length: int  # the most batches that one iterator gave
    span: tuple[float, float]  # when it was first and last seen at work
    evaluates: bool
    profiled: bool  # seen in a window of the profiler only
    cores: int
    spare_bytes: float  # memory that tf.data itself would allow for its buffers
    readings: tuple[Readings, ...]  # of each iterator
    calibration: float = 1.0  # what the times of its stages were multiplied by

    @property
    def in_python(self) -> bool:
        return self.fetches * 2 > self.batches

    @property
    def opaque(self) -> bool:
        """Whether it only passes on a strategy's batches: its stages are not the program's."""
        return any("PerDeviceGenerator" in stage.kind for stage in self.built)

    @property
    def batch_size(self) -> float:
        return float(next((stage.batch_size for stage in self.built if stage.batch_size), 1.0))

    def is_seen_in(self, loop: Loop) -> bool:
        start, stop = self.span
        is_seen = start < loop.stop and loop.start < stop
        return is_seen and self.process == loop.process

    def has(self, kind: str) -> bool:
        """Whether the program built a stage of this kind."""
        return any(base(stage.kind) == kind for stage in self.built)


def shuffle_elements(shuffle: BuiltStage) -> float:
    """Elements that a shuffle reads before it gives its first: its buffer, or all there are."""
    size = float(max(0, shuffle.buffer_size or 0))
    return min(size, shuffle.length) if shuffle.length > 0 else size


def asked_for(stages: Iterable[Stage]) -> list[Stage]:
    """Without what TensorFlow added itself."""
    return [stage for stage in stages if not stage.injected]


def without(stages: Sequence[Stage], *gone: Stage) -> tuple[Stage, ...]:
    """The stages as if some of them cost nothing."""
    return tuple(replace(stage, busy=0.0) if stage in gone else stage for stage in stages)


def slowest(stages: Sequence[Stage]) -> tuple[float, tuple[Stage, ...]]:
    """The slowest group of stages that share a thread: seconds per batch, most expensive first.

    A stage with threads of its own works beside the stages above it; those between two such stages
    add up. A prefetch does no work: what it counts as its own is waiting.
    """
    groups: list[list[Stage]] = [[]]
    for stage in stages:
        if not stage.asynchronous:
            groups[-1].append(stage)
            continue
        if stage.kind != "Prefetch":
            groups.append([stage])
        groups.append([])
    costs = [sum(stage.seconds for stage in group) for group in groups]
    seconds = max(costs)
    group = groups[costs.index(seconds)] if seconds > 0 else []
    return seconds, tuple(sorted(group, key=lambda stage: -stage.seconds))
