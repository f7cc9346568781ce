"""Records what profiles or checks a whole training: TensorFlow's and Python's tools."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType

from unslow.facts.phase import Phase
from unslow.facts.profiler import ProfilerSwitch, Timeline
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane

_LOG = int(Phase.LOG)
# By module: what switches a tool on, what switches it off, and what the user calls it.
_SWITCHES = {
    "tensorflow.python.profiler.profiler_v2": ("start", "stop", "tf.profiler"),
    "tensorflow.python.ops.summary_ops_v2": ("trace_on", "trace_off", "tf.summary.trace_on"),
    "tensorflow.python.debug.lib.check_numerics_callback": (
        "enable_check_numerics",
        "disable_check_numerics",
        "tf.debugging.enable_check_numerics",
    ),
    "tensorflow.python.debug.lib.dumping_callback": (
        "enable_dump_debug_info",
        "disable_dump_debug_info",
        "tf.debugging.experimental.enable_dump_debug_info",
    ),
}
_INTERVAL = 64  # steps between checks of Python's own hooks, after the first 64


class Profilers(Probe):
    name = "profilers"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._on: dict[str, bool] = {}
        self._next = 0
        full_trace = functools.partial(self._switched, "FULL_TRACE")
        self.recorder.signals.full_trace.subscribe(self.name, full_trace)
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        timeline = self.wrapping({"Timeline.generate_chrome_trace_format": self._written_out})
        switches = {
            module: self.wrapping({on: self._switch(what, True), off: self._switch(what, False)})
            for module, (on, off, what) in _SWITCHES.items()
        }
        return {"tensorflow.python.client.timeline": timeline, **switches}

    def _written_out(self, original: Function) -> Function:
        """Formatting the trace of a run is a part of what tracing costs."""
        local, open_span = self.recorder.local, self.recorder.open_span
        close, tally = self.recorder.close_span, self.recorder.tally

        def generate_chrome_trace_format(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            entry = open_span(lane, _LOG)
            try:
                return original(self, *args, **kwargs)
            finally:
                tally(Timeline, sys._getframe().f_back, close(lane, entry))

        return generate_chrome_trace_format

    def _switch(self, what: str, on: bool) -> Callable[[Foreign], Foreign]:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        probe = self

        def make(original: Function) -> Function:
            def switch(*args: object, **kwargs: object) -> object:
                lane = local.lane
                if lane.busy:  # a window of ours
                    return original(*args, **kwargs)
                entry = open_span(lane, _LOG)
                try:
                    result = original(*args, **kwargs)
                finally:
                    took = close(lane, entry)
                probe._switched(what, on, sys._getframe().f_back, took)
                return result

            return switch

        return make

    def _switched(self, what: str, on: bool, frame: FrameType | None, took: int) -> None:
        with self.fence:
            if self._on.get(what, False) == on:
                return
            self._on[what] = on
            stack, step = self.recorder.stack(frame), self.steps.total
            self.recorder.emit(
                ProfilerSwitch(key=what, took=took, what=what, on=on, step=step, stack=stack)
            )

    def _stepped(self, lane: Lane, total: int) -> None:
        """Python's profilers and tracers are checked for: no call of ours sees them start."""
        if total < self._next:
            return
        self._next = total + (1 if total < _INTERVAL else _INTERVAL)
        self._switched("a Python profiler", sys.getprofile() is not None or _monitored(), None, 0)
        self._switched("a Python tracer", sys.gettrace() is not None, None, 0)
        tracer = sys.modules.get("tracemalloc")
        self._switched("tracemalloc", tracer is not None and tracer.is_tracing(), None, 0)

    def disarm(self) -> None:
        super().disarm()
        self.recorder.signals.step.unsubscribe(self._stepped)


def _monitored() -> bool:
    """From Python 3.12 on cProfile uses `sys.monitoring`."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.PROFILER_ID) is not None
