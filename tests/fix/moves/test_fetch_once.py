"""A tensor that a Python loop takes apart is fetched once."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.fetch_once import fetch_once

_HEAD = "import tensorflow as tf\nvalues = tf.sqrt(rows)\n"


def fetched(body: str, line: int) -> str:
    return fetch_once(Script("a.py", _HEAD + body), line).script.text


def test_indexed_elements_come_from_one_array() -> None:
    text = fetched("for k in range(9):\n    out.append(float(values[k]))\n", 4)
    assert "values_values = values.numpy()\nfor k in" in text
    assert "out.append(float(values_values[k]))" in text


def test_an_element_needs_no_fetch_of_its_own() -> None:
    text = fetched("for k in range(9):\n    out[k] = values[k].numpy()\n", 4)
    assert "out[k] = values_values[k]\n" in text


def test_a_tensor_that_is_iterated_over_is_fetched_too() -> None:
    text = fetched("for v, y in zip(values, ys):\n    if v > 1:\n        n += 1\n", 4)
    assert "for v, y in zip(values_values, ys):" in text


def test_an_outer_loop_is_where_it_is_fetched() -> None:
    text = fetched("for i in a:\n    for k in b:\n        f += float(values[i, k])\n", 5)
    assert "values_values = values.numpy()\nfor i in a:" in text


def test_a_comprehension_takes_the_array_where_it_stands() -> None:
    text = fetched("feature = [float(v) for v in values]\n", 3)
    assert "feature = [float(v) for v in values.numpy()]\n" in text


def test_a_tensor_of_an_outer_turn_is_fetched_in_that_turn() -> None:
    text = fetched(
        "for r in rows:\n    p = tf.exp(r)\n    for k in a:\n        n += int(p[k])\n", 6
    )
    assert "    p_values = p.numpy()\n    for k in a:\n        n += int(p_values[k])" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float(values[k] * 2.0)", "float(values_values[k] * 2.0)"),
        ("float(values[k] - values[0])", "float(values_values[k] - values_values[0])"),
        ("tf.abs(values[k] / other)", "tf.abs(values_values[k] / other)"),
        ("int(values[k][1])", "int(values_values[k][1])"),
        ("g(values[k].shape[0])", "g(values_values[k].shape[0])"),
    ],
)
def test_numpy_computes_with_elements_as_tensorflow_does(old: str, new: str) -> None:
    body = f"other = tf.constant(2.0)\nfor k in range(values.shape[0]):\n    f += {old}\n"
    text = fetched(body, 5)
    assert f"for k in range(values.shape[0]):\n    f += {new}\n" in text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for k in range(9):\n    f += float(values[k] * ys[k])\n", "may have to be a tensor"),
        ("for k in range(9):\n    f += float(values[k] ** 2)\n", "may have to be a tensor"),
        ("for k in range(9):\n    f += (values[k] - 1.0).numpy()\n", "may have to be a tensor"),
        ("for k in range(9):\n    keep(values[k])\n", "may have to be a tensor"),
        ("for k in range(9):\n    f(float(values[k]), values)\n", "as a whole"),
        ("for k in range(9):\n    values = g()\n    f(float(values[k]))\n", "no tensor"),
    ],
)
def test_a_loop_that_may_need_tensors_is_left_alone(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        fetched(body, 4)


_RETURNS = (
    "import tensorflow as tf\nimport numpy as np\nclass A:\n    def returns(self, given, ends):\n"
    "        rewards = tf.constant(given, tf.float32)\n        ends = tf.constant(ends)\n        out = []\n"
    "        run = tf.constant(0.0)\n        for t in reversed(range(len(rewards))):\n            if ends[t]:\n"
    "                run = tf.constant(0.0)\n            run = rewards[t] + self.gamma * run\n"
    "            out.insert(0, run)\n        out = tf.stack(out)\n        return out - tf.reduce_mean(out)\n"
)


def test_a_number_that_is_computed_of_elements_is_numpys() -> None:
    text = fetch_once(Script("a.py", _RETURNS), 12).script.text
    assert "rewards_values = rewards.numpy()\n" in text
    assert "        out = []\n        run = np.float32(0.0)\n" in text
    assert "        for t in reversed(range(len(rewards))):\n" in text
    assert "if ends_values[t]:\n                run = np.float32(0.0)" in text
    assert "run = rewards_values[t] + self.gamma * run\n" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.gamma * run", "tf.sqrt(run)"),
        ("out.insert(0, run)", "self.keep(run)"),
        ("tf.stack(out)\n", "tf.stack(out)\n        tf.print(run)\n"),
        ("        out = tf.stack(out)", "        keep(out)\n        out = tf.stack(out)"),
    ],
    ids=["another op", "handed on", "read afterwards", "a list that is more than stacked"],
)
def test_a_number_that_may_have_to_be_a_tensor_stays_one(old: str, new: str) -> None:
    with pytest.raises(CannotEdit):
        fetch_once(Script("a.py", _RETURNS.replace(old, new)), 12)


def test_two_tensors_of_one_zip_are_fetched_both() -> None:
    text = (
        "import tensorflow as tf\na = tf.constant([1.0])\nb = tf.constant([2.0])\nn = 0\n"
        "for x, y in zip(a, b):\n    if x == 1.0 and y == 2.0:\n        n += 1\n"
    )
    after = fetch_once(Script("a.py", text), 6).script.text
    assert "for x, y in zip(a_values, b_values):" in after


def test_an_element_may_be_the_index_of_another() -> None:
    text = (
        "import tensorflow as tf\na = tf.constant([1.0])\nb = tf.constant([0])\n"
        "for i in range(1):\n    print(float(a[b[i]]))\n"
    )
    after = fetch_once(Script("a.py", text), 5)
    assert "    print(float(a_values[b_values[i]]))" in after.script.text
    assert after.is_exact


_TARGETS = (
    "import tensorflow as tf\nclass Agent:\n    def learn(self, rows, actions, rewards, ends):\n"
    "        after = tf.constant(rows)\n        best = tf.argmax(after, axis=1)\n"
    "        target = tf.constant(rows).numpy()\n        for k, end in enumerate(ends):\n"
    "            target[k, actions[k]] = rewards[k] + \\\n"
    "                self.gamma * after[k, best[k]] * (1 - int(end))\n"
)


def test_an_array_takes_what_is_computed_of_elements() -> None:
    after = fetch_once(Script("a.py", _TARGETS), 9)
    assert "self.gamma * after_values[k, best_values[k]] * (1 - int(end))\n" in after.script.text
    assert "after_values = after.numpy()\n" in after.script.text
    assert "best_values = best.numpy()\n" in after.script.text
    assert not after.is_exact  # `rewards` may be float64: then the array rounds once, at the end


def test_a_list_may_have_to_keep_tensors() -> None:
    kept = _TARGETS.replace("tf.constant(rows).numpy()", "{}")
    with pytest.raises(CannotEdit, match="may have to be a tensor"):
        fetch_once(Script("a.py", kept), 9)


_ADVANTAGES = (
    "import tensorflow as tf\nclass Agent:\n    def advantages(self, rewards, values, ends, last):\n"
    "        rewards, values = tf.stack(rewards), tf.stack(values)\n"
    "        ahead, after, out = tf.zeros_like(last), last, []\n"
    "        for t in reversed(range(64)):\n            alive = 1.0 - ends[t]\n"
    "            delta = rewards[t] + self.gamma * after * alive - values[t]\n"
    "            ahead = delta + self.decay * alive * ahead\n            after = values[t]\n"
    "            out.append(ahead)\n        return tf.stack(out[::-1])\n"
    "def learn(agent, games):\n    return agent.advantages(*games.rewards())\n"
)


def test_names_that_are_computed_of_each_other_are_all_numpys() -> None:
    after = fetch_once(Script("a.py", _ADVANTAGES), 8).script.text
    assert "ahead, after, out = tf.zeros_like(last).numpy(), np.asarray(last), []\n" in after
    assert "rewards_values = rewards.numpy()\n" in after
    assert "delta = rewards_values[t] + self.gamma * after * alive - values_values[t]\n" in after
    assert "            after = values_values[t]\n" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return agent.adv", "    with tf.GradientTape() as tape:\n        return agent.adv"),
        ("def advantages(", "def call("),
        ("ahead = delta + self.decay * alive * ahead", "ahead += delta"),
        ("self.decay * alive", "tf.exp(alive)"),
        ("return tf.stack(out[::-1])", "return out"),
    ],
    ids=["under a tape", "called by Keras", "updated in place", "another op", "a list of tensors"],
)
def test_what_may_need_a_gradient_or_a_tensor_is_left_alone(old: str, new: str) -> None:
    assert old in _ADVANTAGES
    with pytest.raises(CannotEdit):
        fetch_once(Script("a.py", _ADVANTAGES.replace(old, new)), 8)


_W = "import tensorflow as tf\nw = tf.Variable(rows)\n{}for k in range(9):\n    f += float(w[k])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "    train_step(k)\n"),
        ("def go():\n    w.assign_add(rows)\n", "    go()\n"),
        ("", "    model.fit(data)\n"),
    ],
)
def test_a_variable_that_the_loop_may_set_is_left_alone(before: str, after: str) -> None:
    text = _W.format(before)
    with pytest.raises(CannotEdit, match="may set a variable"):
        fetch_once(Script("a.py", text + after), text.count("\n"))
    assert "w_values = w.numpy()" in fetch_once(Script("a.py", text), text.count("\n")).script.text


_LOSS = (
    "import tensorflow as tf\ndef loss(x):\n    x = tf.exp(x)\n    total = 0.0\n"
    "    for i in range(3):\n        total += tf.square(x[i])\n    return total\n"
)


@pytest.mark.parametrize(
    "after",
    [
        "with tf.GradientTape() as tape:\n    print(loss(w))\n",
        "model.compile(loss=loss, run_eagerly=True)\n",
    ],
)
def test_an_element_through_which_a_gradient_may_flow_stays_a_tensor(after: str) -> None:
    with pytest.raises(CannotEdit, match="may have to be a tensor"):
        fetch_once(Script("a.py", _LOSS + after), 6)
    assert "tf.square(x_values[i])" in fetch_once(Script("a.py", _LOSS), 6).script.text


def test_a_traced_function_has_no_values_to_fetch() -> None:
    with pytest.raises(CannotEdit, match="a graph has no values"):
        fetch_once(Script("a.py", _LOSS.replace("def loss", "@tf.function\ndef loss")), 7)


@pytest.mark.parametrize("use", ["print(str(values[k]))", "n += tf.maximum(0.0, values[k])"])
def test_an_element_whose_text_or_type_tells_a_tensor_stays_one(use: str) -> None:
    with pytest.raises(CannotEdit, match="may have to be a tensor"):
        fetched(f"for k in range(9):\n    {use}\n", 4)


def test_numpy_may_compute_with_more_digits_than_tensorflow() -> None:
    script = Script("a.py", _HEAD + "for k in range(9):\n    f += float(values[k] * 0.1)\n")
    assert not fetch_once(script, 4).is_exact
    assert not fetch_once(Script("a.py", _RETURNS), 12).is_exact


@pytest.mark.parametrize(
    ("made", "fixed"),
    [
        ("tf.stack(out)", "tf.cast(tf.stack(out), rewards_values.dtype)"),
        ("np.array(out)", "np.array(out).astype(rewards_values.dtype)"),
    ],
)
def test_a_stack_of_numbers_keeps_the_type_of_the_tensor(made: str, fixed: str) -> None:
    text = fetch_once(Script("a.py", _RETURNS.replace("tf.stack(out)", made)), 12).script.text
    assert f"        out = {fixed}\n" in text
