"""What is known of one `tf.function`: shared by the probes that see its traces and its calls."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

from unslow.record.engine.frames import UserCode

KNOWN = "_unslow_known"  # an attribute of a tf.function
EARLY = 8  # calls that are looked at whatever they took: what is usual is not known yet
_LONG = 3  # times the usual call, and a little more so that a hiccup of the machine is not one
_MORE = 2_000_000
_LEAVES = 12
_STEPPING = ("ResourceApply", "ResourceSparseApply", "AssignSubVariableOp")


class Compiled:
    """A call looks here and nowhere else: it is all that a short step can afford."""

    __slots__ = (
        "calls",
        "fixed",
        "legacy",
        "limit",
        "looks",
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
        "writes",
    )

    def __init__(self, number: int, way: str, made: list[Any]) -> None:
        self.number, self.way, self.made = number, way, made
        self.name = ""
        self.traces = self.writes = 0  # its graphs, and those of them that write trainable weights
        self.open = False  # a graph of its takes shapes that are not all known
        self.legacy = (
            False  # it was traced into a graph of TensorFlow 1, where a call only adds an op
        )
        self.ran = False  # the call that is under way runs a graph which writes weights
        self.size = -1.0  # numbers in the first tensor of a call, where every call has the same
        self.calls = self.took = 0  # of calls that traced nothing
        self.seen = 0  # calls from outside any other function
        self.usual = 0  # nanoseconds, following the calls that nothing special happened to
        self.limit = 0  # nanoseconds: a call that takes more is long
        self.fixed = False  # new shapes make a new trace, which is seen: no need to look at them in each call
        self.looks = self.resets = 0
        self.shapes: set[Any] = set()

    def follow(self, took: int) -> None:
        """Down in a few calls, up in many: what is usual is what most calls take when nothing is in their way."""
        if not self.usual:
            self.usual = took
        else:
            self.usual += (took - self.usual) >> (1 if took < self.usual else 4)
        self.limit = _LONG * self.usual + _MORE

    def tell(self, calls: int, took: int, last: int) -> None:
        """So many calls that nothing special happened to, their nanoseconds, and the last one's."""
        self.calls += calls
        self.took += took
        if calls > 1 or not self.calls & 7:
            self.follow(last)

    def is_long(self, took: int) -> bool:
        return bool(self.usual) and took > self.limit


def batch_size(args: tuple[Any, ...]) -> float:
    """Numbers in the first tensor that a step is given."""
    for value in args:
        shape_of = getattr(value, "_shape_tuple", None)
        if shape_of is not None:
            size = 1.0
            for dimension in shape_of() or ():
                size *= dimension or 1
            return size
    return 0.0


def shapes(args: tuple[Any, ...], kwds: dict[str, Any]) -> tuple[Any, ...]:
    """The shapes of the first few tensors and arrays in the arguments."""
    found: list[Any] = []
    for value in (*args, *kwds.values()) if kwds else args:
        _gather(value, found, 0)
    return tuple(found)


def _gather(value: Any, found: list[Any], depth: int) -> None:
    if len(found) >= _LEAVES or depth > 4:
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


def holds_update(graph: Any) -> bool:
    """Whether a finished graph, or one that it calls, steps weights: by the kinds of its ops alone."""
    definition = graph.as_graph_def()
    bodies = [definition.node, *(function.node_def for function in definition.library.function)]
    return any(node.op.startswith(_STEPPING) for body in bodies for node in body)


def way_to_user(frame: FrameType | None, user: UserCode) -> str:
    """Who made a tf.function: "direct" for the user's own line, "method" for an instance, or the library that did."""
    way = "direct"
    for _ in range(80):
        if frame is None or user.owns(frame.f_code):
            return way
        code = frame.f_code
        if (
            f"{os.sep}keras{os.sep}" in code.co_filename
            or f"{os.sep}tf_keras{os.sep}" in code.co_filename
        ):
            return "keras"
        if code.co_name == "class_method_to_instance_method":
            way = "method"
        elif f"{os.sep}data{os.sep}ops{os.sep}" in code.co_filename:
            way = "data"
        elif way == "direct" and not _makes_functions(code.co_filename):
            way = "library"
        frame = frame.f_back
    return way


def _makes_functions(file: str) -> bool:
    """The files that a plain `tf.function(…)` passes through."""
    return "polymorphic_function" in file or file.endswith(("deprecation.py", "tf_decorator.py"))
