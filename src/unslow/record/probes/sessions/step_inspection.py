"""One training step of a session looked at closely: what each of its runs feeds, computes and fetches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from unslow.record.engine.recorder import Recorder, clock
from unslow.record.probes.sessions.node_times import covered, node_times, queue_wait

_MOST_OPS = 50_000  # walking back through an op's inputs takes some 2 µs
_MOST_BYTES = 256 << 20
_MOST_FETCHES = 40
_NAMES = 8
_MOST_UPDATES = 4  # in one step: after so many it is not waited for the first one to come back
_UPDATES = (
    "ResourceApply",
    "ResourceSparseApply",
    "Apply",
    "SparseApply",
    "ResourceKeras",
    "ResourceScatter",
    "Scatter",
)
_READS = ("ReadVariableOp", "ResourceGather", "VariableV2", "Variable", "VarHandleOp")
_DRAWS = (
    "IteratorGetNext",
    "QueueDequeue",
    "ReaderRead",
    "IteratorGetNextSync",
    "OneShotIterator",
    "FIFOQueue",
)


class Ran:
    """One run of the step: what went in and what came out, kept until the step is over."""

    def __init__(
        self,
        session: Any,
        fetches: Any,
        feed: Any,
        result: Any,
        took: int,
        updates: bool,
        stack: Any,
        metadata: Any = None,
    ) -> None:
        self.session, self.fetches, self.feed, self.result = session, fetches, feed, result
        self.took, self.updates, self.stack, self.metadata = took, updates, stack, metadata
        self.ops: dict[str, Any] = {}  # by name: all that the fetches depend on


class Window:
    """The runs from one update of the weights until the same line makes it again, both included, in one thread.

    There may be other updates between the two: a step of a GAN has one of each of its networks.
    """

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.runs: list[Ran] = []

    def add(self, ran: Ran) -> bool:
        """Keep a run; says whether the window is complete with it."""
        if not self.runs and not ran.updates:
            return False
        self.runs.append(ran)
        updates = [each for each in self.runs if each.updates]
        return (
            ran.updates
            and len(updates) > 1
            and (ran.stack == updates[0].stack or len(updates) > _MOST_UPDATES)
        )

    def write(
        self, recorder: Recorder, cycle: int, operations: Callable[[Any, Any], list[Any]]
    ) -> None:
        """Write a line per run, per feed and per fetch; `operations` gives the ops behind fetches."""
        graph = self.runs[-1].session.graph
        small = graph.version < _MOST_OPS
        for ran in self.runs:
            if small and ran.session.graph is graph:
                ran.ops = _behind(operations(graph, ran.fetches), _fed(ran.feed))
        for index, ran in enumerate(self.runs[1:]):
            where = {"cycle": cycle, "index": index, "stack": ran.stack}
            waited = (
                queue_wait(ran.ops, node_times(ran.metadata), recorder.user) if ran.updates else {}
            )
            recorder.line(
                "run", clock(), **where, **(self._run(index) | self._like(index) | waited)
            )
            for feed in _feeds(ran):
                recorder.line("feed", clock(), **where, **feed)
            if ran.updates and small:
                for fetch in _fetched(ran, graph, operations):
                    recorder.line("fetch", clock(), **where, **fetch)

    def _updates(self, index: int) -> tuple[int, int]:
        """The places of the updates before a run of this step and after it; one that updates is the second itself."""
        places = [place for place, ran in enumerate(self.runs) if ran.updates]
        return max(place for place in places if place <= index), min(
            place for place in places if place > index
        )

    def _run(self, index: int) -> dict[str, Any]:
        """A run by itself, and what it has in common with the updates before and after it."""
        ran, places = self.runs[index + 1], self._updates(index)
        first, last = (self.runs[place] for place in places)
        times = node_times(ran.metadata)
        data: dict[str, Any] = {
            "took_ns": ran.took,
            "updates": ran.updates,
            "runs": len(self.runs) - 1,
            "fetches": _names(ran.fetches)[:_NAMES],
            "feeds": len(ran.feed or ()),
            "ops": len(ran.ops),
            "kernels_ns": covered(times.values()),
            "timed": bool(times),
        }
        after, before = _same_feeds(ran.feed, first.feed), _same_feeds(ran.feed, last.feed)
        update = last if before else first
        if ran.updates or not ran.ops or update.session is not ran.session:
            return data
        written = {
            op.inputs[0].op.name for op in update.ops.values() if _writes(op) and len(op.inputs)
        }
        reads = {
            name
            for name, op in ran.ops.items()
            if op.type in ("VarHandleOp", "VariableV2", "Variable")
        }
        return (
            data
            | {
                "same_before": before,  # as the update that follows it
                "same_after": after,  # as the update that it follows
                "with": update.stack[:1],  # whose line it is
                "random": any(
                    "Random" in op.type or "Multinomial" in op.type for op in ran.ops.values()
                ),
                "draws": any(op.type.startswith(_DRAWS) for op in ran.ops.values()),
                "writes": any(_writes(op) for op in ran.ops.values()),
                "depends": bool(written & reads),  # on what the update changes
            }
            | _apart(ran, update)
        )

    def _like(self, index: int) -> dict[str, Any]:
        """The first run of this step that is fed as this one is, where neither update is; and what sets them apart."""
        ran, others = self.runs[index + 1], self.runs[1 : index + 1]
        fed_as_updates = any(
            _same_feeds(ran.feed, self.runs[place].feed) for place in self._updates(index)
        )
        for number, other in enumerate(others):
            if (
                ran.updates
                or fed_as_updates
                or not ran.ops
                or not ran.feed
                or other.session is not ran.session
            ):
                continue
            between = [op for each in others[number:] for op in each.ops.values()]
            if (
                _same_feeds(ran.feed, other.feed)
                and _same_feeds(other.feed, ran.feed)
                and not any(map(_writes, between))
            ):
                return {"like": number, **_apart(ran, other)}
        return {}


def _apart(ran: Ran, other: Ran) -> dict[str, Any]:
    """What a run computes that another one does not."""
    own = {name: op for name, op in ran.ops.items() if name not in other.ops}
    return {
        "shared": 1 - len(own) / len(ran.ops),
        "own_ns": covered(span for name, span in node_times(ran.metadata).items() if name in own),
        "reads_own": any(op.type in _READS and op.type != "VarHandleOp" for op in own.values()),
    }


def _writes(op: Any) -> bool:
    return bool(op.type.startswith((*_UPDATES, "Assign")))


def _behind(start: Iterable[Any], fed: set[str]) -> dict[str, Any]:
    """All ops that some ops depend on, what is fed left out."""
    pending = list(start)
    found: dict[str, Any] = {}
    while pending and len(found) < _MOST_OPS:
        op = pending.pop()
        name = op.name
        if name not in found:
            found[name] = op
            pending.extend(tensor.op for tensor in op.inputs if tensor.name not in fed)
            pending.extend(op.control_inputs)
    return found


def _fed(feed: Any) -> set[str]:
    return {str(getattr(key, "name", key)) for key in feed or ()}


def _names(fetches: Any) -> list[str]:
    if isinstance(fetches, dict):
        return [name for value in fetches.values() for name in _names(value)]
    if isinstance(fetches, list | tuple):
        return [name for value in fetches for name in _names(value)]
    return [
        fetches
        if isinstance(fetches, str)
        else str(getattr(fetches, "name", type(fetches).__name__))
    ]


def _same_feeds(one: Any, other: Any) -> bool:
    """Whether all that is fed to one run is fed to the other too, with equal values."""
    others = {str(getattr(key, "name", key)): value for key, value in (other or {}).items()}
    for key, value in (one or {}).items():
        name = str(getattr(key, "name", key))
        if name not in others or not _equal(value, others[name]):
            return False
    return True


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    numpy = sys.modules.get("numpy")
    if numpy is None or type(one) is not type(other) or getattr(one, "nbytes", 0) > _MOST_BYTES:
        return False
    return bool(numpy.array_equal(one, other))


def _feeds(ran: Ran) -> Iterator[dict[str, Any]]:
    """What each fed value is, and what its conversion and its copy take when they are done once more, here."""
    numpy = sys.modules.get("numpy")
    for position, (key, value) in enumerate(list((ran.feed or {}).items())[:_NAMES]):
        dtype = getattr(key, "dtype", None)
        if numpy is None or dtype is None or not hasattr(dtype, "as_numpy_dtype"):
            continue
        if getattr(value, "nbytes", 0) > _MOST_BYTES:
            continue
        wanted = dtype.as_numpy_dtype
        array = numpy.asarray(value, dtype=wanted)
        converted = _least(numpy.asarray, value, wanted)
        copied = _least(numpy.array, array)
        yield {
            "name": str(getattr(key, "name", key)),
            "type": type(value).__name__,
            "wanted": dtype.name,
            "dtype": str(getattr(value, "dtype", "")),
            "bytes": array.nbytes,
            "contiguous": bool(array.flags.c_contiguous),
            "convert_ns": converted,
            "copy_ns": copied,
            "elements": int(array.size),
            "position": position,
        }


def _least(action: Callable[..., Any], *args: Any) -> int:
    """The shortest of three times: the machine only ever adds to it."""
    times = []
    for _ in range(3):
        began = clock()
        action(*args)
        times.append(clock() - began)
    return min(times)


def _fetched(
    ran: Ran, graph: Any, operations: Callable[[Any, Any], list[Any]]
) -> Iterator[dict[str, Any]]:
    """Each fetched value that the update does not need: its size, and the time of the nodes that only it needs."""
    leaves = list(_leaves(ran.fetches, ran.result))[:_MOST_FETCHES]
    needed: set[str] = set()
    for fetch, _, _ in leaves:
        behind = _behind(operations(graph, fetch), _fed(ran.feed))
        if any(_writes(op) for op in behind.values()):
            needed |= set(behind)
    times = node_times(ran.metadata)
    spare = covered(times[name] for name in ran.ops if name in times and name not in needed)
    for position, (fetch, value, path) in enumerate(leaves):
        size = getattr(value, "nbytes", None)
        if size is None:
            continue
        own = [
            name for name in _behind(operations(graph, fetch), _fed(ran.feed)) if name not in needed
        ]
        yield {
            "name": _names(fetch)[0],
            "bytes": int(size),
            "position": position,
            "of": len(leaves),
            "key": path[0] if len(path) == 1 and isinstance(path[0], str | int) else None,
            "own_ops": len(own),
            "own_ns": covered(times[name] for name in own if name in times),
            "spare_ns": spare,
            "timed": bool(times),
            "dtype": str(getattr(value, "dtype", "")),
        }


def _leaves(
    fetches: Any, result: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Fetches beside their values, one by one; and the keys that lead to each."""
    if isinstance(fetches, dict) and isinstance(result, dict):
        for key in fetches:
            yield from _leaves(fetches[key], result.get(key), (*path, key))
    elif (
        isinstance(fetches, list | tuple)
        and isinstance(result, list | tuple)
        and len(fetches) == len(result)
    ):
        for index, (fetch, value) in enumerate(zip(fetches, result, strict=True)):
            yield from _leaves(fetch, value, (*path, index))
    else:
        yield fetches, result, path
