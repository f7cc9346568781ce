"""The edits for eager steps, resets, unrolled loops, models made again, runs and feeds, and where they are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unslow.causes import eager_step, unrolled_loop
from unslow.causes.eager_step import EagerStep
from unslow.causes.function_in_loop import FunctionInLoop, _Detail
from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.convert_feed import converted_once
from unslow.fix.moves.eval_to_run import eval_as_run
from unslow.fix.moves.graph_loop import range_to_graph
from unslow.fix.moves.hoist_model import model_once
from unslow.fix.moves.hoist_reset import once_before_loop
from unslow.model import Finding, Fix, Location, Refusal, Safety


def script(text: str) -> Script:
    return Script("train.py", text)


# Eager steps

EAGER = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = model(x)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


for x in data:
    step(x)
"""


UPDATE = Location("train.py", 4)


@pytest.mark.parametrize(("makes", "expected"), [((), Fix), ((UPDATE,), Refusal)])
def test_a_step_that_makes_variables_is_not_compiled(
    makes: tuple[Location, ...], expected: type
) -> None:
    loop = Location("train.py", 7)
    step = eager_step._EagerStep((UPDATE,), loop, varies=False, random="", makes=makes)
    found = Finding("eager-step", "title", Location("train.py", 1), 1.0, (), detail=step)
    assert isinstance(EagerStep().fix(found, script(EAGER)), expected)


JACOBIAN = """\
import tensorflow as tf

def step(x):
    with tf.GradientTape() as tape:
        out = model(x)
    return tape.jacobian(out, weights)

for x in data:
    step(x)
"""


def test_a_graph_that_tensorflow_makes_for_a_line_is_made_once_around_it() -> None:
    found = Finding(
        "function-in-loop", "title", Location("train.py", 6), 1.0, (), detail=_Detail(True)
    )
    fixed = FunctionInLoop().fix(found, script(JACOBIAN))
    assert isinstance(fixed, Fix)
    assert "@tf.function\ndef step(x):\n" in fixed.files["train.py"]


# Resets


def stack(*lines: int) -> Stack:
    return tuple(Place("train.py", line) for line in lines)


def test_a_seed_that_never_changes_goes_in_front_of_the_loop() -> None:
    edited = once_before_loop(
        script("for i in x:\n    tf.random.set_seed(1)\n    step(i)\n"), stack(2)
    )
    assert edited.text == "tf.random.set_seed(1)\nfor i in x:\n    step(i)\n"


def test_a_seed_that_follows_the_loop_starts_at_zero_in_front_of_it() -> None:
    edited = once_before_loop(
        script("for i in x:\n    tf.random.set_seed(i)\n    step(i)\n"), stack(2)
    )
    assert edited.text == "tf.random.set_seed(0)\nfor i in x:\n    step(i)\n"


def test_a_seed_under_a_condition_goes_with_its_condition_where_one_was_set_before() -> None:
    text = "tf.random.set_seed(7)\nfor i in x:\n    if i % 9 == 0:\n        tf.random.set_seed(i)\n    step(i)\n"
    assert (
        once_before_loop(script(text), stack(4)).text
        == "tf.random.set_seed(7)\nfor i in x:\n    step(i)\n"
    )


def test_the_call_of_a_helper_that_resets_is_what_leaves_the_loop() -> None:
    text = "def fixed():\n    tf.random.set_seed(1)\n\n\nfor i in x:\n    fixed()\n    step(i)\n"
    edited = once_before_loop(script(text), stack(2, 6))
    assert edited.text.endswith("fixed()\nfor i in x:\n    step(i)\n")


def test_a_reset_whose_loop_is_elsewhere_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="does more than reset"):
        once_before_loop(script("def fixed():\n    tf.random.set_seed(1)\n"), stack(2))


# Unrolled loops

_HEAD = "import tensorflow as tf\n\n\n@tf.function\ndef step(x, state):\n"


def test_a_counting_loop_becomes_a_loop_of_the_graph() -> None:
    text = (
        _HEAD + "    for t in range(9):\n        state = cell(x[:, t], state)\n    return state\n"
    )
    assert "for t in tf.range(9):" in range_to_graph(script(text), 6).text


@pytest.mark.parametrize(
    "value",
    [
        "tf.multiply(state, t)",
        "tf.add(state, t + 1)",
        "tf.reduce_sum(state, axis=t)",
        "tf.concat([state, x[:, t]], 0)",
        "tf.pad(state, t)",
    ],
)
def test_a_counter_that_must_be_a_number_and_a_state_that_grows_stay_python(value: str) -> None:
    text = f"{_HEAD}    for t in range(9):\n        state = {value}\n    return state\n"
    with pytest.raises(CannotEdit, match=r"Python number|another shape"):
        range_to_graph(script(text), 6)


@pytest.mark.parametrize("value", ["tf.one_hot(t, 9)", "tf.cast(t + 1, tf.float32)"])
def test_a_counter_may_be_a_tensor_for_what_takes_any(value: str) -> None:
    text = f"{_HEAD}    for t in range(9):\n        state = state + {value}\n    return state\n"
    assert "for t in tf.range(9):" in range_to_graph(script(text), 6).text


@pytest.mark.parametrize("draws", [True, False])
def test_a_loop_that_draws_random_numbers_must_be_reviewed(draws: bool) -> None:
    value = "tf.random.normal([3]) + x[:, t]" if draws else "x[:, t]"
    text = (
        f"{_HEAD}    for t in range(9):\n        state = cell(state, {value})\n    return state\n"
    )
    found = Finding("unrolled-loop", "", Location("train.py", 6), 1.0, ())
    found = replace(found, detail=unrolled_loop.Detail(loop=6))
    answer = unrolled_loop.UnrolledLoop().fix(found, script(text))
    assert isinstance(answer, Fix)
    assert answer.safety is (Safety.REVIEW if draws else Safety.CLOSE)


_SUMMED = """\
    loss = {start}
    for t in range(9):
        state = cell(x[:, t], state)
        loss += {value}
    return loss
"""
_LOSS = "\n\ndef error(a, b):\n    return tf.reduce_mean(a - b)\n"


@pytest.mark.parametrize("value", ["tf.reduce_sum(state)", "0.5 * error(x[:, t], state)"])
def test_a_sum_of_scalars_may_start_as_a_number(value: str) -> None:
    text = _HEAD + _SUMMED.format(start="0.0", value=value) + _LOSS
    assert range_to_graph(script(text), 7).text == text.replace("in range", "in tf.range")


def test_an_integer_that_real_numbers_are_added_to_starts_as_a_real_one() -> None:
    text = _HEAD + _SUMMED.format(start="0", value="error(x[:, t], state)") + _LOSS
    edited = text.replace("in range", "in tf.range").replace("loss = 0", "loss = 0.0")
    assert range_to_graph(script(text), 7).text == edited


@pytest.mark.parametrize(
    ("start", "value"),
    [
        ("0.0", "tf.reduce_sum(state, axis=1)"),
        ("0.0", "tf.square(state)"),
        ("0.0", "distance(state)"),
        ("0", "tf.reduce_sum(state)"),
        ("0", "1"),
        ("None", "tf.reduce_sum(state)"),
    ],
)
def test_a_number_that_may_become_something_else_is_refused(start: str, value: str) -> None:
    with pytest.raises(CannotEdit, match="`loss` starts as"):
        range_to_graph(script(_HEAD + _SUMMED.format(start=start, value=value)), 7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(9)", "tf.range(9)"),
        ("range(2, x.shape[1])", "tf.range(2, x.shape[1])"),
        ("reversed(range(9))", "tf.range(9 - 1, -1, -1)"),
        ("reversed(range(n))", "tf.range(n - 1, -1, -1)"),
    ],
)
def test_a_loop_may_count_anyhow_and_branch_by_its_counter(old: str, new: str) -> None:
    body = "        if t > 3:\n            state = cell(x[:, t], state)\n    return state\n"
    text = f"{_HEAD}    for t in {old}:\n{body}"
    assert range_to_graph(script(text), 6).text == text.replace(f"in {old}", f"in {new}")


def test_a_number_that_a_branch_changes_is_checked_as_well() -> None:
    value = "1.0\n        if t > 3:\n            loss += state"
    with pytest.raises(CannotEdit, match="`loss` starts as"):
        range_to_graph(script(_HEAD + _SUMMED.format(start="0.0", value=value)), 7)


def test_an_edited_loop_is_left_as_it_is() -> None:
    text = (
        _HEAD
        + "    for t in tf.range(9):\n        state = cell(x[:, t], state)\n    return state\n"
    )
    assert range_to_graph(script(text), 6).text == text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("        state = cell(x[t], state)\n", "Python number"),
        ("        rows.append(x[:, t])\n", "TensorArray"),
        ("        if t:\n            state = cell(x[:, t], state)\n", "Python number"),
        (
            "        with scope():\n            state = cell(x[:, t], state)\n",
            "more than assignments",
        ),
        ("        if t > 3:\n            rows.append(x[:, t])\n", "TensorArray"),
        (
            "        if t > 3:\n            late = cell(x[:, t], state)\n        state = late\n",
            "no value",
        ),
        (
            "        state = cell(x[:, t], state)\n        fresh = total + state\n        total = fresh\n",
            "no value",
        ),
        ("        self.state = cell(x[:, t], state)\n", "in place"),
    ],
)
def test_a_loop_that_needs_python_is_refused(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        range_to_graph(script(f"{_HEAD}    for t in range(9):\n{body}    return state\n"), 6)


_CALLED = """\
import tensorflow as tf
def roll(x, s):
    for t in range(9):
        s = cell(x[:, t], s)
    return s


@tf.function{options}
def step(x):
    return {use}
"""


def test_a_loop_in_a_function_that_only_compiled_ones_call_becomes_one_of_the_graph() -> None:
    text = _CALLED.format(options="", use="roll(x, x)")
    assert range_to_graph(script(text), 3).text == text.replace("in range", "in tf.range")


# Models made again


def test_a_model_is_made_once_and_each_turn_starts_from_its_first_weights() -> None:
    text = (
        "for fold in folds:\n    model = build()\n    model.compile('adam')\n    model.fit(fold)\n"
    )
    assert model_once(script(text), [2]).text == (
        "model = build()\n"
        "model.compile('adam')\n"
        "model.optimizer.build(model.trainable_variables)\n"
        "first_weights = model.get_weights()\n"
        "first_state = [variable.numpy() for variable in model.optimizer.variables]\n"
        "for fold in folds:\n"
        "    model.set_weights(first_weights)\n"
        "    for variable, value in zip(model.optimizer.variables, first_state):\n"
        "        variable.assign(value)\n"
        "    model.fit(fold)\n"
    )


def test_a_model_that_depends_on_the_turn_is_refused() -> None:
    with pytest.raises(CannotEdit, match="depends on `width`"):
        model_once(
            script("for width in widths:\n    model = build(width)\n    model.fit(x)\n"), [2]
        )


def test_a_compile_that_never_changes_leaves_the_loop() -> None:
    edited = model_once(
        script("for epoch in range(9):\n    model.compile('adam')\n    model.fit(x)\n"), [2]
    )
    assert edited.text == "model.compile('adam')\nfor epoch in range(9):\n    model.fit(x)\n"


# Sessions


def test_an_eval_is_spelled_as_a_run() -> None:
    edited = eval_as_run(script("value = loss.eval(feed_dict=feed, session=s)\n"), 1)
    assert edited.text == "value = s.run(loss, feed_dict=feed)\n"


def test_an_eval_in_the_default_session_is_refused() -> None:
    with pytest.raises(CannotEdit, match="not named"):
        eval_as_run(script("value = loss.eval({x: 1})\n"), 1)


def test_a_fed_slice_is_taken_from_an_array_that_is_converted_once() -> None:
    text = "import numpy as np\nfor i in r:\n    s.run(train, {x: rows[i : i + 9], y: labels[i]})\n"
    assert converted_once(script(text), 3, 0, "float32", False).text == (
        "import numpy as np\n"
        "rows_float32 = np.asarray(rows, dtype=np.float32)\n"
        "for i in r:\n"
        "    s.run(train, {x: rows_float32[i : i + 9], y: labels[i]})\n"
    )


def test_a_feed_under_a_name_is_followed_to_where_it_is_made() -> None:
    body = "    batch = rows[i]\n    feed = {x: batch}\n    s.run(train, feed_dict=feed)\n"
    text = "import numpy as np\nfor i in r:\n" + body
    edited = converted_once(script(text), 5, 0, "float32", False).text
    assert (
        "rows_float32 = np.asarray(rows, dtype=np.float32)\nfor i in r:\n    batch = rows_float32[i]\n"
        in edited
    )


def test_data_that_does_not_lie_in_order_is_put_in_order_once() -> None:
    edited = converted_once(
        script("import numpy as np\nfor i in r:\n    s.run(t, {x: rows[i]})\n"),
        3,
        0,
        "float32",
        True,
    )
    assert "rows_ordered = np.ascontiguousarray(rows)\n" in edited.text


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("for i in r:\n    s.run(t, {x: make(i)})\n", 2, r"`make\(i\)` makes what is fed"),
        ("for i in r:\n    rows = load(i)\n    s.run(t, {x: rows[i]})\n", 3, "changes in the loop"),
        ("for i in r:\n    s.run(t, feed(i))\n", 2, "written out"),
        (
            "for i in r:\n    b = rows[i]\n    log(b)\n    s.run(t, {x: b})\n",
            4,
            "more than feeding",
        ),
    ],
)
def test_a_feed_that_is_new_in_every_step_is_refused(text: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        converted_once(script(text), line, 0, "float32", False)


_COUNTED_DOWN = """\
import tensorflow as tf
rates = tf.constant([0.1, 0.2, 0.3])
rest = 1.0 - rates


@tf.function
def sample(x):
    for i in range(3):
        t = 2 - i
        x = rates[t] * x + (rest[t] if t > 0 else tf.zeros(()))
    return x
"""


def test_what_is_computed_from_the_counter_alone_may_index_tensors() -> None:
    assert "for i in tf.range(3):" in range_to_graph(script(_COUNTED_DOWN), 8).text


def test_a_list_is_not_indexed_by_what_is_computed_from_the_counter() -> None:
    text = _COUNTED_DOWN.replace("tf.constant([0.1, 0.2, 0.3])", "[0.1, 0.2, 0.3]")
    with pytest.raises(CannotEdit, match="needed as a Python number"):
        range_to_graph(script(text.replace("1.0 - rates", "tf.ones(3)")), 8)
