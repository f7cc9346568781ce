"""What TensorFlow's own trace of one run of a session says: when each node was at work."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from unslow.facts.schema import Stack, stack_of
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode

Spans = Mapping[str, tuple[int, int]]  # by node: from when to when, in nanoseconds


class QueueWait(NamedTuple):
    """How long a run stood still for a queue that threads of the program fill."""

    queue: str = ""  # name of the dequeue; empty if there is none
    waited: int = 0  # nanoseconds in which only the dequeue was at work
    made: Stack = ()
    filled_by: int = 0  # threads


def node_times(metadata: Foreign) -> dict[str, tuple[int, int]]:
    """By name, from the metadata of a traced run; nothing where there is none."""
    times: dict[str, tuple[int, int]] = {}
    for device in metadata.step_stats.dev_stats if metadata is not None else ():
        for node in device.node_stats:
            start = node.all_start_nanos or node.all_start_micros * 1000
            begin = node.op_start_rel_nanos or node.op_start_rel_micros * 1000
            end = node.op_end_rel_nanos or node.op_end_rel_micros * 1000
            times[node.node_name] = (start + begin, start + end)
    return times


def lasted(metadata: object) -> int:
    """Nanoseconds from the first node's start to the last one's end."""
    spans = node_times(metadata).values()
    if not spans:
        return 0
    return max(end for _, end in spans) - min(start for start, _ in spans)


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """The length of the union of spans."""
    total = reach = 0
    for start, end in sorted(spans):
        if end > reach:
            total += end - max(start, reach)
            reach = end
    return total


def queue_wait(ops: Mapping[str, Foreign], times: Spans, user: UserCode) -> QueueWait:
    """The wait of the run's longest dequeue."""
    dequeues = [name for name, op in ops.items() if op.type.startswith("QueueDequeue")]
    waiting = [name for name in dequeues if name in times]
    if not waiting:
        return QueueWait()
    longest = ops[max(waiting, key=lambda name: times[name][1] - times[name][0])]
    others = [span for name, span in times.items() if name not in waiting]
    queue = longest.inputs[0].op
    runners = longest.graph.get_collection("queue_runners")
    filling = [runner for runner in runners if runner.queue.queue_ref.op is queue]
    return QueueWait(
        queue=longest.name,
        waited=covered(times.values()) - covered(others),
        made=stack_of(itertools.islice(user.of_traceback(longest.traceback), 1)),
        filled_by=sum(len(runner.enqueue_ops) for runner in filling),
    )
