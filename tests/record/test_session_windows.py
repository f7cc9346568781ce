"""Which runs of a session train, and which of them make a step together."""

from __future__ import annotations

import itertools
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unslow.facts.schema import Place
from unslow.record.engine.frames import UserCode
from unslow.record.probes.sessions import feeds
from unslow.record.probes.sessions.node_times import QueueWait, queue_wait
from unslow.record.probes.sessions.session_graph import SessionGraph, key_of
from unslow.record.probes.sessions.session_run import Ran
from unslow.record.probes.sessions.sessions import Sessions
from unslow.record.probes.sessions.step_inspection import Window

SHAPES = {"w": "(3,)", "target": "(3,)", "rate": "()"}
DRIVE = Place("train.py", 1, "drive")
NUMBERS = itertools.count()


def op(kind: str, *inputs: Any, name: str = "") -> Any:
    made = SimpleNamespace(type=kind, name=name or f"{kind}_{next(NUMBERS)}", control_inputs=[])
    made.inputs = [SimpleNamespace(op=each) for each in inputs]
    return made


W, TARGET, RATE = (op("VariableV2", name=name) for name in SHAPES)
BATCH = op("Placeholder", name="x")
GRADIENT = op("MatMul", BATCH, W)
MIXED = op("AddV2", op("Mul", op("Const"), W), op("Mul", op("Const"), TARGET))


def known_graph() -> SessionGraph:
    variables = [
        SimpleNamespace(op=SimpleNamespace(name=name), shape=shape)
        for name, shape in SHAPES.items()
    ]
    graph = SimpleNamespace(num_operations=lambda: 0, get_collection=lambda _: variables)
    return SessionGraph(graph)


def updates(fetched: Any) -> bool:
    return known_graph().updates(key_of(fetched), fetched)


@pytest.mark.parametrize(
    ("fetched", "trains"),
    [
        (op("ApplyAdam", W, GRADIENT), True),
        (op("Assign", W, op("Sub", W, op("Mul", RATE, GRADIENT))), True),
        (op("AssignSub", W, GRADIENT), True),
        (op("Assign", TARGET, MIXED), False),
        (op("AssignSub", TARGET, op("Mul", op("Const"), op("Sub", TARGET, W))), False),
        (op("Assign", W, op("Const")), False),
    ],
    ids=[
        "optimizer",
        "by hand",
        "subtracted",
        "a target network",
        "a moving average",
        "an initializer",
    ],
)
def test_which_runs_train(fetched: Any, trains: bool) -> None:
    assert updates(fetched) is trains


def after(first: Any, then: Any) -> Any:
    """An op that runs another one first, as under `tf.control_dependencies`."""
    then.control_inputs = [first]
    return then


def mask() -> Any:
    return op("Assign", W, op("Mul", op("Identity", W), op("Const")))


@pytest.mark.parametrize(
    ("fetched", "projects"),
    [
        (mask(), True),
        (op("Assign", W, op("Mul", W, BATCH)), True),
        (op("Assign", W, op("Minimum", op("Maximum", W, op("Const")), op("Const"))), True),
        (after(mask(), op("NoOp")), True),
        (after(op("ApplyAdam", W, GRADIENT), mask()), False),
        (after(op("ApplyAdam", W, GRADIENT), op("NoOp")), False),
        ([mask(), after(op("ApplyAdam", W, GRADIENT), op("NoOp"))], False),
        (op("Assign", W, op("Sub", W, op("Mul", RATE, GRADIENT))), False),
        (op("Assign", W, op("AddV2", W, op("Const"))), False),
        (op("Assign", W, op("Mul", W, TARGET)), False),
    ],
    ids=[
        "a mask",
        "a mask that is fed",
        "clipping",
        "a group of masks",
        "a mask that runs the update first",
        "an optimizer",
        "a mask beside an update",
        "by hand",
        "a counter",
        "other weights",
    ],
)
def test_which_runs_only_project(fetched: Any, projects: bool) -> None:
    assert known_graph().only_projects(key_of(fetched), fetched) is projects


def test_a_mask_goes_with_the_update_before_it() -> None:
    """The masks of four kernels, each in a run of its own, are no four steps."""
    probe, known = Sessions.__new__(Sessions), known_graph()
    train, masked = op("ApplyAdam", W, GRADIENT), mask()

    def goes_with(fetched: Any) -> bool:
        run = Ran(None, fetched)
        run.key = key_of(fetched)
        return probe._goes_with(run, known)

    assert not goes_with(masked)  # nothing has trained yet: perhaps this is the training
    assert not goes_with(train)
    assert goes_with(masked)
    assert not goes_with(train)


def ran(line: int, trains: bool = True) -> Ran:
    made = Ran(None, None)
    made.updates = trains
    made.stack = (Place("train.py", line, "step"), DRIVE)
    return made


def test_a_step_lasts_until_its_first_line_updates_again() -> None:
    window = Window(1)
    runs = [ran(7, trains=False), ran(5), ran(6), ran(7, trains=False), ran(5)]
    assert [window.add(each) for each in runs] == [False, False, False, False, True]
    assert window._updates(2) == (
        1,
        3,
    )  # of the run at line 7: the second network's before, the first one's after


def test_a_first_line_that_does_not_come_back_is_not_waited_for() -> None:
    window = Window(1)
    assert [window.add(ran(line)) for line in range(5)] == [False, False, False, False, True]


def test_only_the_time_in_which_nothing_else_runs_is_waited_for_a_queue() -> None:
    queue = op("FIFOQueueV2")
    runners = [
        SimpleNamespace(
            queue=SimpleNamespace(queue_ref=SimpleNamespace(op=each)), enqueue_ops=[1, 2]
        )
        for each in (queue, op("FIFOQueueV2"))
    ]
    taken = op("QueueDequeueManyV2", queue, name="batch")
    taken.graph = SimpleNamespace(get_collection=lambda _: runners)
    taken.traceback = [
        SimpleNamespace(filename="<stdin>", lineno=9, name="<module>"),
        SimpleNamespace(filename="<stdin>", lineno=4, name="batches"),
        SimpleNamespace(filename=os.__file__, lineno=1, name="batch"),
    ]
    times = {"batch": (0, 100), "read": (10, 30), "matmul": (100, 150)}
    user = UserCode()
    found = queue_wait({"batch": taken, "matmul": op("MatMul", taken, name="matmul")}, times, user)
    assert found == QueueWait("batch", 80, (Place("<stdin>", 4, "batches"),), 2)
    assert queue_wait({"matmul": op("MatMul", name="matmul")}, times, user) == QueueWait()


class _Row:
    """A row of a batch that counts how often it is turned into an array."""

    converted = 0

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        _Row.converted += 1
        return np.array(self._numbers, dtype)


class _Placeholder:
    name = "x:0"
    dtype = SimpleNamespace(name="int64", as_numpy_dtype=np.int64)


NUMBER = _Placeholder()


def test_what_several_runs_are_fed_is_measured_once() -> None:
    _Row.converted, batch = 0, _Row(1, 2)
    measured: dict[int, Any] = {}
    first = list(feeds.measured_feeds(Ran(None, None, {NUMBER: batch}), measured))
    converted = _Row.converted
    assert converted > 0
    assert list(feeds.measured_feeds(Ran(None, None, {NUMBER: batch}), measured)) == first
    assert _Row.converted == converted


def test_a_long_conversion_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(0, 10_000_000)
    monkeypatch.setattr(feeds, "clock", lambda: next(ticks))
    _Row.converted = 0
    took, array = feeds._least(np.asarray, _Row(1, 2))
    assert (took, _Row.converted, array.size) == (10_000_000, 1, 2)


def test_batches_that_differ_in_their_first_row_are_not_converted() -> None:
    _Row.converted = 0
    one, other = [_Row(1), _Row(2), _Row(3)], [_Row(0), _Row(2), _Row(3)]
    assert not feeds._equal(one, other)
    assert _Row.converted == 2
    assert feeds._equal([[1], [2]], [[1], [2]])
    assert not feeds._equal([[1], [2]], [[1], [3]])
    assert not feeds._equal([[1]], [[1], [3]])
    assert feeds._equal(np.array(3), np.array(3))
    assert not feeds._equal(np.zeros(3), np.ones(3))
