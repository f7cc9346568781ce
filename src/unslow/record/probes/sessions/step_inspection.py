"""One training step of a session inspected: what each of its runs feeds, computes and fetches."""

from __future__ import annotations

from unslow.facts.sessions import Feed, InspectedRun
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import Recorder
from unslow.record.probes.sessions.feeds import MOST_FEEDS, fed_alike, feeds_include, measured_feeds
from unslow.record.probes.sessions.fetches import measured_fetches
from unslow.record.probes.sessions.node_times import covered, node_times, queue_wait
from unslow.record.probes.sessions.session_run import (
    MOST_OPS,
    Operations,
    Ran,
    fed_names,
    names_of,
    ops_behind,
    writes_variable,
)

_MOST_UPDATES = 4  # in one step: after that many the window closes at any update
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
        small = graph.version < MOST_OPS
        for ran in self.runs:
            ran.times = node_times(ran.metadata)
            if small and ran.session.graph is graph:
                ran.ops = ops_behind(operations(graph, ran.fetches), fed_names(ran.feed))
        measured: dict[int, Feed] = {}  # by the id of what is fed: mostly to several runs
        for index, ran in enumerate(self.runs[1:]):
            where = {"cycle": cycle, "index": index, "stack": ran.stack}
            recorder.emit(self._run(index, recorder).replace(**where))
            for feed in measured_feeds(ran, measured):
                recorder.emit(feed.replace(**where))
            if ran.updates and small:
                for fetch in measured_fetches(ran, graph, operations):
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
            fetches=tuple(names_of(ran.fetches)[:MOST_FEEDS]),
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
        after, before = feeds_include(ran.feed, first.feed), feeds_include(ran.feed, last.feed)
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
        if any(feeds_include(ran.feed, self.runs[place].feed) for place in self._updates(index)):
            return None
        for number, other in enumerate(earlier):
            changed = any(each.writes() for each in earlier[number:])
            if other.session is ran.session and not changed and fed_alike(ran, other):
                return number
        return None


def _depends(ran: Ran, update: Ran) -> bool:
    """Whether a run reads a variable that an update writes."""
    changing = [op for op in update.ops.values() if writes_variable(op) and len(op.inputs)]
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
