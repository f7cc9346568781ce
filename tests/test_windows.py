"""Profiles of TensorFlow, read without TensorFlow: which time is whose."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.analyse.sketch import Sketch, fact
from unslow.analyse.window import covered, repeated, seen, summary, windows
from unslow.analyse.xplane import Span, Thread, read


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def metadata(number: int, name: bytes) -> bytes:
    return field(1, number) + field(2, field(1, number) + field(2, name))


def profile() -> bytes:
    """One thread: the executor for 10 µs, a kernel of 4 µs in it, in the third iteration of a loop."""
    stat = field(1, 7) + field(4, 3)
    process = field(1, 1) + field(2, 0) + field(3, 10_000_000) + field(4, stat)
    kernel = field(1, 2) + field(2, 2_000_000) + field(3, 4_000_000)
    line = field(2, b"tf_Compute/1") + field(3, 5_000_000_000) + field(4, process) + field(4, kernel)
    plane = field(2, b"/host:CPU") + field(3, line)
    plane += field(4, metadata(1, b"ExecutorState::Process")) + field(4, metadata(2, b"map/while/Mul:Mul"))
    plane += field(5, metadata(7, b"iter_num")) + field(4, metadata(3, b"not \xff UTF-8"))
    return field(1, plane) + field(1, field(2, b"Task Environment"))


def test_a_profile_is_read_as_threads_and_spans() -> None:
    (thread,) = read(profile())
    assert thread.name == "tf_Compute/1"
    assert [(span.name, round(span.length * 1e6), span.iteration) for span in thread.spans] == [
        ("ExecutorState::Process", 10, 3),
        ("map/while/Mul:Mul", 4, 0),
    ]


def test_what_is_no_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="not a profile"):
        read(b"\xff\xff\xff\xff")


def test_time_in_a_loop_is_told_from_time_in_its_kernels() -> None:
    totals = summary(read(profile()))
    assert totals["loops"]["iterations"] == 3
    assert totals["loops"]["seconds"] == pytest.approx(10e-6)
    assert totals["loops"]["kernels"] == pytest.approx(4e-6)
    assert totals["ops"] == [["map/while/Mul", "Mul", 1, pytest.approx(4e-6)]]


def thread(*spans: tuple[str, float, float], name: str = "python") -> Thread:
    return Thread(name, tuple(Span(*span) for span in spans))


def test_kernels_of_pipelines_are_not_the_steps() -> None:
    threads = [thread(("a:MatMul", 0.0, 1.0)), thread(("b:MatMul", 0.0, 3.0), name="tf_data_private_threadpool/1")]
    assert summary(threads)["kernels"] == pytest.approx(1.0)


def test_waits_for_data_are_not_work() -> None:
    totals = summary([thread(("next:IteratorGetNext", 0.0, 2.0), ("a:MatMul", 2.0, 1.0))])
    assert (totals["waits"], totals["kernels"]) == (pytest.approx(2.0), pytest.approx(1.0))


def test_eager_ops_count_and_calls_of_functions_do_not() -> None:
    totals = summary([thread(("EagerLocalExecute: __inference_f_1", 0.0, 5.0), ("EagerLocalExecute: Mul", 6.0, 1.0))])
    assert [row[:2] for row in totals["ops"]] == [["Mul", "Mul"]]


def test_kernels_side_by_side_are_covered_once() -> None:
    assert covered([Span("a", 0.0, 2.0), Span("b", 1.0, 2.0), Span("c", 5.0, 1.0)]) == pytest.approx(4.0)


def test_a_missing_profile_leaves_the_fact_as_it_was(tmp_path: Path) -> None:
    assert seen(str(tmp_path), {"file": "gone.xplane.pb", "steps": 3})["steps"] == 3
    assert "kernels" not in seen(str(tmp_path), {"file": "gone.xplane.pb", "steps": 3})


def test_a_window_counts_per_step() -> None:
    totals = {"kernels": 0.4, "executor": 0.5, "waits": 0.1, "ops": [["a", "Mul", 20, 0.4]]}
    run = Sketch("", facts=[fact("window", 50, steps=10, wall=1.0, **totals)]).run()
    (window,) = windows(run, run.loops[0])
    assert (window.wall, window.kernels, window.ops[0].count) == (pytest.approx(0.1), pytest.approx(0.04), 2)


def test_what_the_first_step_took_more_is_not_repeated() -> None:
    run = Sketch("", seconds=[5.0, *[0.1] * 50]).run()
    assert repeated(run.loops[0]) == pytest.approx(5.1)
