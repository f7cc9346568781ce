"""Reads the profiles of TensorFlow without TensorFlow: threads and what ran on them.

`*.xplane.pb` files hold an XSpace; a profile that is taken from a session directly is a Trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

_HOST = b"/host:CPU"
# What asks for an element, in a graph or eagerly, and waits for it.
_GETS = (b"IteratorGetNextOp::DoCompute", b"IteratorGetNextAsOptionalOp::DoCompute")
# Spans whose facts are read.
_DETAILED = ("Iterator", "ExecutorState::Process", "InstantiatedCapturedFunction::Run")
_FACTS = frozenset(
    (
        b"id",
        b"parent_id",
        b"iter_num",
        b"parallelism",
        b"autotune",
        b"buffered_elements",
        b"buffered_bytes_MB",
        b"cpu_budget",
        b"ram_budget_megabytes",
        b"element_size",
    )
)

# The messages of xplane.proto and trace_events.proto in tsl/profiler/protobuf, as far as they are
# read here: name → fields as (name, number, kind). Names are bytes: some are not UTF-8.
_MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "XSpace": (("planes", 1, "XPlane*"),),
    "XPlane": (
        ("name", 2, "bytes"),
        ("lines", 3, "XLine*"),
        ("events", 4, "Event*"),
        ("stats", 5, "Stat*"),
    ),
    "XLine": (("name", 2, "bytes"), ("start", 3, "int64"), ("events", 4, "XEvent*")),
    "XEvent": (
        ("kind", 1, "int64"),
        ("offset", 2, "int64"),
        ("length", 3, "int64"),
        ("stats", 4, "XStat*"),
    ),
    "XStat": (
        ("kind", 1, "int64"),
        ("unsigned", 3, "uint64"),
        ("signed", 4, "int64"),
        ("named", 7, "uint64"),
    ),
    "Event": (("key", 1, "int64"), ("value", 2, "Named")),  # entries of maps from id to metadata
    "Stat": (("key", 1, "int64"), ("value", 2, "Named")),
    "Named": (("id", 1, "int64"), ("name", 2, "bytes")),
    "Trace": (("events", 4, "TraceEvent*"),),
    "TraceEvent": (
        ("thread", 2, "int64"),
        ("name", 3, "bytes"),
        ("start", 9, "uint64"),
        ("length", 10, "uint64"),
        ("arguments", 11, "Argument*"),
    ),
    "Argument": (("key", 1, "bytes"), ("value", 2, "bytes")),  # entries of a map
}


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    start: float  # seconds on the profile's own clock
    length: float
    iteration: int = 0  # the iteration of a graph's loop, where the executor says it
    # What else was recorded: numbers, and 1 for true.
    facts: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def end(self) -> float:
        return self.start + self.length

    def starts_in(self, other: Span) -> bool:
        return other.start <= self.start < other.end


@dataclass(frozen=True)
class Thread:
    name: str
    spans: tuple[Span, ...]  # in order of their starts, the longer first where they start together


@cache
def _message(wanted: str) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    plain = {"bytes": kinds.TYPE_BYTES, "int64": kinds.TYPE_INT64, "uint64": kinds.TYPE_UINT64}
    file = descriptor_pb2.FileDescriptorProto(
        name="unslow/xplane.proto", package="unslow", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for label, number, kind in fields:
            many = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            made = message.field.add(name=label, number=number, label=many)
            made.type = plain.get(kind, kinds.TYPE_MESSAGE)
            if kind not in plain:
                made.type_name = f".unslow.{kind.removesuffix('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"unslow.{wanted}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)  # protobuf before 4.22


def _parsed(message: str, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    parsed = _message(message)()
    try:
        parsed.ParseFromString(data)
    except DecodeError as problem:
        raise ValueError(f"not a profile: {problem}") from None
    return parsed


def read(data: bytes) -> list[Thread]:
    """The threads of the host in an XSpace; damaged data raises ValueError."""
    host = [plane for plane in _parsed("XSpace", data).planes if plane.name == _HOST]
    return [thread for plane in host for thread in _threads(plane)]


def read_trace(data: bytes) -> list[Thread]:
    """The threads of a Trace; damaged data raises ValueError."""
    spans: dict[int, list[Span]] = {}
    for event in _parsed("Trace", data).events:
        name = event.name.decode("utf-8", "replace")
        span = Span(name, event.start / 1e12, event.length / 1e12)
        spans.setdefault(event.thread, []).append(span)
    return [Thread(str(thread), tuple(found)) for thread, found in spans.items()]


def _threads(plane: Any) -> Iterator[Thread]:
    names = {entry.key: entry.value.name.decode("utf-8", "replace") for entry in plane.events}
    detailed = {key for key, name in names.items() if name.startswith(_DETAILED)}
    kinds = {
        entry.key: entry.value.name.decode() for entry in plane.stats if entry.value.name in _FACTS
    }
    true = {entry.key for entry in plane.stats if entry.value.name == b"true"}
    for line in plane.lines:
        spans = []
        for event in line.events:
            facts = _facts(event, kinds, true) if event.kind in detailed else {}
            start, length = line.start / 1e9 + event.offset / 1e12, event.length / 1e12
            spans.append(
                Span(names.get(event.kind, ""), start, length, facts.pop("iter_num", 0), facts)
            )
        spans.sort(key=lambda span: (span.start, -span.length))
        yield Thread(line.name.decode("utf-8", "replace"), tuple(spans))


@dataclass(frozen=True, slots=True)
class CollectiveSpan:
    """One collective: from its launch to its result, with the key that all workers share."""

    key: int
    start: float
    length: float


@dataclass(frozen=True)
class Shared:
    """What a worker of a job spends in collectives, and in waiting for elements."""

    collectives: list[CollectiveSpan]  # by key
    inputs: list[Span]


def shared_spans(data: bytes) -> Shared:
    """The collectives and waits for input of a Trace; damaged data raises ValueError."""
    found = Shared([], [])
    for event in _parsed("Trace", data).events:
        start, length = event.start / 1e12, event.length / 1e12
        if event.name in _GETS:
            found.inputs.append(Span("input", start, length))
        elif event.name.startswith(b"Collective"):
            keys = [entry.value for entry in event.arguments if entry.key == b"instance_key"]
            if keys and keys[0].isdigit():
                found.collectives.append(CollectiveSpan(int(keys[0]), start, length))
    found.collectives.sort(key=lambda span: span.key)
    return found


def _facts(event: Any, kinds: Mapping[int, str], true: set[int]) -> dict[str, int]:
    found = {}
    for stat in event.stats:
        if stat.kind in kinds:
            found[kinds[stat.kind]] = stat.signed or stat.unsigned or int(stat.named in true)
    return found


def covered(spans: Iterable[Span | CollectiveSpan]) -> float:
    """The length of the union of spans."""
    total, reach = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.start):
        end = span.start + span.length
        if end > reach:
            total += end - max(span.start, reach)
            reach = end
    return total
