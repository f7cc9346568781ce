"""One call in a window of TensorFlow's profiler, cut into its parts, and stderr kept clean meanwhile."""

from __future__ import annotations

import os

from unslow.analyse.graphs import call_profile as inside
from unslow.facts.functions import CallProfile
from unslow.record.probes.profiler import window

_US = 1_000_000  # picoseconds


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def event(name: bytes, start: int, length: int, thread: int = 1) -> bytes:
    """One event of the profiler's `Trace`, in microseconds."""
    body = varint(2 << 3) + varint(thread) + varint(3 << 3 | 2) + varint(len(name)) + name
    body += varint(9 << 3) + varint(start * _US) + varint(10 << 3) + varint(length * _US)
    return varint(4 << 3 | 2) + varint(len(body)) + body


def test_what_comes_before_the_first_kernel_is_preparing() -> None:
    data = event(b"EagerLocalExecute: __inference_step_1", 0, 100) + event(
        b"EagerKernelExecute", 90, 10
    )
    seen = inside.read(data)
    assert seen == CallProfile(call=100e-6, prepare=90e-6, run=10e-6)


def test_compiling_ends_where_the_compiled_code_starts() -> None:
    data = (
        event(b"EagerLocalExecute: __inference_step_1", 0, 100)
        + event(b"EagerKernelExecute", 1, 99)
        + event(b"CpuCompiler::RunBackend", 20, 50)
        + event(b"CpuExecutable::ExecuteAsyncOnStream", 90, 10)
    )
    seen = inside.read(data)
    assert seen is not None and (seen.compile, seen.run) == (89e-6, 10e-6)


def test_waits_for_an_iterator_are_told_from_kernels_once_where_they_overlap() -> None:
    data = (
        event(b"EagerLocalExecute: __inference_step_1", 0, 100)
        + event(b"EagerKernelExecute", 0, 100)
        + event(b"IteratorGetNext", 10, 40, thread=2)
        + event(b"Iterator::Shuffle", 20, 40, thread=3)
    )
    seen = inside.read(data)
    assert seen is not None and seen.data == 50e-6


def test_the_longest_call_is_the_one_that_is_read() -> None:
    data = event(b"EagerLocalExecute: __inference_a_1", 0, 5) + event(
        b"EagerLocalExecute: __inference_b_2", 10, 50
    )
    seen = inside.read(data)
    assert seen is not None and seen.call == 50e-6


def test_a_window_without_a_compiled_function_says_nothing() -> None:
    assert inside.read(event(b"EagerLocalExecute: Mul", 0, 5)) is None
    assert inside.read(b"") is None


def test_names_that_are_not_utf_8_do_no_harm() -> None:
    data = event(b"\xff\xfe", 0, 5) + event(b"EagerLocalExecute: __inference_b_2", 10, 50)
    assert inside.read(data) is not None


def test_the_profilers_own_lines_are_kept_from_stderr_and_others_passed_on() -> None:
    saved, (reader, writer) = os.dup(2), os.pipe()
    os.dup2(writer, 2)
    try:
        with window._muted():
            os.write(
                2,
                b"I0000 00:00:1 1 profiler_session.cc:117] Profiler session initializing.\nthe user's line\n",
            )
            os.write(
                2, b"W0000 00:00:1 1 session_manager.cc:55] host_tracer_level expects an i value.\n"
            )
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(writer)
    assert os.read(reader, 10_000) == b"the user's line\n"
    os.close(reader)
