"""Sees ops that are added to a session's graph while it trains, their lines, and what runs take."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType, ModuleType

from unslow.facts.schema import Place, Stack
from unslow.facts.sessions import GraphGrew, RunSite
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, Recorder, clock

cpu = time.thread_time_ns

_ALL_INSPECTED = 64  # growths; later ones are inspected at growing distances
_MOST_OPS = 200  # per inspection: an op's traceback takes 37 µs
_MOST_SITES = 200
_MOST_KEYS = 20_000
_MOST_GRAPHS = 50  # scripts that make a graph per trial: old ones must be released
_SITES_WRITTEN = 20
_FRAMES = 6


class Graphs(Probe):
    name = "graphs"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._graphs: dict[int, _Graph] = {}
        self._count = 0
        self._session: Foreign = None
        self._doors: tuple[Foreign, Foreign, Foreign] | None = (
            None  # the class, its own `_do_run`, and ours
        )

    def doors(self) -> Doors:
        # `_do_run` was seen on 2.15 to 2.21: every run of a session passes it, with its tensors
        # and ops resolved. Without it growth goes unseen, and the probe is reported as lost.
        return {"tensorflow.python.client.session": self._on_session}

    def _on_session(self, module: ModuleType) -> None:
        self._session = module.BaseSession
        plain = module.BaseSession._do_run
        self.replace(module.BaseSession, "_do_run", self._run)
        self._doors = (module.BaseSession, plain, module.BaseSession._do_run)
        self.recorder.signals.session_repeats.subscribe(self.name, self._runs_repeat)
        if hasattr(module.BaseSession, "_Callable"):
            self.replace(module.BaseSession._Callable, "__call__", self._call)

    def _runs_repeat(self, repeat: bool) -> None:
        """Restore the plain method while runs only repeat: ours costs a short step too much."""
        if self._doors is None:
            return
        owner, plain, ours = self._doors
        if vars(owner).get("_do_run") is (ours if repeat else plain):
            owner._do_run = plain if repeat else ours

    def _time_extensions(self) -> None:
        """A graph has grown: time how sessions take over new ops. Seen on 2.15 to 2.21."""
        session, self._session = self._session, None
        if session is not None and hasattr(session, "_extend_graph"):
            self.replace(session, "_extend_graph", self._extend)

    def _extend(self, original: Function) -> Function:
        """The session takes over what was added to its graph since its last run."""
        probe = self

        def _extend_graph(self: Foreign) -> object:
            began = clock()
            try:
                return original(self)
            finally:
                probe._graph(self._graph).extended += clock() - began

        return _extend_graph

    def _run(self, original: Function) -> Function:
        local = self.recorder.local
        probe = self

        def _do_run(
            self: Foreign, handle: object, targets: object, fetches: object, *rest: object
        ) -> object:
            lane = local.lane
            path = lane.fast_path
            if lane.busy or (path is not None and path.calling is not None):
                return original(self, handle, targets, fetches, *rest)
            graph = probe._graph(self._graph)
            fresh = graph.begin(targets, fetches)
            if not fresh and not graph.growths and graph.count() == graph.nodes:
                # A run of known fetches on a graph that never grew says nothing.
                return original(self, handle, targets, fetches, *rest)
            run = _Run(fresh, graph.extended)
            try:
                return original(self, handle, targets, fetches, *rest)
            finally:
                run.end(graph.extended)
                probe._ran(lane, graph, run)

        return _do_run

    def _call(self, original: Function) -> Function:
        """A callable of a session: its first call prepares it, as the first run of a fetch does."""
        local = self.recorder.local
        probe = self

        def __call__(self: Foreign, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.busy:
                return original(self, *args, **kwargs)
            graph = probe._graph(self._session._graph)
            run = _Run(graph.begin((self,), ()), graph.extended)
            try:
                return original(self, *args, **kwargs)
            finally:
                run.end(graph.extended)
                probe._ran(lane, graph, run)

        return __call__

    def _ran(self, lane: Lane, graph: _Graph, run: _Run) -> None:
        try:
            began = clock()
            graph.site(sys._getframe(1).f_back, self.recorder).add(run)
            if graph.is_due(self.steps.under_way):
                self._inspect(graph)
                self.recorder.keep_out(lane, clock() - began, self.name)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _graph(self, graph: object) -> _Graph:
        known = self._graphs.get(id(graph))
        if known is None or known.graph is not graph:
            if len(self._graphs) > _MOST_GRAPHS:
                self._graphs.clear()
            self._count += 1
            known = self._graphs[id(graph)] = _Graph(graph, self._count)
        return known

    def _inspect(self, graph: _Graph) -> None:
        """Which of the user's lines made the ops that are new since the last inspection."""
        new = graph.new_operations()
        self._time_extensions()
        attributed = new[:_MOST_OPS]
        lines = Counter(self._frames_of(op) for op in attributed).most_common(20)
        types = Counter(str(op.type) for op in attributed).most_common(12)
        self._write(
            graph, GraphGrew(graph=0, nodes=0, new=len(new), lines=tuple(lines), types=tuple(types))
        )

    def _write(self, graph: _Graph, grew: GraphGrew) -> None:
        sites = list(graph.sites.values())[:_SITES_WRITTEN]
        self.recorder.emit(
            grew.replace(
                key=str(graph.number),
                graph=graph.number,
                nodes=graph.nodes,
                step=self.steps.total,
                since=self.steps.total - graph.inspected_at,
                growths=graph.growths,
                runs=tuple(site.described() for site in sites),
            )
        )
        graph.inspected_at = self.steps.total

    def _frames_of(self, op: Foreign) -> Stack:
        """The user's frames (innermost first) on the way to an op."""
        places: list[Place] = []
        for frame in reversed(op.traceback or ()):
            if self.recorder.user.owns_file(frame.filename):
                places.append(Place(frame.filename, frame.lineno, frame.name))
                self.recorder.keep_source(frame.filename)
                if len(places) == _FRAMES:
                    break
        return tuple(places)

    def disarm(self) -> None:
        """The last word on every graph that grew, so that its totals are exact."""
        self._runs_repeat(False)
        self._doors = None
        for graph in self._graphs.values():
            if graph.growths:
                self._write(graph, GraphGrew(graph=0, nodes=0))
        super().disarm()


class _Run:
    """One run of a session: whether its fetches were new to the graph, and what it took."""

    __slots__ = ("extended", "fresh", "took", "worked")

    def __init__(self, fresh: bool, extended: int) -> None:
        self.fresh = fresh
        self.extended = extended  # nanoseconds in which new ops were taken over
        self.worked = cpu() if fresh else 0  # nanoseconds of the calling thread's processor time
        self.took = clock()

    def end(self, extended: int) -> None:
        self.took = clock() - self.took
        self.extended = extended - self.extended
        if self.fresh:
            self.worked = cpu() - self.worked


class _Site:
    """What runs took at one line.

    A session prepares fetches that it has not seen in the calling thread, and computes in others:
    the least idle time of that thread is the run itself.
    """

    __slots__ = ("extended", "fresh", "fresh_took", "idle", "known", "known_took", "stack")

    def __init__(self, stack: Stack = ()) -> None:
        self.stack = stack
        self.known = self.known_took = self.extended = 0
        self.fresh = self.fresh_took = self.idle = 0

    def add(self, run: _Run) -> None:
        if run.fresh:
            idle = run.took - run.worked
            self.idle = min(self.idle, idle) if self.fresh else idle
            self.fresh += 1
            self.fresh_took += run.took
        else:
            self.known += 1
            self.known_took += run.took - run.extended
            self.extended += run.extended

    def described(self) -> RunSite:
        return RunSite(**{name: getattr(self, name) for name in self.__slots__})


class _Graph:
    """What is known of one graph: its size, and for each line that runs it what the runs took."""

    def __init__(self, graph: Foreign, number: int) -> None:
        self.graph = graph
        self.number = number
        self.version = 0  # the graph's, at the last inspection
        self.nodes = 0
        self.inspected_at = 0  # updates at the last inspection
        self.growths = 0  # inspections that found new ops after training had begun
        self.extended = 0  # nanoseconds in which sessions took over new ops
        self.sites: dict[tuple[int, int], _Site] = {}  # by code object and instruction
        self._kept: list[Foreign] = []
        self._keys: set[Foreign] = set()
        self._next = 0
        # Cheap where TensorFlow keeps its graphs in C++ (seen on 2.21).
        counted = getattr(graph, "num_operations", None)
        self.count: Callable[[], int] = counted or self._count_operations

    def begin(self, targets: Foreign, fetches: Foreign) -> bool:
        """Whether a run's fetches are new to the graph."""
        key = (*map(id, targets), None, *map(id, fetches))
        if key in self._keys:
            return False
        if len(self._keys) > _MOST_KEYS:
            self._keys.clear()
        self._keys.add(key)
        return True

    def site(self, frame: FrameType | None, recorder: Recorder) -> _Site:
        while frame is not None and _is_tensorflow(frame, recorder):
            frame = frame.f_back
        key = (id(frame.f_code), frame.f_lasti) if frame is not None else (0, 0)
        found = self.sites.get(key)
        if found is not None:
            return found
        if len(self.sites) >= _MOST_SITES:
            return _Site()
        if frame is not None:
            self._kept.append(frame.f_code)  # its id must not be used again
        self.sites[key] = _Site(recorder.stack(frame, _FRAMES))
        return self.sites[key]

    def is_due(self, steps: int) -> bool:
        """Whether the graph has grown while it trains, and this growth is to be inspected."""
        if self.graph.version == self.version:
            return False
        if not steps or not self.version:  # it is being built: only its size is of interest
            self.version = self.graph.version
            self.nodes = len(self.graph.get_operations())
            return False
        if steps < self._next:
            return False
        self._next = 0 if self.growths < _ALL_INSPECTED else int(steps * 1.05) + 1
        return True

    def _count_operations(self) -> int:
        return self.nodes if self.graph.version == self.version else -1

    def new_operations(self) -> list[Foreign]:
        operations = self.graph.get_operations()
        new = list(operations[self.nodes :])
        self.growths += 1
        self.version = self.graph.version
        self.nodes = len(operations)
        return new


def _is_tensorflow(frame: FrameType, recorder: Recorder) -> bool:
    return "tensorflow" in frame.f_code.co_filename and not recorder.user.owns(frame.f_code)
