"""What changed between two traces, and when that is a fault."""

from __future__ import annotations

from typing import Any

import pytest

from unslow.analyse.graphs.traces import Change, changes
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.causes.retracing import Retracing, _Detail
from unslow.facts.functions import FirstRun, Trace
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.model import Finding, Fix, Location, Safety


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("float 0.1", "float 0.2", "number"),
        ("int 1", "float 0.5", "number"),
        ("str 'a'", "str 'b'", "string"),
        ("bool True", "bool False", "flag"),
        ("NoneType None", "float32[8]", "none"),
        ("float32[8]", "float64[8]", "dtype"),
        ("float32[8]", "float32[8,2]", "rank"),
        ("float32[]", "float32[2]", "rank"),
        ("float32[8,2]", "float32[9,2]", "shape"),
        ("object Settings #1", "object Settings #2", "object"),
        ("variable float32[2] #0", "variable float32[3] #0", "variable"),
        ("list of 2", "list of 3", "length"),
        ("float 0.5", "float32[]", "type"),
        ("Ragged Ragged(TensorShape([2, None]))", "Ragged Ragged(TensorShape([3, None]))", "shape"),
    ],
)
def test_the_reason_of_a_trace_is_told(old: str, new: str, reason: str) -> None:
    assert [change.reason for change in changes({"x": old}, {"x": new})] == [reason]


def test_a_change_inside_a_container_is_told_by_its_leaf_and_its_argument() -> None:
    old = {"mixture": "list of 2", "mixture[0]": "float 0.1", "mixture[1]": "float 0.9"}
    (change,) = changes(old, {**old, "mixture[1]": "float 0.8"})
    assert (change.argument, change.leaf) == ("mixture", "mixture[1]")


def trace(step: int, function: int = 1, **more: Any) -> Placed:
    seen = Trace(
        name="step",
        place=Place("train.py", 4, "step"),
        function=function,
        took=0.05,
        n=step,
        nodes=40,
        way="direct",
        made=(Place("train.py", 4, "<module>"),),
        key="step",
        stack=(Place("train.py", 12, "<module>"),),
    )
    return at(step, seen.replace(**more))


def change(finding: Finding) -> Change:
    assert isinstance(finding.detail, _Detail)
    return finding.detail.change


def found(*facts: Placed, seconds: float = 0.01) -> list[Finding]:
    sketch = Sketch("", [seconds] * 100, facts=facts, style="function")
    return list(Retracing().detect(sketch.run()))


def test_three_learning_rates_are_a_fault_and_three_depths_are_not() -> None:
    rates = [trace(step, args={"rate": f"float {0.1 / step}"}, n=step) for step in (1, 2, 3)]
    depths = [trace(step, args={"depth": f"int {step}"}, n=step) for step in (1, 2, 3)]
    assert found(*rates) and not found(*depths)


def test_a_trace_is_blamed_on_what_differs_from_the_nearest_one_before() -> None:
    facts = [trace(1, args={"x": "float32[8]", "training": "bool True"})]
    facts += [trace(2, args={"x": "float32[8]", "training": "bool False"}, n=2)]
    facts += [
        trace(step, args={"x": f"float32[{step}]", "training": "bool True"}, n=step)
        for step in range(3, 13)
    ]
    (finding,) = found(*facts)
    assert (change(finding).argument, change(finding).reason) == ("x", "shape")


@pytest.mark.parametrize(("apart", "told"), [(1, False), (12, True)])
def test_a_handful_of_shapes_is_a_fault_unless_all_come_early(apart: int, told: bool) -> None:
    facts = [
        trace(1 + apart * step, args={"x": f"float32[{step + 1}]"}, n=step + 1) for step in range(7)
    ]
    assert bool(found(*facts)) is told


def test_methods_of_new_objects_on_the_same_weights_are_a_fault() -> None:
    (finding,) = found(
        *(trace(step, step, way="method", weights="1 from #1", n=step) for step in range(1, 9))
    )
    assert change(finding).argument == "self"


def test_a_method_per_model_is_none() -> None:
    assert not found(
        *(
            trace(step, step, way="method", weights=f"1 from #{step}", n=step)
            for step in range(1, 9)
        )
    )


def test_a_pipeline_that_is_made_anew_is_told_at_the_line_that_maps() -> None:
    facts = [
        trace(
            step, step, way="data", name="Dataset_map_f", stack=(Place("train.py", 7, "f"),), n=step
        )
        for step in range(1, 9)
    ]
    (finding,) = found(*facts)
    assert finding.location is not None and finding.location.line == 7


def test_functions_of_iterators_over_several_devices_are_tensorflows() -> None:
    of_iterator = Place("tensorflow/python/data/ops/multi_device_iterator_ops.py", 69, "_next_func")
    facts = [
        trace(step, step, way="data", name="_next_func", place=of_iterator, n=step)
        for step in range(1, 9)
    ]
    assert not found(*facts)


def test_traces_before_the_training_are_nobodys_fault() -> None:
    assert not found(*(trace(0, args={"rate": f"float {step}"}, n=step) for step in range(1, 9)))


def test_a_usual_call_is_taken_off_what_a_trace_costs() -> None:
    facts = [trace(step, args={"rate": f"float {step}"}, n=step) for step in range(1, 11)]
    calls = [
        at(
            step,
            FirstRun(
                name="step",
                function=1,
                took=0.08,
                traced=0.05,
                calls=step * 9,
                calls_took=step * 9 * 0.01,
            ),
        )
        for step in range(1, 11)
    ]
    pairs = [each for pair in zip(facts, calls, strict=True) for each in pair]
    (finding,) = found(*pairs, seconds=0.1)
    assert finding.seconds == pytest.approx(9 * 0.07)


def test_a_call_with_two_traces_costs_no_more_than_itself() -> None:
    """A function that makes variables is traced twice in its first call."""
    facts = [
        each
        for step in range(1, 11)
        for each in (
            trace(step, args={"rate": f"float {step}"}, n=2 * step - 1),
            trace(step, args={"rate": f"float {step}.5"}, n=2 * step),
            at(step, FirstRun(name="step", function=1, took=0.12, traced=0.1)),
        )
    ]
    (finding,) = found(*facts, seconds=0.5)
    assert finding.seconds <= 10 * 0.12


_FIXED = (
    "import tensorflow as tf\n@tf.function\ndef step(x, w):\n    return {}\n\n"
    "for n in range(9):\n    step(x, {})\n"
)


@pytest.mark.parametrize(
    ("result", "given", "leaf", "fixed", "safety"),
    [
        ("x * w", "n / 9", "w", "step(x, tf.constant(n / 9))", Safety.CLOSE),
        ("tf.nn.dropout(x, w)", "n / 9", "w", "step(x, tf.constant(n / 9))", Safety.REVIEW),
        ("x * w[0]", "[n / 9]", "w[0]", "step(x, [tf.constant(n / 9)])", Safety.REVIEW),
    ],
)
def test_a_number_that_changes_becomes_a_tensor(
    result: str, given: str, leaf: str, fixed: str, safety: Safety
) -> None:
    source, at_step = _FIXED.format(result, given), Location("train.py", 3, "step")
    change = Change("w", leaf, "number", "float 0.1", "float 0.2")
    detail = _Detail("step", at_step, change, at_step, source, False, (), False)
    finding = Finding(
        "retracing", "title", Location("train.py", 7, "<module>"), 1.0, (), detail=detail
    )
    fix = Retracing().fix(finding, Script("train.py", source))
    assert isinstance(fix, Fix) and fix.safety is safety
    assert fixed in fix.files["train.py"]
