"""Readings of tf.data's model of an iterator: how long it waited, and what each stage did."""

from __future__ import annotations

import weakref

from unslow.facts.data import IteratorMade, ModelNode, PipelineReading
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import clock
from unslow.record.probes.data.python_batches import FETCHED

_ALL_READINGS = 40  # of an iterator; after them only those with a tenth more elements
_READINGS_WHILE_FILLING = 8
_ASYNCHRONOUS = (2, 4)  # NodeClass of tf.data's model.proto: asynchronous ones (2.17 to 2.21)
_UNLIMITED = 1e9  # AUTOTUNE's parallelism before it was tuned is infinite


class Watched:
    """An iterator and what its model said when it was last read; times in nanoseconds."""

    def __init__(self, made: IteratorMade, iterator: object) -> None:
        self.made = made
        self.iterator = weakref.ref(iterator)
        self.fetched = [0, 0]
        FETCHED.put(iterator, self.fetched)
        self.read_at = 0
        self.elements = 0
        self.wait = 0  # in GetNext, over `over` elements
        self.over = 0
        self.open_wait = 0  # the same since the last reading: counted once more elements came
        self.open_over = 0
        self.readings = 0
        self.written = 0  # elements at the last reading that was written

    def update(self, model: Foreign) -> bool:
        """Take in what the model says now; whether that is worth writing."""
        elements = int(model.nodes[model.output].num_elements)
        self._count_wait(clock(), elements, model.gap_times)
        if not self._is_worth_writing(len(model.nodes)):
            return False
        self.readings += 1
        self.written = self.elements
        return True

    def _is_worth_writing(self, nodes: int) -> bool:
        if not self.elements:
            # Buffers fill before the first element: sources may be exhausted before it.
            return self.readings < _READINGS_WHILE_FILLING and nodes > 1
        new = self.elements - self.written
        return new > 0 and (self.readings < _ALL_READINGS or new * 10 > self.elements)

    def _count_wait(self, now: int, elements: int, gaps: Foreign) -> None:
        """The time since the last reading, less the gaps between calls of GetNext, was in GetNext.

        It counts once more elements came: an iterator that nobody uses any more does not wait.
        """
        new = elements - self.elements
        if new <= 0:
            return
        self.wait += self.open_wait
        self.over += self.open_over
        self.open_wait = self.open_over = 0
        if self.read_at and gaps:
            recent = gaps[-min(new, len(gaps)) :]
            between = sum(recent) * 1000 * new // len(recent)  # gaps are in microseconds
            # Negative where a gap began before the last reading, which counted that part as a wait.
            self.open_wait, self.open_over = now - self.read_at - between, new
        self.read_at = now
        self.elements = elements

    def reading(self, model: Foreign, step: int) -> PipelineReading:
        return PipelineReading(
            iterator=self.made.iterator,
            dataset=self.made.dataset,
            evaluates=self.made.evaluates,
            step=step,
            elements=self.elements,
            wait=max(0, self.wait),
            over=self.over,
            fetches=self.fetched[0],
            fetch=self.fetched[1],
            nodes=tuple(_node(number, node) for number, node in sorted(model.nodes.items())),
            cpu_budget=int(model.optimization_params.cpu_budget),
            ram_budget=int(model.optimization_params.ram_budget),
        )


def _node(number: int, node: Foreign) -> ModelNode:
    threads = next((one for one in node.parameters if one.name == "parallelism"), None)
    chosen = {}
    if threads is not None:
        chosen["parallelism"] = min(threads.state_value or threads.value, _UNLIMITED)
        chosen["parallelism_tuned"] = threads.tunable
    return ModelNode(
        id=number,
        name=node.name,
        inputs=tuple(node.inputs),
        elements=node.num_elements,
        busy=node.processing_time,
        buffered=node.buffered_elements,
        buffered_bytes=node.buffered_bytes,
        produced=node.bytes_produced,
        asynchronous=node.node_class in _ASYNCHRONOUS,
        **chosen,
    )
