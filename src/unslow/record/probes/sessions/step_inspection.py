"""One training step of a session inspected: what each of its runs feeds, computes and fetches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from unslow.facts.schema import Stack
from unslow.facts.sessions import Feed, Fetch, InspectedRun
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.recorder import Recorder, clock
from unslow.record.probes.sessions.node_times import covered, node_times, queue_wait

_MOST_OPS = 50_000  # walking back through an op's inputs takes about 2 µs
_MOST_BYTES = 256 << 20
_MOST_FETCHES = 40
_MOST_FEEDS = 8
_ENOUGH = 3_000_000  # nanoseconds: what takes longer need not be repeated to be timed
_MOST_UPDATES = 4  # in one step: after that many the window closes at any update
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
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_READS = ("ReadVariableOp", "ResourceGather", "VariableV2", "Variable")
_DRAWS = (
    "IteratorGetNext",
    "QueueDequeue",
    "ReaderRead",
    "IteratorGetNextSync",
    "OneShotIterator",
    "FIFOQueue",
)

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
        return any(_writes(op) for op in self.ops.values())


class Window:
    """The runs from one update until the same line makes it again, both included, in one thread.

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
        if not ran.updates or len(updates) == 1:
            return False
        return ran.stack == updates[0].stack or len(updates) > _MOST_UPDATES

    def write(self, recorder: Recorder, cycle: int, operations: Operations) -> None:
        """Emit a fact per run, per feed and per fetch."""
        graph = self.runs[-1].session.graph
        small = graph.version < _MOST_OPS
        for ran in self.runs:
            ran.times = node_times(ran.metadata)
            if small and ran.session.graph is graph:
                ran.ops = _behind(operations(graph, ran.fetches), _fed(ran.feed))
        measured: dict[int, Feed] = {}  # by the id of what is fed: mostly to several runs
        for index, ran in enumerate(self.runs[1:]):
            where = {"cycle": cycle, "index": index, "stack": ran.stack}
            recorder.emit(self._run(index, recorder).replace(**where))
            for feed in _feeds(ran, measured):
                recorder.emit(feed.replace(**where))
            if ran.updates and small:
                for fetch in _fetched(ran, graph, operations):
                    recorder.emit(fetch.replace(**where))

    def _updates(self, index: int) -> tuple[int, int]:
        """The updates before a run of this step and after it; an update is the second itself."""
        places = [place for place, ran in enumerate(self.runs) if ran.updates]
        before = max(place for place in places if place <= index)
        return before, min(place for place in places if place > index)

    def _run(self, index: int, recorder: Recorder) -> InspectedRun:
        ran = self.runs[index + 1]
        fact = InspectedRun(
            cycle=0,
            took=ran.took,
            updates=ran.updates,
            runs=len(self.runs) - 1,
            fetches=tuple(_names(ran.fetches)[:_MOST_FEEDS]),
            feeds=len(ran.feed or ()),
            ops=len(ran.ops),
            kernels=covered(ran.times.values()),
            timed=bool(ran.times),
            **self._beside_update(index),
            **self._alike(index),
        )
        if not ran.updates:
            return fact
        wait = queue_wait(ran.ops, ran.times, recorder.user)
        inspected: InspectedRun = fact.replace(
            queue=wait.queue, queue_wait=wait.waited, made=wait.made, filled_by=wait.filled_by
        )
        return inspected

    def _beside_update(self, index: int) -> dict[str, Foreign]:
        """What a run has in common with the updates before and after it."""
        ran = self.runs[index + 1]
        first, last = (self.runs[place] for place in self._updates(index))
        after, before = _same_feeds(ran.feed, first.feed), _same_feeds(ran.feed, last.feed)
        update = last if before else first
        if ran.updates or not ran.ops or update.session is not ran.session:
            return {}
        types = [op.type for op in ran.ops.values()]
        alike = {} if self._like(index) is not None else _difference(ran, update)
        return {
            "same_before": before,
            "same_after": after,
            "update": update.stack[:1],
            "random": any("Random" in kind or "Multinomial" in kind for kind in types),
            "draws": any(kind.startswith(_DRAWS) for kind in types),
            "writes": ran.writes(),
            "depends": _depends(ran, update),
            **alike,
        }

    def _alike(self, index: int) -> dict[str, Foreign]:
        number = self._like(index)
        if number is None:
            return {}
        return {"like": number, **_difference(self.runs[index + 1], self.runs[number + 1])}

    def _like(self, index: int) -> int | None:
        """The first run of this step that is fed as this one is, where neither update is."""
        ran, earlier = self.runs[index + 1], self.runs[1 : index + 1]
        if ran.updates or not ran.ops or not ran.feed:
            return None
        if any(_same_feeds(ran.feed, self.runs[place].feed) for place in self._updates(index)):
            return None
        for number, other in enumerate(earlier):
            changed = any(each.writes() for each in earlier[number:])
            if other.session is ran.session and not changed and _fed_alike(ran, other):
                return number
        return None


def _depends(ran: Ran, update: Ran) -> bool:
    """Whether a run reads a variable that an update writes."""
    changing = [op for op in update.ops.values() if _writes(op) and len(op.inputs)]
    written = {op.inputs[0].op.name for op in changing}
    reads = {name for name, op in ran.ops.items() if op.type in _VARIABLES}
    return bool(written & reads)


def _difference(ran: Ran, other: Ran) -> dict[str, Foreign]:
    """What a run computes that another one does not."""
    own = {name: op for name, op in ran.ops.items() if name not in other.ops}
    return {
        "shared": 1 - len(own) / len(ran.ops),
        "own": covered(span for name, span in ran.times.items() if name in own),
        "reads_own": any(op.type in _READS for op in own.values()),
    }


def _writes(op: Foreign) -> bool:
    return bool(op.type.startswith(_WRITES))


def _behind(start: Iterable[Foreign], fed: set[str]) -> dict[str, Foreign]:
    """All ops that some ops depend on, what is fed left out."""
    pending = list(start)
    found: dict[str, Foreign] = {}
    while pending and len(found) < _MOST_OPS:
        op = pending.pop()
        name = op.name
        if name not in found:
            found[name] = op
            pending.extend(tensor.op for tensor in op.inputs if tensor.name not in fed)
            pending.extend(op.control_inputs)
    return found


def _name(key: object) -> str:
    return str(getattr(key, "name", key))


def _fed(feed: Foreign) -> set[str]:
    return {_name(key) for key in feed or ()}


def _names(fetches: Foreign) -> list[str]:
    if isinstance(fetches, dict):
        return _names(list(fetches.values()))
    if isinstance(fetches, list | tuple):
        return [name for value in fetches for name in _names(value)]
    if isinstance(fetches, str):
        return [fetches]
    return [str(getattr(fetches, "name", type(fetches).__name__))]


def _fed_alike(one: Ran, other: Ran) -> bool:
    return _same_feeds(one.feed, other.feed) and _same_feeds(other.feed, one.feed)


def _same_feeds(one: Foreign, other: Foreign) -> bool:
    """Whether all that is fed to one run is fed to the other too, with equal values."""
    others = {_name(key): value for key, value in (other or {}).items()}
    for key, value in (one or {}).items():
        name = _name(key)
        if name not in others or not _equal(value, others[name]):
            return False
    return True


def _equal(one: Foreign, other: Foreign) -> bool:
    if one is other:
        return True
    numpy = sys.modules.get("numpy")
    if numpy is None or type(one) is not type(other) or getattr(one, "nbytes", 0) > _MOST_BYTES:
        return False
    return not _differ_in_first(numpy, one, other) and bool(numpy.array_equal(one, other))


def _differ_in_first(numpy: Foreign, one: Foreign, other: Foreign) -> bool:
    """Whether two batches differ in their length or their first row, as most do.

    To turn lists into arrays takes milliseconds.
    """
    has_rows = type(one) in (list, tuple) or (type(one) is numpy.ndarray and one.ndim > 0)
    if not has_rows:
        return False
    return len(one) != len(other) or not numpy.array_equal(one[:1], other[:1])


def _feeds(ran: Ran, measured: dict[int, Feed]) -> Iterator[Feed]:
    """What each fed value is, and what its conversion and its copy take."""
    numpy = sys.modules.get("numpy")
    for position, (key, value) in enumerate(list((ran.feed or {}).items())[:_MOST_FEEDS]):
        dtype: Foreign = getattr(key, "dtype", None)
        if numpy is None or not hasattr(dtype, "as_numpy_dtype"):
            continue
        if getattr(value, "nbytes", 0) > _MOST_BYTES:
            continue
        feed = measured.get(id(value))
        if feed is None or feed.wanted != dtype.name:
            feed = measured[id(value)] = _measured(numpy, value, dtype)
        yield feed.replace(name=_name(key), position=position)


def _measured(numpy: Foreign, value: Foreign, dtype: Foreign) -> Feed:
    convert, array = _least(numpy.asarray, value, dtype.as_numpy_dtype)
    return Feed(
        cycle=0,
        name="",
        type=type(value).__name__,
        wanted=dtype.name,
        dtype=str(getattr(value, "dtype", "")),
        bytes=array.nbytes,
        contiguous=bool(array.flags.c_contiguous),
        convert=convert,
        copy=_least(numpy.array, array)[0],
        elements=int(array.size),
    )


def _least(action: Function, *args: object) -> tuple[int, Foreign]:
    """The shortest of three times, since the machine only ever adds to it; and the result."""
    times: list[int] = []
    result: Foreign = None
    while len(times) < 3 and sum(times) < _ENOUGH:
        began = clock()
        result = action(*args)
        times.append(clock() - began)
    return min(times), result


def _fetched(ran: Ran, graph: object, operations: Operations) -> Iterator[Fetch]:
    """Each fetched value with the time of the nodes that only it needs, and not the update."""
    leaves = list(_leaves(ran.fetches, ran.result))[:_MOST_FETCHES]
    fed, times = _fed(ran.feed), ran.times
    behind = [_behind(operations(graph, fetch), fed) for fetch, _, _ in leaves]
    needed: set[str] = set()
    for ops in behind:
        if any(_writes(op) for op in ops.values()):
            needed |= set(ops)
    spare = [name for name in ran.ops if name not in needed]
    for position, (fetch, value, path) in enumerate(leaves):
        size = getattr(value, "nbytes", None)
        if size is None:
            continue
        own = [name for name in behind[position] if name not in needed]
        yield Fetch(
            cycle=0,
            name=_names(fetch)[0],
            bytes=int(size),
            position=position,
            of=len(leaves),
            key=_only_key(path),
            own_ops=len(own),
            own=covered(times[name] for name in own if name in times),
            spare=covered(times[name] for name in spare if name in times),
            timed=bool(times),
            dtype=str(getattr(value, "dtype", "")),
        )


def _only_key(path: tuple[Foreign, ...]) -> str | int | None:
    key = path[0] if len(path) == 1 else None
    return key if isinstance(key, str | int) else None


def _leaves(
    fetches: Foreign, result: Foreign, path: tuple[Foreign, ...] = ()
) -> Iterator[tuple[Foreign, Foreign, tuple[Foreign, ...]]]:
    """Fetches beside their values, one by one; and the keys that lead to each."""
    if isinstance(fetches, dict) and isinstance(result, dict):
        for key in fetches:
            yield from _leaves(fetches[key], result.get(key), (*path, key))
        return
    nested = isinstance(fetches, list | tuple) and isinstance(result, list | tuple)
    if nested and len(fetches) == len(result):
        for index, (fetch, value) in enumerate(zip(fetches, result, strict=True)):
            yield from _leaves(fetch, value, (*path, index))
        return
    yield fetches, result, path
