"""What a window of TensorFlow's profiler saw of one call: preparing, compiling, waiting, running."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unslow.facts.functions import CallProfile, UnusualCall

_PICOSECONDS = 1e12
_WAITS = ("IteratorGetNext", "Iterator::")


@dataclass(frozen=True)
class Span:
    thread: int
    name: str
    start: int  # picoseconds
    length: int


def with_profile(call: UnusualCall, folder: str) -> UnusualCall:
    """A call with what the profiler window that was kept of it says."""
    if not call.trace:
        return call
    try:
        profile = read((Path(folder) / Path(call.trace).name).read_bytes())
    except (OSError, IndexError, ValueError):  # cut off, or not a window
        return call
    return call if profile is None else call.replace(**profile._asdict())


def read(data: bytes) -> CallProfile | None:
    """The parts of the longest call of a compiled function in a profiler's serialized `Trace`."""
    spans = [span for span in _spans(data) if span.length]
    calls = [span for span in spans if span.name.startswith("EagerLocalExecute: __")]
    if not calls:
        return None
    call = max(calls, key=lambda span: span.length)
    end = call.start + call.length
    inner = [span for span in spans if call.start <= span.start < end]
    kernels = [span for span in inner if span.name == "EagerKernelExecute"]
    own = [span.start for span in kernels if span.thread == call.thread]
    begin = min(own, default=call.start)
    later = [span for span in inner if span.start >= begin]
    compiling = _compiling(later, begin, end)
    waited = _covered(span for span in later if span.name.startswith(_WAITS))
    prepared = begin - call.start
    return CallProfile(
        call=call.length / _PICOSECONDS,
        prepare=prepared / _PICOSECONDS,
        compile=compiling / _PICOSECONDS,
        data=waited / _PICOSECONDS,
        run=max(0, call.length - prepared - compiling - waited) / _PICOSECONDS,
    )


def _compiling(spans: list[Span], begin: int, end: int) -> int:
    """XLA at work. Lowering to HLO precedes the compiler's own first event, and belongs to it."""
    if not any("Compiler::" in span.name for span in spans):
        return 0
    executed = [span.start for span in spans if span.name.endswith("ExecuteAsyncOnStream")]
    return max(0, min(executed, default=end) - begin)


def _covered(spans: Iterator[Span]) -> int:
    """The length of the union of spans."""
    total, reach = 0, 0
    for span in sorted(spans, key=lambda span: span.start):
        end = span.start + span.length
        if end > reach:
            total += end - max(span.start, reach)
            reach = end
    return total


def _spans(data: bytes) -> Iterator[Span]:
    """The events of the profiler's `Trace` message; protobuf may refuse names that are not UTF-8."""
    for number, value in _fields(data):
        if number == 4 and isinstance(value, bytes):
            event = dict(_fields(value))
            name = event.get(3, b"")
            yield Span(
                thread=_number(event.get(2)),
                name=name.decode("utf-8", "replace") if isinstance(name, bytes) else "",
                start=_number(event.get(9)),
                length=_number(event.get(10)),
            )


def _number(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a protobuf message, as its wire format has them."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind, end)
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
