"""Facts that the recorder thinned out: each one written stands for those since the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unslow.model import Event


def weighed(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Each fact with the number of those that it stands for, itself included."""
    last: dict[tuple[int, str], int] = {}
    for event in events:
        key = (event.process, str(event.data.get("key", "")))
        count = int(event.data.get("n") or 1)
        yield event, max(1, count - last.get(key, 0))
        last[key] = count
