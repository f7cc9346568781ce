"""Sees ops that are added to a session's graph while it trains: how many, at which lines, and what runs take then."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock

cpu = time.thread_time_ns

_LOOKS_IN_FULL = (
    64  # new ops are attributed at this many growths in a row, then at growing distances
)
_OPS_PER_LOOK = 200  # an op's traceback takes 37 µs
_SITES = 200
_FRAMES = 6
_LONG = 1 << 62


class Graphs(Probe):
    name = "graphs"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._graphs: dict[int, _Graph] = {}
        self._count = 0
        self._session: Any = None
        self._doors: tuple[Any, Any, Any] | None = None  # the class, its own `_do_run`, and ours

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        # `_do_run` was seen on 2.15 to 2.21: every run of a session passes it, with its tensors and ops resolved.
        # Without it growth goes unseen, and the probe is reported as lost.
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
        """Put the plain door back while runs only repeat: even to pass through ours costs a short step too much."""
        if self._doors is None:
            return
        owner, plain, ours = self._doors
        if vars(owner).get("_do_run") is (ours if repeat else plain):
            owner._do_run = plain if repeat else ours

    def _time_extensions(self) -> None:
        """A graph has grown: time how long sessions take to take over new ops. Seen on 2.15 to 2.21."""
        session, self._session = self._session, None
        if session is not None and hasattr(session, "_extend_graph"):
            self.replace(session, "_extend_graph", self._extend)

    def _extend(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The session takes over what was added to its graph since its last run."""
        probe = self

        def _extend_graph(self: Any) -> Any:
            began = clock()
            try:
                return original(self)
            finally:
                probe._graph(self._graph).extended += clock() - began

        return _extend_graph

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        probe = self

        def _do_run(self: Any, handle: Any, targets: Any, fetches: Any, *rest: Any) -> Any:
            lane = local.lane
            path = lane.fast_path
            if lane.busy or (path is not None and path.calling is not None):
                return original(self, handle, targets, fetches, *rest)
            graph = probe._graph(self._graph)
            fresh, worked = graph.begin(targets, fetches), 0
            if (
                not fresh and not graph.growths and graph.count() == graph.nodes
            ):  # a run of known fetches says nothing
                return original(self, handle, targets, fetches, *rest)
            extended = graph.extended
            began = clock()
            if fresh:
                worked = cpu()
            try:
                return original(self, handle, targets, fetches, *rest)
            finally:
                took = clock() - began
                probe._ran(
                    lane,
                    graph,
                    fresh,
                    took,
                    cpu() - worked if fresh else 0,
                    graph.extended - extended,
                )

        return _do_run

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A callable of a session: its first call prepares it, as the first run of a fetch does."""
        local = self.recorder.local
        probe = self

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.busy:
                return original(self, *args, **kwargs)
            graph = probe._graph(self._session._graph)
            fresh = graph.begin((self,), ())
            began, worked = clock(), cpu() if fresh else 0
            try:
                return original(self, *args, **kwargs)
            finally:
                probe._ran(lane, graph, fresh, clock() - began, cpu() - worked if fresh else 0, 0)

        return __call__

    def _ran(
        self, lane: Lane, graph: _Graph, fresh: bool, took: int, worked: int, extended: int
    ) -> None:
        try:
            began = clock()
            site = graph.site(sys._getframe(1).f_back, self.recorder)
            if fresh:
                site[3] += 1
                site[4] += took
                site[5] = min(site[5], took - worked)
            else:
                site[0] += 1
                site[1] += took - extended
                site[2] += extended
            if graph.due(self.steps.under_way):
                self._look(graph)
                self.recorder.keep_out(lane, clock() - began, self.name)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _graph(self, graph: Any) -> _Graph:
        known = self._graphs.get(id(graph))
        if known is None or known.graph is not graph:
            if (
                len(self._graphs) > 50
            ):  # scripts that make a graph per trial: old ones must be let go
                self._graphs.clear()
            self._count += 1
            known = self._graphs[id(graph)] = _Graph(graph, self._count)
        return known

    def _look(self, graph: _Graph) -> None:
        """Which of the user's lines made the ops that are new since the last look."""
        new = graph.new_operations()
        self._time_extensions()
        lines: Counter[tuple[Any, ...]] = Counter()
        types: Counter[str] = Counter()
        for op in new[:_OPS_PER_LOOK]:
            types[op.type] += 1
            lines[self._line_of(op)] += 1
        self._write(graph, len(new), lines.most_common(20), types.most_common(12))
        graph.looked = self.steps.total

    def _write(self, graph: _Graph, new: int, lines: list[Any], types: list[Any]) -> None:
        self.recorder.fact(
            "graph",
            str(graph.number),
            graph=graph.number,
            nodes=graph.nodes,
            new=new,
            step=self.steps.total,
            since=self.steps.total - graph.looked,
            lines=lines,
            types=types,
            growths=graph.growths,
            runs=[_described(site) for site in list(graph.sites.values())[:20]],
        )

    def _line_of(self, op: Any) -> tuple[Any, ...]:
        """The user's frames (innermost first) on the way to an op."""
        places = []
        for frame in reversed(op.traceback or ()):
            if self.recorder.user.owns_file(frame.filename):
                places.append((frame.filename, frame.lineno, frame.name))
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
                graph.looked = self.steps.total
                self._write(graph, 0, [], [])
        super().disarm()


class _Graph:
    """What is known of one graph: its size, and for each line that runs it what the runs took."""

    def __init__(self, graph: Any, number: int) -> None:
        self.graph = graph
        self.number = number
        self.seen = 0  # the graph's version at the last look
        self.nodes = 0
        self.looked = 0  # updates at the last look
        self.growths = 0  # looks that found new ops after training had begun
        self.extended = 0  # nanoseconds in which sessions took over new ops
        # By line: runs of known fetches, their ns without extension, those of extension; runs of fresh fetches,
        # their ns, and the least of them in which the thread did not work. A session prepares fetches that it
        # has not seen in the calling thread, and computes in others: what is left is the run itself.
        self.sites: dict[tuple[int, int], list[Any]] = {}
        self._kept: list[Any] = []
        self._keys: set[Any] = set()
        self._next = 0
        # Cheap where TensorFlow keeps its graphs in C++ (seen on 2.21).
        self.count: Callable[[], int] = (
            getattr(graph, "num_operations", None) or self._count_operations
        )

    def begin(self, targets: Any, fetches: Any) -> bool:
        """Whether a run's fetches are new to the graph."""
        key = (*map(id, targets), None, *map(id, fetches))
        if key in self._keys:
            return False
        if len(self._keys) > 20_000:
            self._keys.clear()
        self._keys.add(key)
        return True

    def site(self, frame: FrameType | None, recorder: Any) -> list[Any]:
        while (
            frame is not None
            and "tensorflow" in frame.f_code.co_filename
            and not recorder.user.owns(frame.f_code)
        ):
            frame = frame.f_back
        key = (id(frame.f_code), frame.f_lasti) if frame is not None else (0, 0)
        found = self.sites.get(key)
        if found is None:
            if len(self.sites) >= _SITES:
                return [0, 0, 0, 0, 0, _LONG, []]
            if frame is not None:
                self._kept.append(frame.f_code)  # its id must not be used again
            found = self.sites[key] = [0, 0, 0, 0, 0, _LONG, recorder.stack(frame, _FRAMES)]
        return found

    def due(self, steps: int) -> bool:
        """Whether the graph has grown while it trains, and this growth is to be looked at: all at first, then fewer."""
        if self.graph.version == self.seen:
            return False
        if not steps or not self.seen:  # it is being built: only its size is of interest
            self.seen = self.graph.version
            self.nodes = len(self.graph.get_operations())
            return False
        if steps < self._next:
            return False
        self._next = 0 if self.growths < _LOOKS_IN_FULL else int(steps * 1.05) + 1
        return True

    def _count_operations(self) -> int:
        return self.nodes if self.graph.version == self.seen else -1

    def new_operations(self) -> list[Any]:
        operations = self.graph.get_operations()
        new = list(operations[self.nodes :])
        self.growths += 1
        self.seen = self.graph.version
        self.nodes = len(operations)
        return new


def _described(site: list[Any]) -> dict[str, Any]:
    known, took, extended, fresh, fresh_took, idle, stack = site
    return {
        "stack": stack,
        "known": known,
        "known_took_ns": took,
        "extended_ns": extended,
        "fresh": fresh,
        "fresh_took_ns": fresh_took,
        "idle_ns": idle if fresh else 0,
    }
