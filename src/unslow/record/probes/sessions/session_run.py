"""One run of a session, and the ops behind its fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign

MOST_OPS = 50_000  # walking back through an op's inputs takes about 2 µs
_UPDATES = (
    "ResourceApply",
    "ResourceSparseApply",
    "Apply",
    "SparseApply",
    "ResourceKeras",
    "ResourceScatter",
    "Scatter",
)
_WRITES = (*_UPDATES, "Assign")

Operations = Callable[[Foreign, Foreign], list[Foreign]]  # graph, fetches → the ops behind them


class Ran:
    """One run of a session: what went in and what came out."""

    __slots__ = (
        "feed",
        "fetches",
        "key",
        "metadata",
        "ops",
        "result",
        "session",
        "stack",
        "times",
        "took",
        "updates",
    )

    def __init__(
        self, session: Foreign, fetches: object, feed: Foreign = None, took: int = 0
    ) -> None:
        self.session, self.fetches, self.feed = session, fetches, feed
        self.took = took  # nanoseconds
        self.key: Foreign = None  # what distinguishes these fetches from others of the graph
        self.updates = False  # it trains
        self.result: Foreign = None
        self.metadata: Foreign = None
        self.stack: Stack = ()
        # Filled in when the step is over:
        self.ops: dict[str, Foreign] = {}  # by name: all that the fetches depend on
        self.times: dict[str, tuple[int, int]] = {}  # by node

    def writes(self) -> bool:
        return any(writes_variable(op) for op in self.ops.values())


def writes_variable(op: Foreign) -> bool:
    return bool(op.type.startswith(_WRITES))


def ops_behind(start: Iterable[Foreign], fed: set[str]) -> dict[str, Foreign]:
    """All ops that some ops depend on, what is fed left out."""
    pending = list(start)
    found: dict[str, Foreign] = {}
    while pending and len(found) < MOST_OPS:
        op = pending.pop()
        name = op.name
        if name not in found:
            found[name] = op
            pending.extend(tensor.op for tensor in op.inputs if tensor.name not in fed)
            pending.extend(op.control_inputs)
    return found


def name_of(key: object) -> str:
    return str(getattr(key, "name", key))


def fed_names(feed: Foreign) -> set[str]:
    return {name_of(key) for key in feed or ()}


def names_of(fetches: Foreign) -> list[str]:
    if isinstance(fetches, dict):
        return names_of(list(fetches.values()))
    if isinstance(fetches, list | tuple):
        return [name for value in fetches for name in names_of(value)]
    if isinstance(fetches, str):
        return [fetches]
    return [str(getattr(fetches, "name", type(fetches).__name__))]
