"""What tf.data's model of a pipeline counted, reading by reading.

A repetition recreates the nodes below it: they are told apart by their path below the root.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from unslow.facts.data import ModelNode, PipelineReading


@dataclass(frozen=True)
class Readings:
    """All readings of one iterator, in the order of time."""

    all: tuple[PipelineReading, ...]
    profiled: bool = False  # derived from a window of the profiler
    pass_length: int = 0  # batches of a pass, where they are known otherwise

    @property
    def first(self) -> PipelineReading:
        return self.all[0]

    @property
    def last(self) -> PipelineReading:
        return self.all[-1]

    @property
    def length(self) -> int:
        """Batches of a pass."""
        return self.pass_length or self.last.elements


class Work(NamedTuple):
    """What a node did."""

    busy: float = 0.0  # seconds, all threads added up
    elements: float = 0.0


def nodes_by_path(reading: PipelineReading) -> dict[str, ModelNode]:
    nodes = {node.id: node for node in reading.nodes}
    pending = [("", node) for node in reading.nodes if node.name == "Root"][:1]
    found: dict[str, ModelNode] = {}
    while pending:
        path, node = pending.pop()
        found[path] = node
        for position, number in enumerate(node.inputs):
            if number in nodes:
                # All but the first input may be pipelines that are made per element.
                below = nodes[number]
                pending.append((f"{path}/{min(position, 1)}.{below.name}", below))
    return found


def latest_nodes(iterators: Sequence[Readings]) -> dict[str, ModelNode]:
    """The last state of the node at each path: settings, buffers and sizes."""
    found: dict[str, ModelNode] = {}
    readings = chain.from_iterable(iterator.all for iterator in iterators)
    for reading in sorted(readings, key=lambda reading: reading.time):
        for path, node in nodes_by_path(reading).items():
            if node.elements or path not in found:
                found[path] = node
    return found


def work_per_batch(
    iterators: Sequence[Readings], since: PipelineReading | None = None
) -> dict[str, Work]:
    """What was done at each path, per batch, over all iterators.

    The first reading of a single iterator is subtracted where enough came after it: it holds the
    start and the filling of buffers. Iterators that are recreated pay for that each time.
    """
    batches = 0.0
    busy: dict[str, float] = defaultdict(float)
    elements: dict[str, float] = defaultdict(float)
    for iterator in iterators:
        start = since
        first, last = iterator.first.elements, iterator.last.elements
        if start is None and len(iterators) == 1 and last - first >= last / 2:
            start = iterator.first
        batches += last - (start.elements if start is not None else 0)
        for path, work in _work_since(iterator, start):
            busy[path] += work.busy
            elements[path] += work.elements
    batches = max(1.0, batches)
    return {path: Work(busy[path] / batches, elements[path] / batches) for path in busy}


def _work_since(iterator: Readings, since: PipelineReading | None) -> list[tuple[str, Work]]:
    """What each node counted from a reading, or from its first, to the last that had it."""
    start: dict[tuple[str, int], Work] = {}
    end: dict[tuple[str, int], Work] = {}
    for reading in iterator.all:
        for path, node in nodes_by_path(reading).items():
            end[path, node.id] = Work(node.seconds, node.elements)
        if reading is since:
            start = dict(end)
    found = []
    for key, work in end.items():
        before = start.get(key, Work())
        found.append((key[0], Work(work.busy - before.busy, work.elements - before.elements)))
    return found
