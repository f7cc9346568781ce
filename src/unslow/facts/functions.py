"""Facts about `tf.function`: traces, calls that are not like the others, and traced graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from unslow.facts.schema import Duration, Fact, Place, Stack, Tally, Thinned


class Trace(Thinned, probe="functions"):
    """A function was traced."""

    name: str
    place: Place = Place("", 0)  # of its code
    function: int = 0  # number of the tf.function object, 0 for none
    depth: int = 0  # traces around it
    inner: Duration = 0.0  # traces inside it
    failed: bool = False
    args: Mapping[str, str] = {}  # leaf → dtype and shape, or Python value
    way: str = ""  # who made the tf.function: direct, method, keras, data or library
    made: Stack = ()  # and where
    nodes: int = 0
    ops_float64: int = 0  # nodes with a result of this precision
    ops_float32: int = 0
    updates: bool = False  # its graph writes weights
    jit: bool = False
    step: int = 0  # updates so far
    relaxed: bool = False  # reduce_retracing
    weights: str = ""  # which variables its graph works on
    stack: Stack = ()  # who called


class FirstRun(Thinned, probe="functions"):
    """A call that traced; `took` is all of it."""

    name: str
    place: Place = Place("", 0)
    function: int = 0
    traced: Duration = 0.0
    calls: int = 0  # so far, that traced nothing
    calls_took: Duration = 0.0
    step: int = 0
    stack: Stack = ()


class TracedBefore(Fact, probe="functions", kind="traced_before"):
    """A tf.function had been traced before the recording began."""

    name: str
    place: Place  # where its code is
    function: int  # its number
    traces: int = 0
    updates: bool = False  # some of its graphs write trainable weights


class FunctionTotals(Fact, probe="functions", kind="function"):
    """At the end, for each function that was traced: its calls that traced nothing."""

    function: int
    calls: int = 0
    calls_took: Duration = 0.0


class CallProfile(NamedTuple):
    """What a profiler window saw of one call, in seconds."""

    call: float
    prepare: float = 0.0  # until the first kernel: the graph is optimized and loaded
    compile: float = 0.0  # XLA
    data: float = 0.0  # waiting for an iterator
    run: float = 0.0  # the rest


class UnusualCall(Thinned, probe="calls", kind="call"):
    """A call of a compiled function that is not like the others; `took` is without inspections."""

    name: str
    why: tuple[str, ...]  # first, traced, reset, shapes, long or early
    function: int = 0
    traced: Duration = 0.0
    usual: Duration = 0.0  # a usual call so far; 0 if there was none
    number: int = 0  # of the call
    jit: bool = False
    shapes: tuple[tuple[int, ...], ...] = ()  # of the first tensors in its arguments
    distinct: int = 0  # shapes so far
    step: int = 0
    stack: Stack = ()
    place: Place | None = None  # after a reset: its line …
    way: str = ""  # … and what it was, as in `Reset`
    trace: str = ""  # file of a profiler window, in the run folder
    # What the window saw; filled in when the recording is read. Where it held too many events to be
    # read: `prepare` is the time that the calling thread ran or waited for a processor, and `data`
    # is not distinguished from `run`.
    call: Duration = 0.0
    prepare: Duration = 0.0
    compile: Duration = 0.0
    data: Duration = 0.0
    run: Duration = 0.0

    @property
    def profile(self) -> CallProfile | None:
        if not self.call:
            return None
        return CallProfile(self.call, self.prepare, self.compile, self.data, self.run)


class Reset(Tally, probe="calls"):
    """Prepared kernels were thrown away at a line."""

    way: str = ""  # set_seed, clear_session or context reset


class Unrolled(Thinned, probe="traced"):
    """Ops of a traced graph repeat, or of the graph that a session trains."""

    name: str
    place: Place
    nodes: int
    repeats: int
    repeated: int  # ops
    each: int = 0  # ops per iteration
    touches: int = 0  # repeated ops that use a variable
    own: int = 0  # of them, those that use one of their own
    stack: Stack = ()  # the way to them inside the function
    loop: tuple[int, int, int] | None = None  # frame of the stack; first and last line of its loop
    session: bool = False
    step: int = 0


class Constants(Thinned, probe="traced"):
    """Arrays of a megabyte or more are baked into a traced graph."""

    name: str
    place: Place
    count: int
    bytes: int
    largest: int
    shape: tuple[int, ...] = ()  # of the largest
    stack: Stack = ()
    step: int = 0


class GraphLoop(Thinned, probe="loops"):
    """A loop became part of a graph."""

    stack: Stack = ()
    name: str = ""
    made_by: str = ""  # map_fn, scan, foldl, foldr, rnn or while_loop
    carried: bool  # an iteration needs the one before
    ops: int  # in its body
    pipeline: bool = False  # it belongs to tf.data
    step: int = 0


class Eagerly(Thinned, probe="flags"):
    """A flag that makes functions run op by op was set, or compile() was called."""

    way: str  # run_functions_eagerly, compile or run_eagerly
    value: bool
    model: int = 0  # its id
    stack: Stack = ()
    step: int = 0
