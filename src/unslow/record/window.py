"""A short window of TensorFlow's own profiler around one call: what it prepared, compiled, waited for and ran."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Seen on 2.15 to 2.21; it is loaded with TensorFlow itself. Where it is missing there are no windows.
_PROFILER = "tensorflow.python.profiler.internal._pywrap_profiler"
_MOST_BYTES = 3 << 20  # about 50 000 events, a quarter of a second to read
_OURS = re.compile(rb"^.*\] (?:Profiler session|\w+_tracer_level).*\n?", re.MULTILINE)
_STDERR = 2

_saved = [-1]  # where stderr really goes while a window opens or closes


@dataclass(frozen=True)
class Inside:
    """Nanoseconds of one call of a compiled function, cut where TensorFlow itself cuts them."""

    call: int
    prepare: int  # from the call to its first kernel: the graph is optimised, placed and instantiated
    compile: int  # XLA at work
    data: int  # waiting for an iterator
    run: int  # the rest: kernels


def open_window(folder: str = "") -> Any | None:
    """Start the profiler, unless it is missing or someone else's is on; `folder` is where it may be exported to."""
    module = sys.modules.get(_PROFILER)
    if module is None:
        return None
    try:
        with _muted():
            session = module.ProfilerSession()
            session.start(folder, {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 0})
        return session
    except Exception:  # noqa: BLE001 - the fence of a probe: another session is active, or its options changed
        return None


def close_window(session: Any) -> Inside | None:
    """Stop the profiler and read what it saw of the longest call of a compiled function."""
    with _muted():
        data = bytes(session.stop())
    return read(data) if len(data) <= _MOST_BYTES else None


def stop_window(session: Any) -> None:
    """Stop the profiler and let go of what it saw."""
    try:
        with _muted():
            session.stop()
    except Exception:  # noqa: BLE001 - the fence of a probe: it was stopped by someone else
        return


def export_window(session: Any) -> None:
    """Stop the profiler and let it write what it saw, unread, below the folder that was named at its start."""
    with _muted():
        session.export_to_tb()


@contextmanager
def _muted() -> Iterator[None]:
    """Keep the profiler's own four lines out of the user's stderr; whatever else arrives meanwhile is passed on."""
    if not hasattr(os, "memfd_create"):
        yield
        return
    try:
        holder = os.memfd_create("unslow", os.MFD_CLOEXEC)
        _saved[0] = os.dup(_STDERR)
    except OSError:
        yield
        return
    os.dup2(holder, _STDERR)
    try:
        yield
    finally:
        os.dup2(_saved[0], _STDERR)
        os.close(_saved[0])
        _saved[0] = -1
        size = os.lseek(holder, 0, os.SEEK_END)
        text = _OURS.sub(b"", os.pread(holder, size, 0)) if size else b""
        os.close(holder)
        if text:
            os.write(_STDERR, text)


def after_fork() -> None:
    """A child that was forked while stderr was held back gets the real one."""
    if _saved[0] >= 0:
        os.dup2(_saved[0], _STDERR)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)


@dataclass(frozen=True)
class Span:
    thread: int
    name: str
    start: int  # picoseconds
    length: int


def read(data: bytes) -> Inside | None:
    """The parts of the longest call of a compiled function in a serialized `Trace` of the profiler."""
    spans = [span for span in _spans(data) if span.length]
    calls = [span for span in spans if span.name.startswith("EagerLocalExecute: __")]
    if not calls:
        return None
    call = max(calls, key=lambda span: span.length)
    end = call.start + call.length
    inner = [span for span in spans if call.start <= span.start < end]
    kernels = [span.start for span in inner if span.thread == call.thread and span.name == "EagerKernelExecute"]
    begin = min(kernels, default=call.start)
    compiled = [s for s in inner if s.start >= begin and "Compiler::" in s.name]
    executed = [s.start for s in inner if s.start >= begin and s.name.endswith("ExecuteAsyncOnStream")]
    # Lowering to HLO comes before the compiler's own first event, and belongs to it.
    compiling = max(0, (min(executed, default=end) if executed else end) - begin) if compiled else 0
    waited = _covered(s for s in inner if s.name.startswith(("IteratorGetNext", "Iterator::")) and s.start >= begin)
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
                thread=_number(event.get(2)), name=name.decode("utf-8", "replace") if isinstance(name, bytes) else "",
                start=_number(event.get(9)), length=_number(event.get(10)),
            )  # fmt: skip


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
