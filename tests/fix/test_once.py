"""Moves that make things once: ops of a graph, compiled functions; and those that undo traces and flags."""

from __future__ import annotations

import textwrap

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.eager_flag import flag_off, needs_python, overrule_flag
from unslow.fix.moves.fit_to_train_on_batch import fit_as_batch
from unslow.fix.moves.hoist import hoist_statements
from unslow.fix.moves.hoist_function import function_once
from unslow.fix.moves.ops_before_loop import ops_once
from unslow.fix.moves.tensor_arguments import number_as_tensor, relax_shapes


def script(text: str) -> Script:
    return Script("train.py", textwrap.dedent(text).lstrip("\n"))


def line_of(text: Script, part: str) -> int:
    return next(number for number, row in enumerate(text.text.splitlines(), 1) if part in row)


GRAPH = """
import tensorflow.compat.v1 as tf

def accuracy():
    return tf.reduce_mean(tf.cast(hits, tf.float32))

def keep(session):
    tf.train.Saver().save(session, "model")

for step in range(9):
    session.run(train)
    wrong = tf.not_equal(guess, labels)
    value = session.run([loss, tf.reduce_mean(wrong)], feed_dict=batch)
    session.run(rate.assign(0.1 / step))
    session.run(tf.add(weights, tf.constant(step)), {x: data})
    shown = session.run(accuracy(), feed_dict=batch)
    keep(session)
    tf.train.Saver().save(session, "model")
"""


def ops(part: str, *inner: tuple[str, int, str], running: tuple[tuple[str, str], ...] = ()) -> str:
    graph = script(GRAPH)
    frame = ("train.py", line_of(graph, part), "<module>")
    return ops_once(graph, [[*inner, frame]], running).text


def test_an_assignment_that_only_makes_ops_goes_in_front_of_the_loop() -> None:
    assert "wrong = tf.not_equal(guess, labels)\nfor step" in ops("wrong = ")


def test_what_is_made_inside_a_run_is_made_in_front_and_run_in_place() -> None:
    graph = script(GRAPH)
    lines = [line_of(graph, "wrong = "), line_of(graph, "value = ")]
    text = ops_once(graph, [[("train.py", line, "<module>")] for line in lines], ()).text
    assert "mean_op = tf.reduce_mean(wrong)\nfor step" in text
    assert "session.run([loss, mean_op], feed_dict=batch)" in text


def test_a_value_that_changes_is_fed_with_the_dtype_of_its_variable() -> None:
    text = ops("rate.assign")
    assert (
        "fed = tf.placeholder(rate.dtype.base_dtype, rate.shape)\nassign_op = rate.assign(fed)\nfor step"
        in text
    )
    assert "session.run(assign_op, feed_dict={fed: 0.1 / step})" in text


def test_a_value_is_fed_next_to_what_is_fed_already() -> None:
    text = ops("tf.add(")
    assert "fed = tf.placeholder(tf.int32, [])\nadd_op = tf.add(weights, fed)" in text
    assert "session.run(add_op, {fed: step, x: data})" in text


def test_a_call_of_a_function_that_only_makes_ops_is_made_in_front() -> None:
    inner = ("train.py", line_of(script(GRAPH), "return tf.reduce_mean"), "accuracy")
    text = ops("shown = ", inner)
    assert (
        "accuracy_op = accuracy()\nfor step" in text
        and "session.run(accuracy_op, feed_dict=batch)" in text
    )


def test_a_call_of_a_function_that_also_runs_its_ops_stays_and_is_given_them() -> None:
    inner = ("train.py", 7, "keep")
    text = ops("    keep(session)", inner, running=(("train.py", "keep"),))
    assert "\n    keep(session)\n" in text and "saver = tf.train.Saver()\nfor step" in text


def test_of_a_statement_that_saves_only_the_saver_is_made_in_front() -> None:
    graph = script(GRAPH)
    line = len(graph.text.splitlines())
    text = ops_once(graph, [[("train.py", line, "<module>")]], ()).text
    assert "saver = tf.train.Saver()\nfor step" in text and text.rstrip().endswith(
        'saver.save(session, "model")'
    )


FUNCTIONS = """
import tensorflow as tf

rate = 0.1

def update(x):
    return x * weights

def decayed(x):
    return x * rate

def train(batch):
    @tf.function
    def inner(x):
        return x * weights
    return inner(batch)

def closed(batch, scale):
    @tf.function
    def scaled(x):
        return x * scale
    return scaled(batch)

def wrapped(batch):
    return tf.function(update)(batch)

for batch in batches:
    rate = rate * 0.9
    step = tf.function(update)
    step(batch)
    tf.function(lambda x: x + weights)(batch)
    weights.assign_add(1.0)
    tf.function(decayed)(batch)
"""


def once(part: str) -> str:
    text = script(FUNCTIONS)
    return function_once(text, line_of(text, part)).text


def test_a_function_made_in_the_loop_is_made_in_front_of_it() -> None:
    assert "step = tf.function(update)\nfor batch" in once("step = tf.function")


def test_a_lambda_that_reads_a_variable_can_be_made_once_although_the_loop_changes_it() -> None:
    assert "compiled_function = tf.function(lambda x: x + weights)\nfor batch" in once("lambda x")


def test_a_function_that_reads_what_the_loop_changes_is_not_made_once() -> None:
    with pytest.raises(CannotEdit, match="`rate`"):
        once("tf.function(decayed)")


def test_an_inner_function_goes_to_the_top_where_it_uses_nothing_around_it() -> None:
    text = script(FUNCTIONS)
    moved = function_once(text, line_of(text, "    @tf.function")).text
    assert moved.index("@tf.function\ndef inner(x):") < moved.index(
        "def train(batch):\n    return inner(batch)"
    )


def test_an_inner_function_that_uses_a_name_around_it_stays() -> None:
    text = script(FUNCTIONS)
    line = line_of(text, "def closed") + 1
    with pytest.raises(CannotEdit, match="`scale`"):
        function_once(text, line)


def test_a_call_that_compiles_inside_a_function_is_made_at_the_top() -> None:
    text = once("return tf.function(update)(batch)")
    assert (
        "compiled_update = tf.function(update)\n\n\ndef wrapped" in text
        and "return compiled_update(batch)" in text
    )


STEP = """
import tensorflow as tf

@tf.function
def train_step(x, rate, depth, epoch):
    if rate > 0.5:
        x = x * 2
    for _ in range(depth):
        x = x + 1
    return x * (0.1 * rate) / (1.0 + epoch)

relaxed = tf.function(other)

for epoch in range(9):
    train_step(x, rate, depth=3, epoch=epoch)
"""


def handed(name: str, number: str) -> str:
    text = script(STEP)
    return number_as_tensor(
        text, line_of(text, "    train_step("), "train_step", name, number, text.function_at(4)
    ).text


def test_a_float_is_handed_in_as_a_tensor() -> None:
    assert "train_step(x, tf.constant(rate), depth=3, epoch=epoch)" in handed("rate", "float")


def test_an_int_that_is_computed_with_is_handed_in_as_a_float_tensor() -> None:
    assert "epoch=tf.constant(epoch, tf.float32))" in handed("epoch", "int")


def test_a_number_that_python_needs_stays() -> None:
    with pytest.raises(CannotEdit, match="needs a Python number"):
        handed("depth", "int")


def test_shapes_are_relaxed_on_the_decorator_or_on_the_call_that_compiles() -> None:
    text = script(STEP)
    assert "@tf.function(reduce_retracing=True)\ndef train_step" in relax_shapes(text, 4, 4).text
    assert (
        "tf.function(other, reduce_retracing=True)"
        in relax_shapes(text, 99, line_of(text, "relaxed =")).text
    )


FLAGS = """
import tensorflow as tf

tf.config.run_functions_eagerly(True)
model.compile("adam", run_eagerly=True)
model.compile("adam", run_eagerly=args.debug)
model.run_eagerly = True

def train_step(data):
    print(data)
    return data

def other(data):
    return data * 2
"""


@pytest.mark.parametrize(
    ("part", "way", "gone"),
    [
        ("tf.config", "run_functions_eagerly", "run_functions_eagerly"),
        ('"adam", run_eagerly=True', "compile", "run_eagerly=True"),
        ("model.run_eagerly", "run_eagerly", "model.run_eagerly"),
    ],
)
def test_a_flag_that_says_true_is_taken_out(part: str, way: str, gone: str) -> None:
    text = script(FLAGS)
    assert gone not in flag_off(text, line_of(text, part), way).text


def test_a_flag_that_comes_from_elsewhere_stays() -> None:
    text = script(FLAGS)
    with pytest.raises(CannotEdit, match="`args`"):
        flag_off(text, line_of(text, "args.debug"), "compile")


def test_a_flag_that_no_python_file_sets_is_overruled() -> None:
    text = script(FLAGS)
    overruled = overrule_flag(text, line_of(text, "args.debug"), "compile")
    assert "run_eagerly=False" in overruled.script.text
    assert overruled.value == "args.debug"


def test_a_flag_of_the_command_line_is_the_users_choice() -> None:
    text = (
        "p.add_argument('--d', action='store_true')\na = p.parse_args()\n"
        "m.compile(run_eagerly=a.d)\n"
    )
    with pytest.raises(CannotEdit, match="command line"):
        overrule_flag(Script("a.py", text), 3, "compile")


def test_python_inside_the_step_is_named() -> None:
    text = script(FLAGS)
    assert "train_step() " in needs_python(
        text, [("train.py", line_of(text, "print"), "train_step")]
    )
    assert not needs_python(text, [("train.py", line_of(text, "data * 2"), "other")])


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("model.fit(x, y, epochs=1, verbose=0)", "model.train_on_batch(x, y)"),
        ("self.model.fit(x=x, y=y, batch_size=32)", "self.model.train_on_batch(x=x, y=y)"),
    ],
)
def test_a_fit_of_one_batch_becomes_train_on_batch(call: str, made: str) -> None:
    assert (
        fit_as_batch(script(f"import tensorflow as tf\n{call}\n"), 2).text.splitlines()[1] == made
    )


@pytest.mark.parametrize(
    "call", ["h = model.fit(x, y)", "model.fit(x, y, epochs=n)", "model.fit(x, y, callbacks=c)"]
)
def test_a_fit_that_does_more_stays(call: str) -> None:
    with pytest.raises(CannotEdit):
        fit_as_batch(script(f"import tensorflow as tf\n{call}\n"), 2)


PIPELINE = """
import tensorflow as tf

for epoch in range(9):
    dataset = tf.data.Dataset.from_tensor_slices(data)
    dataset = dataset.map(prepare)
    for batch in dataset:
        step(batch)
    other = make(epoch)
    other = other.map(prepare)
"""


def test_a_pipeline_leaves_its_loop_as_a_whole() -> None:
    text = hoist_statements(script(PIPELINE), [4, 5]).text
    assert "\ndataset = dataset.map(prepare)\nfor epoch in range(9):\n    for batch" in text


def test_a_pipeline_that_depends_on_the_iteration_stays() -> None:
    with pytest.raises(CannotEdit, match="`epoch`"):
        hoist_statements(script(PIPELINE), [8, 9])


@pytest.mark.parametrize(
    "statement",
    [
        "start = time.time()",
        "rows = data[np.random.permutation(9)]",
        "n = next(counter)",
        "source = numbers()",
        "dataset = iter(dataset)",
        "dataset = tf.compat.v1.data.make_one_shot_iterator(dataset)",
        "seen = log.count(dataset)",
    ],
)
def test_what_gives_something_else_in_each_turn_keeps_a_pipeline_in_it(statement: str) -> None:
    text = PIPELINE.replace(
        "    dataset = dataset.map", f"    {statement}\n    dataset = dataset.map"
    )
    head = "import time\nimport numpy as np\ndef numbers():\n    yield from range(9)\n"
    with pytest.raises(CannotEdit, match="in each turn"):
        hoist_statements(script(head + text), [9, 11])


def test_what_a_map_calls_is_called_wherever_it_is_built() -> None:
    text = PIPELINE.replace("map(prepare)", "map(lambda x: x + tf.random.normal([]))", 1)
    assert "\ndataset = dataset.map" in hoist_statements(script(text), [4, 5]).text


ALONE = """
import tensorflow as tf

def run(x):
    @tf.function
    def double(y):
        {}
        return y * 2
    return double(x)
"""


@pytest.mark.parametrize("effect", ["print(y)", "seen.append(1)", "y = y * random.random()"])
def test_what_tracing_does_in_python_keeps_a_function_where_it_is(effect: str) -> None:
    text = ALONE.format(effect).replace("import tensorflow", "import random\nimport tensorflow", 1)
    with pytest.raises(CannotEdit, match=r"whenever it is traced|which a compiled step"):
        function_once(script(text), 6)
    assert "\n@tf.function\ndef double" in function_once(script(ALONE.format("pass")), 4).text


def test_the_arguments_of_a_lambda_are_its_own() -> None:
    text = "import tensorflow as tf\ndef run(x):\n    f = tf.function(lambda y: y * 2)\n    return f(x)\n"
    assert (
        "\ncompiled_function = tf.function(lambda y: y * 2)\n"
        in function_once(script(text), 3).text
    )


def test_a_helper_that_freezes_layers_keeps_the_function_in_its_loop() -> None:
    text = """
    import tensorflow as tf
    def freeze(n):
        for layer in model.layers[:n]:
            layer.trainable = False
    for stage in range(3):
        freeze(stage)
        @tf.function
        def step(x):
            return model(x)
        step(data)
    """
    with pytest.raises(CannotEdit, match="a compiled step would not notice"):
        function_once(script(text), 7)
