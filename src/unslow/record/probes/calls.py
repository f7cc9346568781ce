"""Sees calls of compiled functions that are not like the others: first, after a reset, of new shapes, or just long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.probe import Probe
from unslow.record.recorder import Lane, clock
from unslow.record.window import Inside, close_window, open_window, stop_window

_TRACE = int(Phase.TRACE)
_PACE = "_unslow_pace"
_NUMBER = "_unslow_number"  # given by the functions probe when a function is traced
_LEAVES = 12
_MOST_SHAPES = 10_000
_LONG = 3  # times the usual call, and a little more so that a hiccup of the machine is not one
_MORE = 2_000_000
_TOO_LONG = 20_000_000_000  # nanoseconds that a window may be open
_EARLY = 8  # calls that are written whatever they took: what is usual is not known yet


class _Pace:
    """What is usual for one function."""

    __slots__ = ("calls", "looks", "resets", "shapes", "special", "usual")

    def __init__(self) -> None:
        self.calls = 0
        self.usual = 0  # nanoseconds, following the calls that nothing special happened to
        self.special = 0
        self.looks = 0
        self.resets = 0
        self.shapes: set[Any] = set()

    def follow(self, took: int) -> None:
        """Down in a few calls, up in many: what is usual is what most calls take when nothing is in their way."""
        if not self.usual:
            self.usual = took
        else:
            self.usual += (took - self.usual) >> (1 if took < self.usual else 4)


class Calls(Probe):
    name = "calls"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._resets = 0
        self._reset: Any = None  # the user's frames at the last reset, and its way
        self._depth: dict[int, int] = {}  # traces that are open, by thread
        self._first: set[int] = set()  # threads in a first call, whose window opens when the trace is done
        self._windows: dict[int, tuple[Any, int]] = {}  # open windows by thread, and since when
        self.watcher.looks.append(self._overdue)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        place = "tensorflow.python.eager.polymorphic_function"
        return {
            f"{place}.polymorphic_function": self._on_function,
            f"{place}.tracing_compilation": self._on_tracing,
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_function(self, module: ModuleType) -> None:
        self.replace(module.Function, "_call", self._call)  # seen on 2.15 to 2.21

    def _on_tracing(self, module: ModuleType) -> None:
        self.replace(module, "_create_concrete_function", self._trace)

    def _on_context(self, module: ModuleType) -> None:
        """All that throws away prepared kernels passes one of these; seen on 2.15 to 2.21."""
        for owner, name, way in (
            (module.Context, "_set_global_seed", "set_seed"),
            (module.Context, "clear_kernel_cache", "clear_session"),
            (module, "_reset_context", "context reset"),
        ):
            if hasattr(owner, name):
                self.replace(owner, name, self._resetting(way))

    def _resetting(self, way: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def reset(*args: Any, **kwargs: Any) -> Any:
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
        held = next((frame for _, frame in self.recorder.user.frames(sys._getframe(2), 1)), None)
        if held is not None:
            self._reset = (held.f_code, held.f_lineno, way)
            self.recorder.tally("reset", held, took, way=way)

    def _trace(self, original: Callable[..., Any]) -> Callable[..., Any]:
        probe, local = self, self.recorder.local

        def _create_concrete_function(*args: Any, **kwargs: Any) -> Any:
            thread = local.lane.thread
            probe._depth[thread] = probe._depth.get(thread, 0) + 1
            try:
                return original(*args, **kwargs)
            finally:
                probe._depth[thread] -= 1
                if thread in probe._first and not probe._depth[thread]:
                    probe._open(local.lane)

        return _create_concrete_function

    def _open(self, lane: Lane) -> None:
        """Open a window on the rest of a call; never in a trial, which is timed as it is."""
        if lane.thread in self._windows or self.recorder.kept_weights is not None:
            return
        began = clock()
        window = open_window()
        if window is not None:
            self._windows[lane.thread] = (window, clock())
        self.recorder.keep_out(lane, clock() - began)

    def _overdue(self) -> None:
        """On the watcher's thread: a call that holds a whole training must not fill the profiler's memory."""
        for thread, (window, since) in list(self._windows.items()):
            if clock() - since > _TOO_LONG and self._windows.pop(thread, None) is not None:
                stop_window(window)

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        probe = self

        def _call(self: Any, *args: Any, **kwds: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy or len(lane.functions) > 1:
                return original(self, *args, **kwds)
            pace = self.__dict__.get(_PACE)
            if pace is None:
                pace = self.__dict__[_PACE] = _Pace()
            key = _shapes(args, kwds)
            traced, phases, own = lane.phases[_TRACE], lane.phases, lane.own
            fresh = key not in pace.shapes
            reset = pace.resets != probe._resets
            if fresh or reset or not pace.calls:
                probe._prepare(lane, self, pace, reset)
            began = clock() - lane.own + own
            try:
                result = original(self, *args, **kwds)
            except BaseException:  # the end of the data, an error: no call like the others
                probe._given_up(lane)
                raise
            took = clock() - began - (lane.own - own)
            traced = lane.phases[_TRACE] - traced if lane.phases is phases else 0
            if fresh or reset or traced or took > _LONG * pace.usual + _MORE or pace.calls < _EARLY:
                probe._special(lane, self, pace, took, traced, key, fresh, reset)
            else:
                pace.follow(took)
            pace.calls += 1
            return result

        return _call

    def _prepare(self, lane: Lane, function: Any, pace: _Pace, reset: bool) -> None:
        """Open a window where it will tell something: after resets and for new shapes under XLA, ever more seldom."""
        if not pace.calls:
            self._first.add(lane.thread)
        elif reset or getattr(function, "_jit_compile", False):
            pace.looks += 1
            if pace.looks & (pace.looks - 1) == 0:
                self._open(lane)

    def _given_up(self, lane: Lane) -> None:
        self._first.discard(lane.thread)
        window = self._windows.pop(lane.thread, None)
        if window is not None:
            stop_window(window[0])

    def _special(self, lane: Lane, function: Any, pace: _Pace, took: int, traced: int, key: Any, fresh: bool,
                 reset: bool) -> None:  # fmt: skip
        """Write down a call that was not like the others, with what a window saw of it."""
        began = clock()
        try:
            first = not pace.calls
            self._first.discard(lane.thread)
            window = self._windows.pop(lane.thread, None)
            inside = close_window(window[0]) if window is not None else None
            why = [
                word
                for word, holds in (
                    ("first", first), ("traced", traced), ("reset", reset and not first),
                    ("shapes", fresh and not first and len(pace.shapes)),
                )
                if holds
            ]  # fmt: skip
            if fresh and len(pace.shapes) < _MOST_SHAPES:
                pace.shapes.add(key)
            pace.resets = self._resets
            pace.special += 1
            if not why:
                why = ["long" if pace.usual and took > _LONG * pace.usual + _MORE else "early"]
                pace.follow(took)  # a new level, perhaps: it must not look long for ever
            self._write(lane, function, pace, took, traced, key, why, inside)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        self.recorder.keep_out(lane, clock() - began)

    def disarm(self) -> None:
        for thread in list(self._windows):
            window = self._windows.pop(thread, None)
            if window is not None:
                stop_window(window[0])
        super().disarm()

    def _write(self, lane: Lane, function: Any, pace: _Pace, took: int, traced: int, key: Any, why: list[str],
               inside: Inside | None) -> None:  # fmt: skip
        number = function.__dict__.get(_NUMBER, 0)
        name = f"{function._name}:{'+'.join(why)}"
        if inside is None and not self.recorder.wants("call", name):
            self.recorder.fact("call", name, took)
            return
        parts: dict[str, Any] = {}
        if inside is not None:
            parts = {"call_ns": inside.call, "prepare_ns": inside.prepare, "compile_ns": inside.compile,
                     "data_ns": inside.data, "run_ns": inside.run}  # fmt: skip
        if "reset" in why and self._reset is not None:
            code, line, way = self._reset
            parts |= {"place": [code.co_filename, line, code.co_name], "way": way}
        self.recorder.fact(
            "call", name, took, name=str(function._name), function=number, why=why, traced_ns=traced,
            usual_ns=pace.usual, number=pace.calls + 1, jit=bool(getattr(function, "_jit_compile", False)),
            shapes=[list(shape or ()) for shape in key[:_LEAVES]], distinct=len(pace.shapes), step=self.steps.total,
            stack=self.recorder.stack(sys._getframe(3)), **parts,
        )  # fmt: skip


def _shapes(args: tuple[Any, ...], kwds: dict[str, Any]) -> tuple[Any, ...]:
    """The shapes of the first few tensors and arrays in the arguments."""
    found: list[Any] = []
    for value in (*args, *kwds.values()) if kwds else args:
        shape_of = getattr(value, "_shape_tuple", None)
        if shape_of is not None:
            found.append(shape_of())
        elif isinstance(value, tuple | list | dict):
            _gather(value, found, 0)
    return tuple(found)


def _gather(value: Any, found: list[Any], depth: int) -> None:
    if len(found) >= _LEAVES or depth > 3:
        return
    shape_of = getattr(value, "_shape_tuple", None)
    if shape_of is not None:
        found.append(shape_of())
    elif isinstance(value, tuple | list):
        for inner in value:
            _gather(inner, found, depth + 1)
    elif isinstance(value, dict):
        for inner in value.values():
            _gather(inner, found, depth + 1)
