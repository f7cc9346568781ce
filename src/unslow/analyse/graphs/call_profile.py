"""What a window of TensorFlow's profiler saw of one call: what it prepared, compiled, waited for and ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Inside:
    """Nanoseconds of one call of a compiled function, cut where TensorFlow itself cuts them."""

    call: int
    prepare: (
        int  # from the call to its first kernel: the graph is optimised, placed and instantiated
    )
    compile: int  # XLA at work
    data: int  # waiting for an iterator
    run: int  # the rest: kernels


@dataclass(frozen=True)
class Span:
    thread: int
    name: str
    start: int  # picoseconds
    length: int


def parts(path: Path) -> dict[str, float]:
    """The parts of a call whose window was kept in a file; nothing where it cannot be read."""
    try:
        found = read(path.read_bytes())
    except (OSError, IndexError, ValueError):  # cut off, or not a window
        return {}
    return (
        {name: nanoseconds / 1e9 for name, nanoseconds in asdict(found).items()}
        if found is not None
        else {}
    )


def read(data: bytes) -> Inside | None:
    """The parts of the longest call of a compiled function in a serialized `Trace` of the profiler."""
    spans = [span for span in _spans(data) if span.length]
    calls = [span for span in spans if span.name.startswith("EagerLocalExecute: __")]
    if not calls:
        return None
    call = max(calls, key=lambda span: span.length)
    end = call.start + call.length
    inner = [span for span in spans if call.start <= span.start < end]
    kernels = [
        span.start
        for span in inner
        if span.thread == call.thread and span.name == "EagerKernelExecute"
    ]
    begin = min(kernels, default=call.start)
    compiled = [s for s in inner if s.start >= begin and "Compiler::" in s.name]
    executed = [
        s.start for s in inner if s.start >= begin and s.name.endswith("ExecuteAsyncOnStream")
    ]
    # Lowering to HLO comes before the compiler's own first event, and belongs to it.
    compiling = max(0, (min(executed, default=end) if executed else end) - begin) if compiled else 0
    waited = _covered(
        s
        for s in inner
        if s.name.startswith(("IteratorGetNext", "Iterator::")) and s.start >= begin
    )
    prepared = begin - call.start
    run = max(0, call.length - prepared - compiling - waited)
    return Inside(*(part // 1000 for part in (call.length, prepared, compiling, waited, run)))


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
    """The events of the profiler's `Trace` message; its protobuf classes may refuse names that are not UTF-8."""
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
