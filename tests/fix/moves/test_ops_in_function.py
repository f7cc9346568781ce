"""A function that makes ops and runs them at every call: the ops are made once, and the rest stays as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from tests.fix.inputs import NAMES, SURROUNDINGS, Surroundings, holds
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.ops_before_loop import ops_once

MODULE = """
import numpy as np
import tensorflow.compat.v1 as tf

x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 2])
rate = tf.Variable(0.1, trainable=False)
guess = tf.matmul(x, tf.Variable(tf.zeros([3, 2])))
loss = tf.reduce_mean(tf.square(guess - y))
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)


{helper}

data = np.zeros((5, 3))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    # the loop
    for step in range(100):
        session.run(train, {{x: data, y: data}})
        {call}
"""

CLASS = """
import numpy as np
import tensorflow.compat.v1 as tf


class Net:
    def __init__(self, size):
        self.x = tf.placeholder(tf.float32, [None, size])
        self.y = tf.placeholder(tf.int64, [None])
        self.sess = tf.Session()
        {init}

    def build(self):
        self.guess = tf.layers.dense(self.x, 3)
        self.rate = tf.Variable(0.1)

    {method}


def main():
    net = Net(4)
    for step in range(100):
        {call}


main()
"""


def module(helper: str, call: str) -> str:
    return MODULE.format(helper=textwrap.dedent(helper).strip("\n"), call=call).lstrip("\n")


def a_class(method: str, call: str, init: str = "self.build()") -> str:
    body = textwrap.indent(textwrap.dedent(method).strip("\n"), "    ").lstrip()
    return CLASS.format(
        method=body, call=call, init=textwrap.indent(init, " " * 8).lstrip()
    ).lstrip("\n")


Way = Sequence[
    tuple[str, str]
]  # a piece of each line, and the function that it is in; innermost first


def ways(text: str, found: Sequence[Way]) -> list[list[tuple[str, int, str]]]:
    rows = text.splitlines()

    def line(part: str) -> int:
        return next(number for number, row in enumerate(rows, 1) if part in row)

    return [[("train.py", line(part), function) for part, function in way] for way in found]


def once(text: str, *found: Way, running: Sequence[str] = ()) -> str:
    """The text after the move, which must be done after once, also for who has only the two texts."""
    before = Script("train.py", text)
    stacks = ways(text, found)
    run = {("train.py", name) for name in running or {way[0][1] for way in found}}
    after = ops_once(before, stacks, run)
    assert ops_once(after, stacks, run) == after
    assert ops_once(Script.continued("train.py", text, after.text), stacks, run).text == after.text
    return after.text


def refused(text: str, *found: Way, running: Sequence[str] = ()) -> str:
    with pytest.raises(CannotEdit) as problem:
        once(text, *found, running=running)
    assert problem.value.line is not None
    return problem.value.reason


# Functions of the module

SET_RATE = """
def set_rate(session, value):
    session.run(rate.assign(value))
"""


def test_a_number_that_a_function_is_given_is_fed() -> None:
    text = once(module(SET_RATE, "set_rate(session, 0.1 / step)"), [("rate.assign", "set_rate")])
    assert "rate_placeholder = tf.placeholder(rate.dtype.base_dtype, rate.shape)\n" in text
    assert (
        "set_rate_op = rate.assign(rate_placeholder)\n\n\ndef set_rate(session, value):\n" in text
    )
    assert "    session.run(set_rate_op, feed_dict={rate_placeholder: value})\n" in text


def test_ops_of_globals_are_made_behind_them_and_in_front_of_the_function() -> None:
    helper = """
    def accuracy(session, rows, labels):
        ok = tf.equal(tf.argmax(guess, 1), tf.argmax(y, 1))  # hits
        return session.run(tf.reduce_mean(tf.cast(ok, tf.float32)), {x: rows, y: labels})
    """
    ways = [[("ok = ", "accuracy")], [("return session.run(tf", "accuracy")]]
    text = once(module(helper, "accuracy(session, data, data)"), *ways)
    assert (
        ".minimize(loss)\nok = tf.equal(tf.argmax(guess, 1), tf.argmax(y, 1))  # hits\n"
        "accuracy_op = tf.reduce_mean(tf.cast(ok, tf.float32))\n\n\ndef accuracy(session, rows, labels):\n"
        "    return session.run(accuracy_op, {x: rows, y: labels})\n"
    ) in text


def test_what_is_defined_below_the_function_puts_its_ops_in_front_of_the_loop() -> None:
    helper = "def scale(session, value):\n    session.run(tf.assign(scale_by, value))\n\n\nscale_by = tf.Variable(1.0)"
    text = once(module(helper, "scale(session, 2.0)"), [("tf.assign", "scale")])
    assert (
        "    scale_op = tf.assign(scale_by, scale_by_placeholder)\n    # the loop\n    for step"
        in text
    )


def test_a_call_in_front_of_the_loop_has_its_ops_too() -> None:
    helper = f"{SET_RATE}\nlate = tf.Variable(1.0)\ns = tf.Session()\nset_rate(s, 0.1)\n"
    helper = helper.replace("rate.assign", "late.assign")
    text = once(module(helper, "set_rate(session, 0.1)"), [("late.assign", "set_rate")])
    assert text.index("set_rate_op = ") < text.index("set_rate(s, 0.1)")


def test_functions_between_the_loop_and_the_ops_stay_as_they_are() -> None:
    helper = f"{SET_RATE}\n\ndef outer(session, value):\n    set_rate(session, value * 2)\n"
    way = [("rate.assign", "set_rate"), ("    set_rate(", "outer"), ("        outer(", "<module>")]
    text = once(
        module(helper, "outer(session, 0.5)"), way, running=["set_rate", "outer", "<module>"]
    )
    assert (
        "    set_rate(session, value * 2)\n" in text
        and "set_rate_op = rate.assign(rate_placeholder)\n" in text
    )


def test_a_value_is_fed_beside_those_that_are_fed_already() -> None:
    helper = "def scaled(session, by, rows):\n    return session.run(loss * by, feed_dict={x: rows, y: rows})\n"
    text = once(module(helper, "scaled(session, 0.5, data)"), [("loss * by", "scaled")])
    assert (
        "by_placeholder = tf.placeholder(loss.dtype.base_dtype, [])\nscaled_op = loss * by_placeholder\n"
        in text
    )
    assert "session.run(scaled_op, feed_dict={by_placeholder: by, x: rows, y: rows})" in text


def test_a_dictionary_that_all_callers_write_out_is_fed_along() -> None:
    helper = "def scaled(session, by, feed):\n    return session.run(loss * by, feed)\n"
    text = once(
        module(helper, "scaled(session, 0.5, {x: data, y: data})"), [("loss * by", "scaled")]
    )
    assert "session.run(scaled_op, {**feed, by_placeholder: by})" in text


def test_a_constant_gives_way_to_the_placeholder_with_its_dtype() -> None:
    helper = "def show(session, n):\n    return session.run(tf.cast(tf.constant(n), tf.float32) + rate)\n"
    text = once(module(helper, "show(session, step)"), [("tf.constant(n)", "show")])
    assert (
        "n_placeholder = tf.placeholder(tf.int32, [])\nshow_op = tf.cast(n_placeholder, tf.float32) + rate\n"
        in text
    )


def test_an_op_that_is_bound_first_and_run_later_is_fed_where_it_is_run() -> None:
    helper = """
    def raise_rate(session, by):
        raised = rate.assign_add(2 * by)
        session.run(train, {x: data, y: data})
        return session.run([raised, rate])
    """
    text = once(module(helper, "raise_rate(session, 0.01)"), [("raised = ", "raise_rate")])
    assert "raised = rate.assign_add(rate_placeholder)\n" in text
    assert "session.run([raised, rate], feed_dict={rate_placeholder: 2 * by})" in text


def test_an_evaluated_tensor_is_made_once() -> None:
    helper = "def mean(session):\n    return tf.reduce_mean(guess).eval({x: data}, session)\n"
    text = once(module(helper, "mean(session)"), [("reduce_mean(guess)", "mean")])
    assert (
        "mean_op = tf.reduce_mean(guess)\n" in text
        and "return mean_op.eval({x: data}, session)" in text
    )


def test_a_name_that_is_taken_at_the_modules_level_is_not_taken_again() -> None:
    helper = "def total(session):\n    data = tf.reduce_sum(rate)\n    return session.run(data)\n"
    text = once(module(helper, "total(session)"), [("tf.reduce_sum", "total")])
    assert "data_op = tf.reduce_sum(rate)\n" in text and "return session.run(data_op)" in text


def test_a_saver_is_made_in_front_of_the_loop_where_all_variables_exist() -> None:
    helper = 'def keep(session):\n    tf.train.Saver().save(session, "model")\n'
    text = once(module(helper, "keep(session)"), [("tf.train.Saver", "keep")])
    assert (
        "    saver = tf.train.Saver()\n    # the loop\n" in text
        and '    saver.save(session, "model")' in text
    )


def test_what_is_made_by_a_function_that_only_makes_is_made_once_by_it() -> None:
    helper = """
    def error():
        return tf.reduce_mean(tf.abs(guess - y))


    def measure(session):
        return session.run(error(), {x: data, y: data})
    """
    way = [
        ("return tf.reduce_mean(tf.abs", "error"),
        ("session.run(error()", "measure"),
        ("      measure(", "<module>"),
    ]
    text = once(module(helper, "measure(session)"), way, running=["measure", "<module>"])
    assert (
        "measure_op = error()\n\n\ndef measure(session):\n    return session.run(measure_op, {x: data"
        in text
    )


def test_a_function_inside_another_has_its_ops_beside_itself() -> None:
    text = textwrap.dedent("""
    import tensorflow.compat.v1 as tf

    def main():
        rate = tf.Variable(0.1)
        session = tf.Session()

        def set_rate(value):
            session.run(rate.assign(value))

        for step in range(100):
            set_rate(0.1 * step)

    main()
    """)
    text = once(
        text, [("rate.assign", "set_rate"), ("       set_rate(", "main"), ("main()", "<module>")]
    )
    assert "    set_rate_op = rate.assign(rate_placeholder)\n\n    def set_rate(value):\n" in text


def test_a_scope_that_only_names_goes_with_what_it_holds() -> None:
    helper = """
    def error(session):
        with tf.name_scope("error"):
            off = tf.abs(guess - y)
            mean = tf.reduce_mean(off)
        return session.run(mean, {x: data, y: data})
    """
    text = once(module(helper, "error(session)"), [("off = ", "error")], [("mean = ", "error")])
    assert "def error(session):\n    return session.run(mean, {x: data, y: data})\n" in text


def test_a_local_name_for_a_global_stays_where_it_is() -> None:
    helper = """
    def total(session):
        out = guess
        return session.run(tf.reduce_sum(out), {x: data}), out.shape
    """
    text = once(module(helper, "total(session)"), [("tf.reduce_sum", "total")])
    assert (
        "total_op = tf.reduce_sum(guess)\n" in text
        and "    out = guess\n    return session.run(total_op, {x: " in text
    )


def test_an_op_that_is_run_by_itself_is_fed_by_itself() -> None:
    helper = "def lower(session, by):\n    rate.assign(by).op.run(session=session)\n"
    text = once(module(helper, "lower(session, 0.5 * step)"), [("rate.assign", "lower")])
    assert "lower_op = rate.assign(rate_placeholder).op\n" in text
    assert "lower_op.run(session=session, feed_dict={rate_placeholder: by})" in text


def test_an_array_may_be_assigned() -> None:
    helper = "def put(session, rows):\n    session.run(rate.assign(rows.mean()))\n"
    text = once(module(helper, "put(session, data[step:])"), [("rate.assign", "put")])
    assert "session.run(put_op, feed_dict={rate_placeholder: rows.mean()})" in text


def test_a_global_number_that_changes_is_fed() -> None:
    helper = "now = 0.1\n\n\ndef update(session):\n    session.run(rate.assign(now * 2))\n"
    text = once(module(helper, "update(session); now = now * 0.9"), [("rate.assign", "update")])
    assert "session.run(update_op, feed_dict={rate_placeholder: now * 2})" in text


def test_a_local_number_that_stays_the_same_is_kept_with_what_needs_it() -> None:
    helper = "def total(session):\n    axis = len([1])\n    return session.run(tf.reduce_sum(guess, axis), {x: data})\n"
    text = once(module(helper, "total(session)"), [("tf.reduce_sum", "total")])
    assert "axis = len([1])\ntotal_op = tf.reduce_sum(guess, axis)\n" in text


def test_a_name_of_pythons_own_is_not_taken_from_the_module() -> None:
    helper = "def total(session):\n    sum = tf.reduce_sum(rate)\n    return session.run(sum)\n"
    text = once(module(helper, "total(session)"), [("tf.reduce_sum", "total")])
    assert "sum_op = tf.reduce_sum(rate)\n" in text


def test_an_expression_over_several_lines_stays_one() -> None:
    helper = "def gap(session):\n    return session.run(tf.abs(rate)\n- tf.square(rate))\n"
    text = once(module(helper, "gap(session)"), [("tf.abs(rate)", "gap")])
    assert "gap_op = (tf.abs(rate)\n- tf.square(rate))\n" in text


# Tensors that the function is given


def test_ops_that_init_runs_are_made_in_front_of_that() -> None:
    text = once(a_class(ACCURACY, CALL, "self.build()\nself.accuracy([], [])"), *WAYS)
    before, _, _ = text.partition("        self.accuracy([], [])\n")
    assert "        self.build()\n        ok = " in before
    assert before.endswith("        self.accuracy_op = tf.reduce_mean(tf.cast(ok, tf.float32))\n")


SYNC = """
def sync(self, tau=None):
    tau = self.tau if tau is None else tau
    self.sess.run([t.assign(tau * m + (1.0 - tau) * t) for m, t in zip(self.live, self.lag)])
"""
SYNC_INIT = "self.tau, self.scale = {tau}, size\nself.live = tf.get_collection('live')\nself.lag = tf.get_collection('lag')"
SYNC_WAY = [("self.sess.run([t", "sync"), ("net.sync", "main")]


def test_a_rate_that_is_an_attribute_unless_it_is_given_is_fed() -> None:
    text = once(a_class(SYNC, "net.sync()", SYNC_INIT.format(tau="0.1")), SYNC_WAY)
    assert "[t.assign(self.tau_placeholder * m + self.value_placeholder * t) for m, t in" in text
    assert "feed_dict={self.tau_placeholder: tau, self.value_placeholder: 1.0 - tau})" in text


@pytest.mark.parametrize(
    ("tau", "call"),
    [("tf.constant(0.1)", "net.sync()"), ("0.1", "net.sync(guess)"), ("0.1", "f(net.sync)")],
)
def test_a_rate_that_may_be_a_tensor_is_not_fed(tau: str, call: str) -> None:
    text = a_class(SYNC, f"net.sync(), {call}", SYNC_INIT.format(tau=tau))
    assert "may be a tensor" in refused(text, SYNC_WAY)


def test_ops_of_a_tensor_that_the_function_is_given_are_left_alone() -> None:
    helper = """
    def total(session, out, rows):
        return session.run(tf.reduce_sum(out), {x: rows})
    """
    reason = refused(
        module(helper, "total(session, guess, data)"), [("tf.reduce_sum(out)", "total")]
    )
    assert reason == "it depends on `out`, which `total` is given and may be a tensor"


# Methods

ACCURACY = """
def accuracy(self, rows, labels):
    ok = tf.equal(tf.argmax(self.guess, 1), self.y)
    return self.sess.run(tf.reduce_mean(tf.cast(ok, tf.float32)), {self.x: rows, self.y: labels})
"""
CALL = "net.accuracy(np.zeros((2, 4)), [0, 1])"
WAYS = (
    [("ok = ", "accuracy"), ("net.accuracy", "main")],
    [("tf.reduce_mean", "accuracy"), ("net.accuracy", "main")],
)


def test_ops_of_attributes_are_made_at_the_end_of_init() -> None:
    text = once(a_class(ACCURACY, CALL), *WAYS)
    assert (
        "        self.build()\n        ok = tf.equal(tf.argmax(self.guess, 1), self.y)\n"
        "        self.accuracy_op = tf.reduce_mean(tf.cast(ok, tf.float32))\n\n    def build"
    ) in text
    assert (
        "        return self.sess.run(self.accuracy_op, {self.x: rows, self.y: labels})\n" in text
    )


def test_ops_are_made_in_the_graph_that_the_attributes_are_in() -> None:
    init = "graph = tf.Graph()\nwith graph.as_default():\n    self.build()\n    self.z = 1\nself.name = 'net'"
    text = once(a_class(ACCURACY, CALL, init), *WAYS)
    assert "            self.z = 1\n            ok = tf.equal(" in text


def test_what_a_method_is_given_is_fed_through_an_attribute() -> None:
    method = "def slow_down(self, by):\n    lower = tf.assign(self.rate, self.rate * 0.5)\n" + (
        "    self.sess.run([lower, self.rate.assign_sub(by)])\n"
    )
    ways = [
        [("lower = ", "slow_down"), ("net.slow", "main")],
        [("assign_sub", "slow_down"), ("net.slow", "main")],
    ]
    text = once(a_class(method, "net.slow_down(0.1)"), *ways)
    assert "self.lower_op = tf.assign(self.rate, self.rate * 0.5)\n" in text
    assert "self.slow_down_op = self.rate.assign_sub(self.rate_placeholder)\n" in text
    assert (
        "self.sess.run([self.lower_op, self.slow_down_op], feed_dict={self.rate_placeholder: by})"
        in text
    )


def test_an_attribute_that_changes_is_fed() -> None:
    method = "def update(self):\n    self.now = self.now * 0.9\n    self.sess.run(self.rate.assign(self.now))\n"
    way = [("rate.assign", "update"), ("net.update", "main")]
    text = once(a_class(method, "net.update()", "self.build()\nself.now = 0.1"), way)
    assert "self.update_op = self.rate.assign(self.rate_placeholder)\n" in text
    assert "self.sess.run(self.update_op, feed_dict={self.rate_placeholder: self.now})" in text


# Refusals


@pytest.mark.parametrize(
    ("helper", "call", "part", "reason"),
    [
        (
            "def f(s, t):\n    s.run(tf.abs(t))",
            "f(session, guess), f(session, loss)",
            "tf.abs",
            "on `t`",
        ),
        (
            "def f(s, v):\n    s.run(rate.assign(v))",
            "f(session, rate * 2)",
            "rate.assign",
            "may be a tensor",
        ),
        ("def f(s, v):\n    s.run(rate.assign(v))", "pass", "rate.assign", "may be a tensor"),
        (
            "def f(s, n):\n    s.run(tf.reshape(guess, [n, 2]))",
            "f(session, 4)",
            "tf.reshape",
            "the value of `[n, 2]`",
        ),
        (
            "def f(s, n):\n    s.run(tf.argmax(guess, n))",
            "f(session, 1)",
            "tf.argmax",
            "may need the value of `n`",
        ),
        (
            "def f(s, n):\n    s.run(tf.constant(n) + 1)",
            "f(session, data)",
            "tf.constant",
            "type of `n` is not known",
        ),
        (
            "def f(s, feed):\n    s.run(rate.assign(0.5 * len(feed)), feed)",
            "f(session, None)",
            "rate.assign",
            "`feed`",
        ),
        (
            "def f(s):\n    s.run(tf.random_normal([2], seed=1))",
            "f(session)",
            "tf.random",
            "its own seed",
        ),
        (
            "def f(s):\n    v = tf.Variable(1.0)\n    s.run(v)",
            "f(session)",
            "v = tf.Var",
            "makes variables",
        ),
        (
            "def f(s):\n    s.run(helper(guess))",
            "f(session)",
            "helper(guess)",
            "what `helper` does",
        ),
        (
            "def f(s):\n    with tf.device('cpu'):\n        s.run(guess + 1)",
            "f(session)",
            "guess + 1",
            "`with` block",
        ),
        (
            "def f(s):\n    global loss\n    loss = loss * 2\n    s.run(tf.abs(loss))",
            "f(session)",
            "tf.abs",
            "`loss`",
        ),
        (
            "def f(s, v):\n    rate.assign(v).eval(session=s)",
            "f(session, 0.1)",
            "rate.assign",
            "cannot be fed",
        ),
        (
            "def f(s, n):\n    s.run(tf.constant(n, shape=[2]))",
            "f(session, 1)",
            "tf.constant",
            "the value of `n`",
        ),
        (
            "def f(s, v):\n    s.run(rate.assign(v))",
            "f(session, 1), map(f)",
            "rate.assign",
            "may be a tensor",
        ),
        (
            "def f(s, v):\n    s.run(rate.assign(v))",
            "f(*[session, 1])",
            "rate.assign",
            "may be a tensor",
        ),
        (
            "def f(s):\n    s.run(tf.abs(rate))",
            "tf.reset_default_graph(); f(session)",
            "tf.abs",
            "another graph",
        ),
        (
            "items = []\ndef f(s):\n    s.run(tf.add_n(items))",
            "f(session); items.append(loss)",
            "tf.add_n",
            "in place",
        ),
        (
            "items = [1.0]\ndef f(s):\n    s.run(rate.assign(items[0]))",
            "items[0] = f",
            "rate.assign",
            "in place",
        ),
        (
            "def f(s):\n    s.run(tf.abs(late))",
            "f(session); late = tf.abs(rate)",
            "tf.abs(late)",
            "`late`",
        ),
    ],
)
def test_what_is_not_certain_is_left_alone(helper: str, call: str, part: str, reason: str) -> None:
    assert reason in refused(module(helper, call), [(part, "f")])


def test_a_feed_that_may_be_nothing_is_left_alone() -> None:
    helper = "def f(s, v, feed=None):\n    s.run(rate.assign(v), feed_dict=feed)"
    assert "may be no dictionary" in refused(
        module(helper, "f(session, 0.1)"), [("rate.assign", "f")]
    )


def test_a_saver_is_left_alone_where_variables_may_come_later() -> None:
    helper = 'def keep(s):\n    tf.train.Saver().save(s, "m")\n\ndef more(s):\n    return tf.Variable(1.0)'
    reason = refused(module(helper, "keep(session), more(session)"), [("tf.train.Saver", "keep")])
    assert "takes all that the graph holds" in reason


def test_ops_that_would_shift_the_seeds_of_later_ones_are_left_alone() -> None:
    helper = f"tf.set_random_seed(1)\n{SET_RATE}\n\ndef noise(s):\n    return s.run(tf.random_normal([2]))"
    reason = refused(
        module(helper, "set_rate(session, 0.1), noise(session)"), [("rate.assign", "set_rate")]
    )
    assert "would get another seed" in reason


@pytest.mark.parametrize(
    ("init", "reason"),
    [
        ("pass", "not surely set once by `__init__`"),
        ("if size > 3:\n    self.build()", "not surely set once by `__init__`"),
        ("self.build()\nself.guess = self.guess * 2", "not surely set once by `__init__`"),
        ("self.accuracy([], [])\nself.build()", "may call it before it sets `self."),
        ("self.build()\nself.accuracy([], [])\ntf.random_normal([2])", "get another seed"),
        ("tf = None\nself.build()", "has a `tf` of its own"),
    ],
)
def test_a_class_whose_attributes_may_be_missing_is_left_alone(init: str, reason: str) -> None:
    assert reason in refused(a_class(ACCURACY, CALL, init), *WAYS)


def test_a_class_that_is_made_with_several_kinds_of_tensors_is_left_alone() -> None:
    text = a_class(ACCURACY, CALL).replace("tf.placeholder(tf.int64, [None])", "size")
    assert "more than one `Net` may be made" in refused(
        text.replace("net = Net(4)", "net = Net(4); Net(None)"), *WAYS
    )


def derived(init: str) -> str:
    child = f"class Wide(Net):\n    def __init__(self, size):\n        {init}\n\n\ndef main"
    return a_class(ACCURACY, CALL).replace("def main", child, 1).replace("Net(4)", "Wide(4)")


def test_a_class_below_that_does_without_its_init_is_left_alone() -> None:
    assert "does not call its `__init__`" in refused(derived("self.sess = tf.Session()"), *WAYS)


def test_a_function_of_another_file_is_left_alone() -> None:
    text = module(SET_RATE, "set_rate(session, 0.1)")
    way = [
        ("other.py", 3, "f"),
        ("train.py", text.splitlines().index("    # the loop") + 4, "<module>"),
    ]
    with pytest.raises(CannotEdit, match="another file"):
        ops_once(Script("train.py", text), [way], {("other.py", "f")})


# Modules that the program imports

_NOISE = (
    "import numpy as np\nimport tensorflow.compat.v1 as tf\n\n\ndef add_noise(data, sess):\n"
    "    noise = sess.run(tf.truncated_normal(data.shape))\n"
    "    return (data + noise).astype(np.float32)\n"
)
_NET = (
    "import tensorflow.compat.v1 as tf\nfrom noise import add_noise\n"
    "def train(sess, batches):\n    for batch in batches:\n        add_noise(batch, sess)\n"
)


def in_module(noise: str = _NOISE, net: str = _NET) -> str:
    modules = {"noise.py": noise, "net.py": net}
    ways = [[("noise.py", 6, "add_noise"), ("net.py", 5, "train")]]
    return ops_once(Script("noise.py", noise, modules), ways, {("noise.py", "add_noise")}).text


def test_what_another_file_calls_makes_its_ops_at_the_first_call() -> None:
    text = in_module()
    assert "as tf\nshape_placeholder = None\nadd_noise_op = None\n\n\ndef add_noise" in text
    assert (
        "    global shape_placeholder, add_noise_op\n    if add_noise_op is None:\n"
        "        shape_placeholder = tf.placeholder(tf.int32, [None])\n"
        "        add_noise_op = tf.truncated_normal(shape_placeholder)\n"
        "    noise = sess.run(add_noise_op, feed_dict={shape_placeholder: data.shape})\n"
    ) in text


def test_a_shape_is_not_fed_to_what_needs_its_length() -> None:
    noise = _NOISE.replace(
        "tf.truncated_normal(data.shape)", "tf.image.flip_up_down(tf.zeros(data.shape))"
    )
    with pytest.raises(CannotEdit, match="may need the value"):
        in_module(noise)


@pytest.mark.parametrize("made", ["tf.Graph()", "tf.reset_default_graph()"])
def test_ops_of_a_first_call_are_not_those_of_another_graph(made: str) -> None:
    with pytest.raises(CannotEdit, match=r"another graph \(net.py:3\)"):
        in_module(net=_NET.replace("def train", f"{made}\ndef train"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".astype(np.float32)", ""),
        ("    return", "    data = tf.square(data)\n    return"),
    ],
    ids=["nothing tells", "set again"],
)
def test_what_may_be_a_tensor_is_not_fed(old: str, new: str) -> None:
    with pytest.raises(CannotEdit, match=r"may be a tensor|more than one way"):
        in_module(_NOISE.replace(old, new))


# Layout


@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=NAMES)
def test_in_any_surroundings_other_lines_stay_as_they_are(surroundings: Surroundings) -> None:
    snippet = (
        "import tensorflow.compat.v1 as tf\nrate = tf.Variable(1)\n"
        + SET_RATE
        + "\nset_rate(s, 1.5)\n"
    )
    text, line = surroundings.around(snippet)
    before = Script("train.py", text)
    stacks = [[("train.py", line + 4, "set_rate")]]
    run = {("train.py", "set_rate")}
    if surroundings.name.startswith("an outer"):
        with pytest.raises(CannotEdit, match="`rate` changes in a loop"):
            ops_once(before, stacks, run)
        return
    after = ops_once(before, stacks, run)
    holds(before, after, [line + 4])
    assert "set_rate_op = rate.assign(rate_placeholder)" in after.text
    assert ops_once(after, stacks, run) == after
