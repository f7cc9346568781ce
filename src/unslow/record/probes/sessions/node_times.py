"""What TensorFlow's own trace of one run of a session says: when each node was at work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Spans = Mapping[str, tuple[int, int]]  # by node: from when to when, in nanoseconds


def node_times(metadata: Any) -> dict[str, tuple[int, int]]:
    """By name, from the metadata of a traced run; nothing where there is none."""
    times: dict[str, tuple[int, int]] = {}
    for device in metadata.step_stats.dev_stats if metadata is not None else ():
        for node in device.node_stats:
            start = node.all_start_nanos or node.all_start_micros * 1000
            times[node.node_name] = (
                start + (node.op_start_rel_nanos or node.op_start_rel_micros * 1000),
                start + (node.op_end_rel_nanos or node.op_end_rel_micros * 1000),
            )
    return times


def lasted(metadata: Any) -> int:
    """Nanoseconds from the first node's start to the last one's end."""
    spans = node_times(metadata).values()
    return max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """The length of the union of spans."""
    total = reach = 0
    for start, end in sorted(spans):
        if end > reach:
            total += end - max(start, reach)
            reach = end
    return total


def queue_wait(ops: Mapping[str, Any], times: Spans, user: Any) -> dict[str, Any]:
    """How long a run stood still for a queue that threads of the program fill: only its dequeue was at work."""
    waiting = [
        name for name, op in ops.items() if op.type.startswith("QueueDequeue") and name in times
    ]
    if not waiting:
        return {}
    longest = ops[max(waiting, key=lambda name: times[name][1] - times[name][0])]
    others = [span for name, span in times.items() if name not in waiting]
    queue = longest.inputs[0].op
    runners = longest.graph.get_collection("queue_runners")
    made = [
        (frame.filename, frame.lineno, frame.name)
        for frame in reversed(longest.traceback)
        if user.owns_file(frame.filename)
    ]
    return {
        "queue": longest.name,
        "queue_wait_ns": covered(times.values()) - covered(others),
        "made": made[:1],
        "filled_by": sum(
            len(one.enqueue_ops) for one in runners if one.queue.queue_ref.op is queue
        ),
    }
