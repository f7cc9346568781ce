"""What tf.data's own model of a pipeline counted, reading by reading, by the place of each node below the root."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from unslow.model import Event


def root(event: Event) -> Mapping[str, Any] | None:
    return next((node for node in event.data["nodes"] if node["name"] == "Root"), None)


def paths(event: Event) -> dict[str, int]:
    """Each node by its place below the root: a repetition makes the nodes below it anew, in the same places."""
    nodes = {int(node["id"]): node for node in event.data["nodes"]}
    top = root(event)
    found: dict[str, int] = {}
    pending = [("", int(top["id"]))] if top else []
    while pending:
        path, number = pending.pop()
        found[path] = number
        inputs = [int(one) for one in nodes[number]["inputs"] if int(one) in nodes]
        pending += [
            (f"{path}/{min(place, 1)}.{nodes[one]['name']}", one)
            for place, one in enumerate(inputs)
        ]
    return found


def latest(readings: Sequence[list[Event]]) -> dict[str, dict[str, Any]]:
    """What was last said of the node in each place: settings, buffers and sizes."""
    found: dict[str, dict[str, Any]] = {}
    for event in sorted(
        (event for events in readings for event in events), key=lambda event: event.time
    ):
        nodes = {int(node["id"]): node for node in event.data["nodes"]}
        for path, number in paths(event).items():
            if nodes[number]["elements"] or path not in found:
                found[path] = {
                    key: value
                    for key, value in nodes[number].items()
                    if key not in ("id", "inputs")
                }
    return found


def counted(
    readings: Sequence[list[Event]], since: Event | None = None
) -> dict[str, tuple[float, float]]:
    """Per place: seconds busy and elements, per batch, over all iterators.

    A single iterator's first reading is taken off where enough came after it: it holds the start and the filling of
    buffers, which is paid once. Iterators that are made again and again pay it each time.
    """
    batches = 0.0
    busy: dict[str, float] = defaultdict(float)
    elements: dict[str, float] = defaultdict(float)
    for events in readings:
        first, last = int(events[0].data["elements"]), int(events[-1].data["elements"])
        start = since
        if start is None and len(readings) == 1 and last - first >= last / 2:
            start = events[0]
        batches += last - int(start.data["elements"]) if start else last
        for (path, _), (worked, handed) in _grown(events, start).items():
            busy[path] += worked / 1e9
            elements[path] += handed
    return {
        path: (busy[path] / max(1.0, batches), elements[path] / max(1.0, batches)) for path in busy
    }


def _grown(
    events: Sequence[Event], since: Event | None
) -> dict[tuple[str, int], tuple[float, float]]:
    """What each node counted from one reading, or its first, to the last that had it."""
    start: dict[tuple[str, int], tuple[float, float]] = {}
    end: dict[tuple[str, int], tuple[float, float]] = {}
    for event in events:
        nodes = {int(node["id"]): node for node in event.data["nodes"]}
        for path, number in paths(event).items():
            end[path, number] = (float(nodes[number]["busy"]), float(nodes[number]["elements"]))
        if event is since:
            start = dict(end)
    none = (0.0, 0.0)
    return {
        key: (value[0] - start.get(key, none)[0], value[1] - start.get(key, none)[1])
        for key, value in end.items()
    }
