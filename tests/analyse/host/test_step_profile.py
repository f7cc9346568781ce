"""Profiles of TensorFlow, read without TensorFlow: which time is whose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unslow.analyse.host.step_profile import (
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    kernels_named,
    profile_of,
    repeated,
    step_profile,
    windows,
)
from unslow.analyse.host.xplane import Span, Thread, covered, read
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.phase import Phase
from unslow.facts.profiler import ProfilerWindow


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
    line = (
        field(2, b"tf_Compute/1") + field(3, 5_000_000_000) + field(4, process) + field(4, kernel)
    )
    plane = field(2, b"/host:CPU") + field(3, line)
    plane += field(4, metadata(1, b"ExecutorState::Process")) + field(
        4, metadata(2, b"map/while/Mul:Mul")
    )
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
    totals = step_profile(read(profile()))
    assert totals.iterations == 3
    assert totals.looping == pytest.approx(10e-6)
    assert totals.looping_kernels == pytest.approx(4e-6)
    assert totals.ops == (Op("map/while/Mul", "Mul", 1, pytest.approx(4e-6)),)


def thread(*spans: tuple[str, float, float], name: str = "python") -> Thread:
    return Thread(name, tuple(Span(*span) for span in spans))


def test_kernels_of_pipelines_are_not_the_steps() -> None:
    threads = [
        thread(("a:MatMul", 0.0, 1.0)),
        thread(("b:MatMul", 0.0, 3.0), name="tf_data_private_threadpool/1"),
    ]
    assert step_profile(threads).kernels == pytest.approx(1.0)


def test_waits_for_data_are_not_work() -> None:
    totals = step_profile([thread(("next:IteratorGetNext", 0.0, 2.0), ("a:MatMul", 2.0, 1.0))])
    assert (totals.waits, totals.kernels) == (pytest.approx(2.0), pytest.approx(1.0))


def test_eager_ops_count_and_calls_of_functions_do_not() -> None:
    totals = step_profile(
        [
            thread(
                ("EagerLocalExecute: __inference_f_1", 0.0, 5.0),
                ("EagerLocalExecute: Mul", 6.0, 1.0),
            )
        ]
    )
    assert [(op.name, op.kind) for op in totals.ops] == [("Mul", "Mul")]


def test_kernels_side_by_side_are_covered_once() -> None:
    assert covered(
        [Span("a", 0.0, 2.0), Span("b", 1.0, 2.0), Span("c", 5.0, 1.0)]
    ) == pytest.approx(4.0)


@pytest.mark.parametrize("content", [None, b"\xff\xff\xff\xff"])
def test_a_profile_that_is_missing_or_damaged_is_none(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "kept.xplane.pb").write_bytes(content)
    window = ProfilerWindow(file="kept.xplane.pb", steps=3)
    run = replace(Sketch("", facts=[at(50, window)]).run(), folder=str(tmp_path))
    assert profile_of(run, window) is None
    assert windows(run, run.loops[0]) == []


def test_the_profile_of_a_window_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "kept.xplane.pb").write_bytes(profile())
    window = ProfilerWindow(file="kept.xplane.pb", steps=1)
    run = replace(Sketch("", facts=[at(50, window)]).run(), folder=str(tmp_path))
    (found,) = windows(run, run.loops[0])
    assert found.kernels == pytest.approx(4e-6)


def test_a_window_counts_per_step() -> None:
    profile = StepProfile(kernels=0.4, executor=0.5, waits=0.1, ops=(Op("a", "Mul", 20, 0.4),))
    run = Sketch("", facts=[at(50, SketchedWindow(steps=10, wall=1.0, profile=profile))]).run()
    (window,) = windows(run, run.loops[0])
    figures = (window.wall, window.kernels, window.ops[0].count)
    assert figures == (pytest.approx(0.1), pytest.approx(0.04), 2)


def test_what_the_first_step_took_more_is_not_repeated() -> None:
    run = Sketch("", seconds=[5.0, *[0.1] * 50]).run()
    assert repeated(run.loops[0]) == pytest.approx(5.1)


def test_a_window_that_saw_a_trace_counts_as_a_typical_step() -> None:
    profile = StepProfile(kernels=0.04, executor=0.05)
    seconds = [0.1] * 9 + [3.0] + [0.1] * 10
    traced = [0.9 if each > 1 else 0.0 for each in seconds]
    window = SketchedWindow(steps=1, wall=3.0, profile=profile)
    run = Sketch("", seconds=seconds, phases={Phase.TRACE: traced}, facts=[at(10, window)]).run()
    assert windows(run, run.loops[0])[0].wall == pytest.approx(0.1)


def test_what_a_step_that_traced_took_more_is_not_repeated() -> None:
    seconds = [5.0, *[0.1] * 25, 3.0, *[0.1] * 24]
    traced = [0.6 if each > 1 else 0.0 for each in seconds]
    run = Sketch("", seconds=seconds, phases={Phase.TRACE: traced}).run()
    assert repeated(run.loops[0]) == pytest.approx(5.1)


def stage(
    name: str, start: float, length: float, number: int, parent: int = 0, **facts: int
) -> Span:
    """An element that is asked of an iterator; the outermost one has no parent."""
    whose = {"id": number, "parent_id": parent} if parent else {"id": number}
    return Span(f"Iterator::{name}", start, length, 0, {**whose, **facts})


def got(start: float, length: float) -> Span:
    return Span("IteratorGetNextOp::DoCompute", start, length)


def test_a_graph_that_asks_for_a_batch_waits() -> None:
    threads = [
        Thread("tf_data_iterator_get_next/1", (got(0.0, 2.0),)),
        thread(("a:MatMul", 2.0, 1.0)),
    ]
    assert step_profile(threads).waits == pytest.approx(2.0)


def test_a_batch_that_is_fetched_while_kernels_run_is_not_waited_for() -> None:
    spans = (got(0.0, 2.0), stage("Root", 0.1, 1.8, 1))
    (iterator,) = step_profile(
        [Thread("tf_data_iterator_get_next/1", spans), thread(("a:MatMul", 0.5, 3.0))]
    ).iterators
    assert (iterator.gets, iterator.wait) == (1, pytest.approx(0.5))


def test_a_stage_is_not_charged_for_those_it_asks_in_its_thread() -> None:
    spans = (
        got(0.0, 1.0),
        stage("Root", 0.0, 0.9, 1),
        stage("Root::Map", 0.1, 0.8, 2, 1),
        stage("Root::Map::Range", 0.1, 0.1, 3, 2),
        stage("Root::Map::Range", 0.3, 0.1, 3, 2),
    )
    (iterator,) = step_profile([Thread("tf_data_iterator_get_next/1", spans)]).iterators
    own = {place: (one.count, round(one.own, 6)) for place, one in iterator.stages.items()}
    assert own == {"Root": (1, 0.1), "Root/Map": (1, 0.6), "Root/Map/Range": (2, 0.2)}


def test_a_function_that_is_called_in_other_threads_is_work_of_the_stage_that_called_it() -> None:
    asked = (
        got(0.0, 1.0),
        stage("Root", 0.0, 1.0, 1),
        stage("Root::ParallelMapV2", 0.0, 1.0, 2, 1, parallelism=4),
    )
    calls = (
        stage("Root::ParallelMapV2::Range", 0.1, 0.1, 3, 2),
        Span("InstantiatedCapturedFunction::RunAsync", 0.2, 0.1, 0, {"id": 77}),
    )
    ran = (
        Span("ExecutorState::Process", 0.3, 0.4, 0, {"id": 77}),
        Span("ExecutorState::Process", 0.8, 0.5, 0, {"id": 5}),
    )
    threads = [
        Thread(f"tf_data_{number}", spans) for number, spans in enumerate((asked, calls, ran))
    ]
    (iterator,) = step_profile(threads).iterators
    found = iterator.stages["Root/ParallelMapV2"]
    assert (found.parallelism, found.work, found.took) == (
        4,
        pytest.approx(0.4),
        pytest.approx(0.5),
    )


def test_two_iterators_are_told_apart_and_each_pass_of_one_is_the_same_stage() -> None:
    spans = (
        got(0.0, 1.0),
        stage("Root", 0.0, 1.0, 1),
        stage("Root::ForeverRepeat[7]::Range", 0.1, 0.1, 4, 1),
        stage("Root::ForeverRepeat[8]::Range", 0.3, 0.1, 5, 1),
        got(2.0, 0.5),
        stage("Root", 2.0, 0.5, 2),
        stage("Root::Range", 2.1, 0.1, 6, 2),
    )
    iterators = step_profile([Thread("tf_data_iterator_get_next/1", spans)]).iterators
    counts = [
        {place: one.count for place, one in iterator.stages.items()} for iterator in iterators
    ]
    assert counts == [{"Root": 1, "Root/ForeverRepeat/Range": 2}, {"Root": 1, "Root/Range": 1}]


def test_an_iterator_that_no_graph_asks_is_left_out() -> None:
    assert (
        step_profile([Thread("tf_data_prefetch/1", (stage("Root", 0.0, 1.0, 1),))]).iterators == ()
    )


def test_kernels_are_found_by_the_names_of_their_ops() -> None:
    ops = (
        Op("AddN", "AddN", 1, 0.03),
        Op("StatefulPartitionedCall/AddN/inputs_1", "UnsortedSegmentSum", 1, 0.02),
        Op("other/AddN", "AddN", 1, 0.05),
    )
    names = ("AddN", "AddN/inputs_1")
    assert kernels_named(window_of(ops, kernels=0.1), names) == pytest.approx(0.05)
    overlapping = window_of(ops, kernels=0.05)
    assert kernels_named(overlapping, names) == pytest.approx(0.025)
    assert kernels_named(overlapping, ()) == 0.0


def window_of(ops: tuple[Op, ...], kernels: float) -> Window:
    return Window(
        steps=1,
        step=0,
        wall=0.1,
        kernels=kernels,
        executor=0.1,
        waits=0.0,
        ops=ops,
        iterations=0,
        looping=0.0,
        looping_kernels=0.0,
        checks=0.0,
        functions=1,
        process=0,
    )
