"""What is known of one `tf.function`: shared by the probes that see its traces and its calls."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode
from unslow.record.engine.lanes import Lane, Span
from unslow.record.engine.own_attributes import attribute

EARLY = 8  # first calls, inspected whatever they took: a usual time is not known yet
_LONG = 3  # times the usual call …
_MORE = 2_000_000  # … and nanoseconds more, so that a hiccup of the machine does not count
_LEAVES = 12
_DEEPEST = 4
_MOST_FRAMES = 80
_MOST_SHAPES = 10_000
_KERAS = (f"{os.sep}keras{os.sep}", f"{os.sep}tf_keras{os.sep}")
_DATA = f"{os.sep}data{os.sep}ops{os.sep}"
_UPDATING = ("ResourceApply", "ResourceSparseApply", "AssignSubVariableOp")
_ASSIGNING = ("AssignVariableOp", "AssignAddVariableOp")
_GRADIENTS = "gradient_tape/"  # the scope of what a GradientTape adds to a graph, on 2.15 to 2.21


class Compiled:
    """All that a call reads and writes: more would cost a short step too much."""

    __slots__ = (
        "calls",
        "fixed",
        "legacy",
        "limit",
        "made",
        "name",
        "number",
        "open",
        "ran",
        "resets",
        "seen",
        "shapes",
        "size",
        "took",
        "traces",
        "usual",
        "way",
        "windows",
        "writes",
    )

    def __init__(self, number: int, way: str, made: Stack) -> None:
        self.number, self.way, self.made = number, way, made
        self.name = ""
        self.traces = self.writes = 0  # its graphs, and those of them that write trainable weights
        self.open = False  # a graph of its takes shapes that are not all known
        self.legacy = False  # traced into a graph of TensorFlow 1, where a call only adds an op
        self.ran = False  # the call that is under way runs a graph which writes weights
        self.size = -1.0  # numbers in the first tensor of a call, where every call has the same
        self.calls = self.took = 0  # of calls that traced nothing
        self.seen = 0  # calls from outside any other function
        self.usual = 0  # nanoseconds, following the calls that nothing special happened to
        self.limit = 0  # nanoseconds: a call that takes more is long
        self.fixed = False  # new shapes make a new trace: no need to compare them in each call
        self.windows = self.resets = 0
        self.shapes: set[Foreign] = set()

    def always_writes(self) -> bool:
        """Whether every graph of it writes weights, so that every call does."""
        return 0 < self.writes == self.traces

    def follow(self, took: int) -> None:
        """Moving average: falls fast, rises slowly."""
        if not self.usual:
            self.usual = took
        else:
            self.usual += (took - self.usual) >> (1 if took < self.usual else 4)
        self.limit = _LONG * self.usual + _MORE

    def tell(self, calls: int, took: int, last: int) -> None:
        """Add up usual calls: how many, their nanoseconds, and the last one's."""
        self.calls += calls
        self.took += took
        if calls > 1 or not self.calls & 7:
            self.follow(last)

    def is_long(self, took: int) -> bool:
        return bool(self.usual) and took > self.limit

    def unusual(self, took: int, traced: int, shapes: object, resets: int) -> list[str]:
        """Why a call was not like the others, if it was not."""
        fresh, reset = shapes not in self.shapes, self.resets != resets
        why = self._reasons(traced, fresh, reset)
        expected = not (fresh or reset or took > self.limit or self.seen < EARLY)
        if not why:
            if not expected:
                why.append("long" if self.is_long(took) else "early")
            self.follow(took)  # even of a long call: it may be a new level
        if fresh and len(self.shapes) < _MOST_SHAPES:
            self.shapes.add(shapes)
        self.resets = resets
        return why

    def _reasons(self, traced: int, fresh: bool, reset: bool) -> list[str]:
        why = [] if self.seen else ["first"]
        if traced:
            why.append("traced")
        if reset and self.seen:
            why.append("reset")
        if fresh and self.seen and self.shapes:
            why.append("shapes")
        return why

    def inspected(self) -> None:
        """One more call was inspected."""
        self.seen += 1
        self.fixed = self.traces > 0 and not self.open and self.seen >= EARLY


class Traces(NamedTuple):
    """All traces so far, outermost ones only."""

    number: int = 0
    took: int = 0  # nanoseconds


class Call:
    """A call of a tf.function that is recorded in full."""

    __slots__ = (
        "args",
        "function",
        "inspected",
        "known",
        "kwargs",
        "lane",
        "own",
        "span",
        "traces",
    )

    def __init__(
        self,
        lane: Lane,
        function: Foreign,
        known: Compiled,
        args: tuple[Foreign, ...],
        kwargs: dict[str, Foreign],
    ) -> None:
        self.lane, self.function, self.known = lane, function, known
        self.args, self.kwargs = args, kwargs
        self.span: Span = []
        self.inspected = False
        self.traces = Traces()  # before the call
        self.own = lane.own  # nanoseconds of our inspections before the call


class InspectedCall(NamedTuple):
    """A call that was not like the others."""

    call: Call
    took: int
    traced: int  # nanoseconds of tracing in it
    shapes: tuple[Foreign, ...]
    why: list[str]  # first, traced, reset, shapes, long or early


def batch_size(args: tuple[Foreign, ...]) -> float:
    """Numbers in the first tensor or array that a step is given."""
    for given in args:
        value = _of_first_replica(given)
        if _is_sized(value):
            size = 1.0
            for dimension in _shape(value) or ():
                size *= dimension or 1
            return size
    return 0.0


def _is_sized(value: object) -> bool:
    """Whether it is a tensor, or an array that a call turns into one."""
    kind = type(value)
    is_array = kind.__name__ == "ndarray" and kind.__module__ == "numpy"
    return is_array or hasattr(value, "_shape_tuple")


def _shape(value: Foreign) -> Foreign:
    shape_of = getattr(value, "_shape_tuple", None)
    return shape_of() if shape_of is not None else value.shape


def _of_first_replica(value: object) -> Foreign:
    """A strategy hands a step one value for each of its replicas."""
    held = attribute(value, "_values")
    return held[0] if isinstance(held, tuple) and held else value


def shapes(args: tuple[Foreign, ...], kwds: dict[str, Foreign]) -> tuple[Foreign, ...]:
    """The shapes of the first few tensors and arrays in the arguments."""
    found: list[Foreign] = []
    for value in (*args, *kwds.values()) if kwds else args:
        _gather(value, found, 0)
    return tuple(found)


def _gather(value: Foreign, found: list[Foreign], depth: int) -> None:
    if len(found) >= _LEAVES or depth > _DEEPEST:
        return
    if _is_sized(value):
        found.append(_shape(value))
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for inner in value:
            _gather(inner, found, depth + 1)


_TRIES = 5  # traces take milliseconds, reading them microseconds


def traces_of(function: Foreign) -> list[Foreign]:
    """The concrete functions of a tf.function.

    Private, seen on 2.15 to 2.21: the public ways may trace.
    """
    for _ in range(_TRIES):
        try:
            return list(function._function_cache.values())
        except RuntimeError:  # another thread has just added one
            continue
    return []


def holds_update(graph: Foreign) -> bool:
    """Whether a finished graph, or one that it calls, updates weights, by the types of its ops."""
    operations = graph.get_operations()
    if any(op.type.startswith(_UPDATING) for op in operations) or _assigns(graph, operations):
        return True
    bodies = (function.node_def for function in graph.as_graph_def().library.function)
    return any(node.op.startswith(_UPDATING) for node in itertools.chain(*bodies))


def _assigns(graph: Foreign, operations: Sequence[Foreign]) -> bool:
    """Whether gradients are taken, and then trainable variables assigned to by hand."""
    if not any(op.name.startswith(_GRADIENTS) for op in operations):
        return False
    handles = {id(variable.handle) for variable in getattr(graph, "trainable_variables", ())}
    weights = {inner.name for outer, inner in graph.captures if id(outer) in handles}
    assigned = (op for op in operations if op.type in _ASSIGNING)
    return any(op.inputs[0].name in weights for op in assigned)


def way_to_user(frame: FrameType | None, user: UserCode) -> str:
    """Who made a tf.function: "direct" for the user's line, "method" for an instance, a library."""
    way = "direct"
    for _ in range(_MOST_FRAMES):
        if frame is None or user.owns(frame.f_code):
            return way
        code = frame.f_code
        if _is_keras(code.co_filename):
            return "keras"
        if code.co_name == "class_method_to_instance_method":
            way = "method"
        elif _DATA in code.co_filename:
            way = "data"
        elif way == "direct" and not _makes_functions(code.co_filename):
            way = "library"
        frame = frame.f_back
    return way


def way_of_code(file: str, user: UserCode) -> str:
    """The same of a function that was made before the recording: by the file of its code."""
    if user.owns_file(file):
        return "direct"
    if _is_keras(file):
        return "keras"
    return "data" if _DATA in file else "library"


def _is_keras(file: str) -> bool:
    return any(folder in file for folder in _KERAS)


def _makes_functions(file: str) -> bool:
    """The files that a plain `tf.function(…)` passes through."""
    return "polymorphic_function" in file or file.endswith(("deprecation.py", "tf_decorator.py"))
