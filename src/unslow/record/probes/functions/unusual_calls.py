"""Sees calls of compiled functions that are first, long, of new shapes or after a reset."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType

from unslow.facts.functions import Reset, UnusualCall
from unslow.facts.schema import Place
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.functions.compiled import Call, InspectedCall, shapes
from unslow.record.probes.profiler.window import (
    Window,
    close_window,
    open_window,
    stop_window,
)

_MOST_BYTES = 12 << 20  # of all windows
# A window that may hold more is not read: a call that fills a shuffle buffer or goes through a long
# loop. Reading 190,000 events took 0.6 s of work, and 60,000 make a profile that is not kept.
_MOST_EVENTS = 150_000
_TOO_LONG = 20_000_000_000  # nanoseconds that a window may be open


class Calls(Probe):
    name = "calls"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._resets = 0  # how often what TensorFlow had prepared was thrown away
        self._reset: tuple[Place, str] | None = None  # the last one's line, and what it was
        self._depth: dict[int, int] = {}  # traces that are open, by thread
        # Threads in a first call, whose window opens when the trace is done.
        self._first: set[int] = set()
        self._sizes: list[int] = []  # of the windows that were kept, in bytes
        self._firsts: dict[str, int] = {}  # first calls of functions, by their name
        self._windows: dict[int, tuple[Window, int]] = {}  # open windows by thread, and since when
        self._compiles = False  # XLA has something to compile
        self._released = False  # the program uses the profiler
        signals = self.recorder.signals
        signals.tick.subscribe(self.name, self._overdue)
        signals.call_begins.subscribe(self.name, self._prepare)
        signals.call_was_unusual.subscribe(self.name, self._ended)
        signals.call_raised.subscribe(self.name, self._raised)
        signals.profiler_taken.subscribe(self.name, self._release)

    def doors(self) -> Doors:
        place = "tensorflow.python.eager.polymorphic_function"
        return {
            f"{place}.tracing_compilation": self.wrapping(
                {"_create_concrete_function": self._trace}
            ),
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_context(self, module: ModuleType) -> None:
        """All that throws away prepared kernels passes one of these; seen on 2.15 to 2.21."""
        for owner, name, way in (
            (module.Context, "_set_global_seed", "set_seed"),
            (module.Context, "clear_kernel_cache", "clear_session"),
            (module, "_reset_context", "context reset"),
        ):
            if hasattr(owner, name):
                self.replace(owner, name, self._resetting(way))

    def _resetting(self, way: str) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            def reset(*args: object, **kwargs: object) -> object:
                began = clock()
                result = original(*args, **kwargs)
                self._was_reset(way, clock() - began)
                return result

            return reset

        return make

    def _was_reset(self, way: str, took: int) -> None:
        lane = self.recorder.local.lane
        if lane.busy or lane.tracing:
            return
        self._resets += 1
        self.recorder.signals.kernels_reset.send()
        if lane.fast_path is not None:
            self.steps.leave_fast_path()
        with self.fence:
            for place, frame in self.recorder.user.frames(sys._getframe(1).f_back, 1):
                self._reset = (Place(*place), way)
                self.recorder.tally(Reset, frame, took, way=way)

    def _trace(self, original: Function) -> Function:
        probe, local = self, self.recorder.local

        def _create_concrete_function(*args: object, **kwargs: object) -> object:
            thread = local.lane.thread
            probe._depth[thread] = probe._depth.get(thread, 0) + 1
            probe._compiles = probe._compiles or _is_for_xla(args)
            try:
                return original(*args, **kwargs)
            finally:
                probe._depth[thread] -= 1
                if thread in probe._first and not probe._depth[thread]:
                    with probe.fence:
                        probe._open(local.lane)

        return _create_concrete_function

    def _open(self, lane: Lane) -> None:
        """Open a window on the rest of a call; never in a trial, which is timed as it is.

        Nor in a worker of a job, whose first call waits for its peers: its threads would be at
        work when the watcher closes the window.
        """
        recorder = self.recorder
        if recorder.is_trial or recorder.is_worker:
            return
        if self._released or lane.thread in self._windows:
            return
        began = clock()
        window = open_window()
        if window is not None:
            self._windows[lane.thread] = (window, clock())
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _overdue(self) -> None:
        """On the watcher's thread: a very long call must not fill the profiler's memory."""
        for thread, (_, since) in list(self._windows.items()):
            if clock() - since > _TOO_LONG:
                self._stop(thread)

    def _prepare(self, call: Call) -> None:
        """Open a window where it will show something: after resets, and for new shapes under XLA.

        At growing distances. The probe `functions` reports every call that may need one.
        """
        known, lane = call.known, call.lane
        if not known.seen:
            # A script may keep making functions; those of one name are prepared alike.
            count = self._firsts[known.name] = self._firsts.get(known.name, 0) + 1
            if count & (count - 1) == 0:
                self._first.add(lane.thread)
        elif known.resets != self._resets or _is_new_to_xla(call):
            known.windows += 1
            if known.windows & (known.windows - 1) == 0:
                self._open(lane)

    def _raised(self, lane: Lane) -> None:
        """A call raised: the end of the data, or an error."""
        self._first.discard(lane.thread)
        self._stop(lane.thread)

    def _ended(self, unusual: InspectedCall) -> None:
        """Record a call that was not like the others, with what a window saw of it."""
        thread = unusual.call.lane.thread
        self._first.discard(thread)
        window, since = self._windows.pop(thread, (None, 0))
        if window is None:
            self._write(unusual)
        elif self._compiles or window.most_events() <= _MOST_EVENTS:
            self._write(unusual, inside=close_window(window))
        else:
            whole = clock() - since
            prepare = min(whole, window.prepared())
            stop_window(window)
            self._write(unusual, {"call": whole, "prepare": prepare, "run": whole - prepare})

    def _stop(self, thread: int) -> None:
        window = self._windows.pop(thread, None)
        if window is not None:
            stop_window(window[0])

    def _release(self) -> None:
        self._released = True
        for thread in list(self._windows):
            self._stop(thread)

    def disarm(self) -> None:
        self._release()
        super().disarm()

    def _write(
        self, unusual: InspectedCall, parts: dict[str, int] | None = None, inside: bytes = b""
    ) -> None:
        """`parts`: what the call is known to consist of; `inside`: what a window saw of it."""
        function, known, why = unusual.call.function, unusual.call.known, unusual.why
        key = f"{function._name}:{'+'.join(why)}"
        if not inside and not parts and not self.recorder.wants(UnusualCall, key):
            self.recorder.count(UnusualCall, key, unusual.took)
            return
        call = UnusualCall(
            key=key,
            took=unusual.took,
            name=str(function._name),
            function=known.number,
            why=tuple(why),
            traced=unusual.traced,
            usual=known.usual,
            number=known.seen + 1,
            jit=bool(getattr(function, "_jit_compile", False)),
            shapes=_sides(unusual.shapes),
            distinct=len(known.shapes),
            step=self.steps.total,
            stack=self.recorder.stack(sys._getframe()),
        )
        if inside:
            call = call.replace(trace=self._kept(inside))
        if parts:
            call = call.replace(**parts)
        if "reset" in why and self._reset is not None:
            call = call.replace(place=self._reset[0], way=self._reset[1])
        self.recorder.emit(call)

    def _kept(self, inside: bytes) -> str:
        """Write what a window saw into a file of its own, as long as there are not too many."""
        name = f"call-{os.getpid()}-{len(self._sizes) + 1}.trace"
        if sum(self._sizes) + len(inside) > _MOST_BYTES or self.recorder.writer.stalled:
            return ""
        try:
            with open(os.path.join(self.recorder.folder, name), "wb") as file:
                file.write(inside)
        except OSError:
            return ""
        self._sizes.append(len(inside))
        return name


def _is_for_xla(tracing: tuple[Foreign, ...]) -> bool:
    """Whether a function that is traced requests XLA; the last argument holds its options.

    Seen on 2.15 to 2.21. Without it such a call may be taken for one that only runs long.
    """
    options = getattr(tracing[-1], "attributes", None) if tracing else None
    return bool(options and options.get("_XlaMustCompile"))


def _sides(shapes: tuple[Foreign, ...]) -> tuple[tuple[int, ...], ...]:
    """Shapes as a fact has them; a tensor of a graph has sides that are not known, here 0."""
    return tuple(tuple(int(side or 0) for side in shape or ()) for shape in shapes)


def _is_new_to_xla(call: Call) -> bool:
    """Whether XLA must compile for these shapes."""
    compiles = getattr(call.function, "_jit_compile", False)
    return compiles and shapes(call.args, call.kwargs) not in call.known.shapes
