"""One call in a profiler window, split into its parts."""

from __future__ import annotations

import pytest

from unslow.analyse.graphs.call_profile import CallProfile, call_profile

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
    seen = call_profile(data)
    assert seen == CallProfile(
        call=pytest.approx(100e-6),
        prepare=pytest.approx(90e-6),
        compile=0.0,
        data=0.0,
        run=pytest.approx(10e-6),
    )


def test_compiling_ends_where_the_compiled_code_starts() -> None:
    data = (
        event(b"EagerLocalExecute: __inference_step_1", 0, 100)
        + event(b"EagerKernelExecute", 1, 99)
        + event(b"CpuCompiler::RunBackend", 20, 50)
        + event(b"CpuExecutable::ExecuteAsyncOnStream", 90, 10)
    )
    seen = call_profile(data)
    assert seen is not None and seen.compile == pytest.approx(89e-6)


def test_waits_for_an_iterator_are_told_from_kernels_once_where_they_overlap() -> None:
    data = (
        event(b"EagerLocalExecute: __inference_step_1", 0, 100)
        + event(b"EagerKernelExecute", 0, 100)
        + event(b"IteratorGetNext", 10, 40, thread=2)
        + event(b"Iterator::Shuffle", 20, 40, thread=3)
    )
    seen = call_profile(data)
    assert seen is not None and seen.data == pytest.approx(50e-6)


def test_the_longest_call_is_the_one_that_is_read() -> None:
    data = event(b"EagerLocalExecute: __inference_a_1", 0, 5) + event(
        b"EagerLocalExecute: __inference_b_2", 10, 50
    )
    seen = call_profile(data)
    assert seen is not None and seen.call == pytest.approx(50e-6)


def test_a_window_without_a_compiled_function_says_nothing() -> None:
    assert call_profile(event(b"EagerLocalExecute: Mul", 0, 5)) is None
    assert call_profile(b"") is None


def test_names_that_are_not_utf_8_do_no_harm() -> None:
    data = event(b"\xff\xfe", 0, 5) + event(b"EagerLocalExecute: __inference_b_2", 10, 50)
    assert call_profile(data) is not None
