"""An eager training step is compiled where that is safe, and refused with the reason and its line where it is not."""

from __future__ import annotations

import textwrap

import pytest

from tests.fix.inputs import NAMES, SURROUNDINGS, Surroundings, holds
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_step import compile_step
from unslow.fix.moves.graph_rules import offence

HEAD = """\
import random
import time
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD()
loss_fn = tf.keras.losses.MeanSquaredError()
"""
TAIL = """\
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""


def _line(text: str, mark: str) -> int:
    return text[: text.index(mark)].count("\n") + 1


def _compiled(text: str, update: str = "apply_gradients") -> str:
    script = Script("train.py", text)
    line = _line(text, update)
    after = compile_step(script, line)
    assert compile_step(after, line) == after
    return after.text


def _inline(body: str, header: str = "for x, y in data:") -> str:
    return HEAD + header + "\n" + textwrap.indent(textwrap.dedent(body), "    ")


STEP = """\
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
grads = tape.gradient(loss, model.trainable_variables)
opt.apply_gradients(zip(grads, model.trainable_variables))
"""


def test_a_step_function_is_decorated() -> None:
    text = (
        HEAD
        + "def step(x, y):\n"
        + textwrap.indent(STEP, "    ")
        + "    return loss\n\n\nfor x, y in data:\n    step(x, y)\n"
    )
    assert _compiled(text) == text.replace("def step", "@tf.function\ndef step")


def test_a_method_is_decorated_and_batches_of_many_shapes_are_minded() -> None:
    text = (
        HEAD
        + "data = data.padded_batch(3)\nclass T:\n    def step(self, x, y):\n"
        + textwrap.indent(STEP, "        ")
        + "\n    def fit(self):\n        for x, y in data: self.step(x, y)\n"
    )
    assert _compiled(text) == text.replace(
        "    def step", "    @tf.function(reduce_retracing=True)\n    def step"
    )


def test_a_loop_body_is_lifted_from_the_tape_to_the_update() -> None:
    text = _inline(
        "started = time.time()\n"
        + STEP
        + "losses.append(float(loss))\nprint(time.time() - started)\n"
    )
    body = textwrap.indent(STEP, "    ")
    assert _compiled(text) == (
        HEAD
        + "\n\n@tf.function\ndef train_step(x, y):\n"
        + body
        + "    return loss\n\n\nfor x, y in data:\n    started = time.time()\n    loss = train_step(x, y)\n"
        + "    losses.append(float(loss))\n    print(time.time() - started)\n"
    )


@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=NAMES)
def test_a_loop_is_compiled_in_any_surroundings(surroundings: Surroundings) -> None:
    snippet = "for x, y in data:\n" + textwrap.indent(STEP, "    ") + "    print('a', loss)\n"
    text, line = surroundings.around(snippet.replace("tf.", "tensorflow."))
    before = Script("train.py", text)
    after = compile_step(before, line + 4, line)
    holds(before, after, range(line + 1, line + 5))
    assert "import tensorflow as tf" in after.text and "@tf.function" in after.text
    assert compile_step(after, line + 4, line) == after


MOVED_OUT = [
    "print('loss', loss)",
    "print(f'loss {loss:.3f}')",
    "losses.append(loss.numpy())",
    "total += float(loss)",
    "seen += 1",
    "self.count += 1",
    "value = float(loss)",
    "if n % 10 == 0: print(loss.numpy())",
    "history['loss'] = loss",
]


@pytest.mark.parametrize("told", MOVED_OUT)
@pytest.mark.parametrize("place", [2, 3])
def test_what_only_tells_about_the_step_is_moved_behind_it(told: str, place: int) -> None:
    rows = STEP.splitlines()
    rows.insert(place, "    " * (place == 2) + told)
    rows.append("use(value, total)")
    text = _inline("\n".join(rows) + "\n", "total = 0.0\nseen = 0\nn = 7\nfor x, y in data:")
    after = _compiled(text)
    function, _, loop = after.partition("for x, y in data:")
    assert "@tf.function" in function and told not in function
    assert loop.index("train_step(x, y)") < loop.index(told) < loop.index("use(")


def test_metrics_behind_the_step_are_compiled_with_it() -> None:
    text = _inline(
        STEP + "acc.update_state(y, loss)\nprint(acc.result())\n",
        "acc = tf.keras.metrics.Mean()\nfor x, y in data:",
    )
    assert (
        "    acc.update_state(y, loss)\n\n\nfor x, y in data:\n    train_step(x, y)\n    print"
        in _compiled(text)
    )


def test_two_tapes_are_compiled_as_one_step() -> None:
    text = _inline(
        """\
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            fake = gen(x)
            g_loss = f(disc(fake))
            d_loss = h(disc(x), disc(fake))
        g_grads = g_tape.gradient(g_loss, gen.trainable_variables)
        d_grads = d_tape.gradient(d_loss, disc.trainable_variables)
        g_opt.apply_gradients(zip(g_grads, gen.trainable_variables))
        d_opt.apply_gradients(zip(d_grads, disc.trainable_variables))
        print(g_loss, d_loss)
        """
    )
    after = _compiled(text)
    assert "g_loss, d_loss = train_step(x)\n    print(g_loss, d_loss)\n" in after


def test_a_function_that_also_logs_is_split() -> None:
    text = HEAD + (
        "def step(x, y, n):\n    global count\n    count = n\n"
        + textwrap.indent(STEP, "    ")
        + "    print(n, loss)\n    return loss.numpy()\n\n\nfor n, (x, y) in enumerate(data):\n    step(x, y, n)\n"
    )
    after = _compiled(text)
    assert "@tf.function\ndef compiled_step(x, y):\n" in after
    assert "    loss = compiled_step(x, y)\n    print(n, loss)\n    return loss.numpy()\n" in after


def test_a_method_that_also_counts_is_split_into_two_methods() -> None:
    text = (
        HEAD
        + "class T:\n    def step(self, x, y):\n        self.n += 1\n"
        + textwrap.indent(STEP.replace("model", "self.model"), "        ")
        + "        return float(loss)\n"
    )
    after = _compiled(text)
    assert "    @tf.function\n    def compiled_step(self, x, y):\n" in after
    assert (
        "        self.n += 1\n        loss = self.compiled_step(x, y)\n        return float(loss)\n"
        in after
    )


def test_a_loop_counter_is_handed_over_as_a_tensor() -> None:
    text = (
        HEAD
        + "def step(x, y, n):\n"
        + textwrap.indent(STEP, "    ")
        + "    if n % 10 == 0:\n        tf.print(loss)\nfor n, (x, y) in enumerate(data):\n    step(x, y, n)\n"
    )
    assert "    step(x, y, tf.constant(n))\n" in _compiled(text)


def test_a_weight_that_is_annealed_is_handed_over_as_a_tensor() -> None:
    text = _inline(
        "beta = min(1.0, n / 100)\n" + STEP.replace("loss_fn(", "beta * loss_fn("),
        "for n, (x, y) in enumerate(data):",
    )
    assert "train_step(x, y, tf.constant(beta))" in _compiled(text)


def test_an_epoch_function_gets_its_step_beside_it() -> None:
    text = (
        HEAD
        + "def epoch(model, opt):\n    for x, y in data:\n"
        + textwrap.indent(STEP, "        ")
        + "for e in range(3):\n    epoch(model, opt)\n"
    )
    after = _compiled(text)
    assert "@tf.function\ndef train_step(model, opt, x, y):\n" in after
    assert after.index("def train_step") < after.index("def epoch")


def test_a_model_made_per_fold_gets_its_step_per_fold() -> None:
    text = (
        HEAD
        + "for fold in range(3):\n    model = make()\n    for e in range(2):\n        for x, y in data:\n"
        + textwrap.indent(STEP, "            ")
    )
    after = _compiled(text)
    assert "    model = make()\n\n    @tf.function\n    def train_step(x, y):\n" in after


def test_an_update_in_a_function_of_its_own_is_compiled_with_its_tape() -> None:
    text = HEAD + (
        "def update(grads):\n    opt.apply_gradients(zip(grads, model.trainable_variables))\n\n"
        "def step(x, y):\n    with tf.GradientTape() as tape:\n        loss = loss_fn(y, model(x))\n"
        "    update(tape.gradient(loss, model.trainable_variables))\n\nfor x, y in data:\n    step(x, y)\n"
    )
    assert "@tf.function\ndef step(x, y):" in _compiled(text)


def test_a_tape_and_an_update_in_two_methods_are_compiled_where_both_are_called() -> None:
    text = HEAD + (
        "class T:\n    def slopes(self, x, y):\n        with tf.GradientTape() as tape:\n"
        "            loss = loss_fn(model(x), y)\n"
        "        return loss, tape.gradient(loss, model.trainable_variables)\n\n"
        "    def update(self, grads):\n        opt.apply_gradients(zip(grads, model.trainable_variables))\n\n"
        "    def step(self, x, y):\n        loss, grads = self.slopes(x, y)\n        self.update(grads)\n"
        "        return loss\n\n    def train(self):\n        for x, y in data: self.step(x, y)\n"
    )
    assert _compiled(text) == text.replace("    def step(", "    @tf.function\n    def step(")


def test_minimize_is_compiled_too() -> None:
    text = (
        HEAD
        + "w = tf.Variable(1.0)\nwhile going():\n    opt.minimize(lambda: (w - 3.0) ** 2, [w])\n    log(w)\n"
    )
    assert "@tf.function\ndef train_step():\n    opt.minimize(" in _compiled(text, "opt.minimize")


def test_an_import_inside_the_function_keeps_the_step_inside_it_too() -> None:
    text = (
        "class T:\n    def fit(self):\n        import tensorflow as tf\n        for x, y in data:\n"
    )
    after = _compiled(text + textwrap.indent(STEP, "            "))
    assert (
        "        import tensorflow as tf\n\n        @tf.function\n        def train_step(x, y):\n"
        in after
    )


def test_a_name_that_is_taken_is_not_used() -> None:
    text = _inline(STEP, "train_step = 1\nfor x, y in data:")
    assert "def train_step_2(x, y):" in _compiled(text)


def test_grads_may_be_looped_over() -> None:
    text = _inline(
        """\
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x)) + tf.add_n([tf.nn.l2_loss(w) for w in model.trainable_weights])
        grads = tape.gradient(loss, model.trainable_variables)
        grads = [tf.clip_by_norm(g, 1.0) for g in grads]
        grads, _ = tf.clip_by_global_norm(grads, 5.0)
        opt.apply_gradients((g, v) for g, v in zip(grads, model.trainable_variables))
        """
    )
    assert "@tf.function" in _compiled(text)


def test_parts_of_a_tensor_and_of_a_list_may_be_looped_over() -> None:
    text = _inline(
        """\
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x)) + tf.add_n([tf.nn.l2_loss(w) for w in model.weights[1:]])
        grads = [tf.reshape(g, [-1]) for g in tf.split(tape.gradient(loss, flat), [3, 4])]
        opt.apply_gradients(zip(grads, model.trainable_variables))
        """
    )
    assert "@tf.function" in _compiled(text)


INSIDE_THE_TAPE = [
    ("loss = loss_fn(y, model(x)).numpy()", r"`.numpy\(\)` needs the value"),
    ("loss = float(loss_fn(y, model(x)))", r"Python number with `float\(\)`"),
    ("loss = loss_fn(y, np.tanh(model(x)))", "applies NumPy to tensors"),
    ("loss = sum(loss_fn(b, model(a)) for a, b in zip(x, y))", "loops over `zip"),
    ("loss = sum([f(row) for row in model(x)])", "loops over `model"),
    ("loss = sum([f(row) for row in tf.split(x, y)])", "loops over `tf.split"),
    ("loss = loss_fn(y, tf.keras.layers.Dense(1)(x))", "makes a `Dense`"),
    ("loss = loss_fn(y, model(x)) * tf.Variable(1.0)", "makes a variable"),
    ("loss = loss_fn(y, model(x + random.random()))", "draws random numbers"),
    ("loss = loss_fn(y, model(x + np.random.rand()))", "draws random numbers"),
    ("loss = loss_fn(y, model(x)) * time.time()", "reads the clock"),
    ("loss = loss_fn(next(labels), model(x))", "takes from a generator"),
    ("loss = loss_fn(y, model(x.astype('float32')))", "method of arrays"),
    ("loss = loss_fn(y, model.predict(x))", "not part of a step"),
    ("loss = loss_fn(y, model(load(open(x))))", "opens a file"),
    ("memory.append(x); loss = loss_fn(memory, model(x))", "changes `memory`"),
    ("callback(x); loss = loss_fn(y, model(x))", "for its effect"),
    ("loss = loss_fn(y, model(x)); tf.summary.scalar('loss', loss)", "writes a summary"),
]


@pytest.mark.parametrize(
    ("code", "reason"), INSIDE_THE_TAPE, ids=[row[0] for row in INSIDE_THE_TAPE]
)
def test_a_step_that_needs_python_is_refused(code: str, reason: str) -> None:
    text = _inline(STEP.replace("loss = loss_fn(y, model(x, training=True))", code))
    with pytest.raises(CannotEdit, match=reason) as found:
        _compiled(text)
    assert found.value.line == _line(text, code)


BLOCKS = [
    (
        "try:\n    loss = loss_fn(y, model(x))\nexcept ValueError:\n    loss = 0.0",
        "catches exceptions",
        0,
    ),
    ("loss = 0.0\nwhile loss < 1:\n    loss = loss_fn(y, model(x))", "`while` loop", 1),
    (
        "loss = loss_fn(y, model(x))\nif loss > 3:\n    raise ValueError",
        "raises under a condition",
        2,
    ),
    ("with timer():\n    loss = loss_fn(y, model(x))", "enters `timer", 0),
    ("loss = 0.0\nfor a in x:\n    loss += model(a)", "loops over `x`", 1),
    (
        "loss = loss_fn(y, model(x))\nself.last = loss\nloss = loss + self.last",
        "sets `self.last`",
        1,
    ),
    ("loss = loss_fn(y, model(x))\nkept[0] = loss\nloss = loss + kept[0]", r"sets `kept\[0\]`", 1),
]


@pytest.mark.parametrize(("code", "reason", "offset"), BLOCKS, ids=[row[1] for row in BLOCKS])
def test_a_step_with_statements_that_are_pythons_is_refused(
    code: str, reason: str, offset: int
) -> None:
    rows = textwrap.indent(code, "    ")
    text = _inline(STEP.replace("    loss = loss_fn(y, model(x, training=True))", rows))
    with pytest.raises(CannotEdit, match=reason) as found:
        _compiled(text)
    assert found.value.line == _line(text, code.splitlines()[0]) + offset


@pytest.mark.parametrize("leaves", ["if x is None:\n    continue", "if x is None:\n    break"])
def test_a_part_that_steers_the_loop_is_refused(leaves: str) -> None:
    rows = STEP.splitlines()
    text = _inline("\n".join([*rows[:2], leaves, *rows[2:]]) + "\n")
    with pytest.raises(CannotEdit, match="leaves the block") as found:
        _compiled(text)
    assert found.value.line == _line(text, leaves.split("\n")[1].strip())


def _stepping(body: str, loop: str, extra: str = "") -> str:
    return (
        HEAD
        + extra
        + "def step(x, y):\n"
        + textwrap.indent(body, "    ")
        + "    return loss\n\n\n"
        + loop
    )


CALLED = [
    (
        "recursion",
        STEP.replace("loss_fn(", "step(x, y) + loss_fn("),
        "for x, y in data:\n    step(x, y)\n",
        "",
        "`step` calls itself",
        "step(x, y) +",
    ),
    (
        "a global that changes",
        STEP.replace("loss_fn(", "n * loss_fn("),
        "for n in range(9):\n    step(x, y)\n",
        "",
        "reads `n`, which changes",
        "n * loss_fn",
    ),
    (
        "a list that is filled outside",
        STEP.replace("loss_fn(", "tf.stack(kept) * loss_fn("),
        "for x, y in data:\n    step(x, y)\n    kept.append(y)\n",
        "kept = []\n",
        "reads `kept`, which changes",
        "tf.stack(kept)",
    ),
    (
        "a function that prints",
        STEP.replace("loss_fn(", "shown(loss_fn(").replace("training=True))", "training=True)))"),
        "for x, y in data:\n    step(x, y)\n",
        "def shown(v):\n    print(v)\n    return v\n",
        "it prints",
        "print(v)",
    ),
    (
        "a model of the script's that counts",
        STEP.replace("model(x", "net(x"),
        "for x, y in data:\n    step(x, y)\n",
        "class Net(tf.keras.Model):\n    def call(self, x, training=None):\n        self.calls += 1\n"
        "        return x\nnet = Net()\n",
        "sets `self.calls`",
        "self.calls += 1",
    ),
    (
        "a script's own layer made inside",
        STEP.replace("model(x", "Net()(x"),
        "for x, y in data:\n    step(x, y)\n",
        "class Net(tf.keras.layers.Layer): pass\n",
        "makes a `Net`",
        "Net()(x",
    ),
]


@pytest.mark.parametrize(
    ("name", "body", "loop", "extra", "reason", "mark"), CALLED, ids=[row[0] for row in CALLED]
)
def test_a_step_function_with_a_hidden_dependence_is_refused(
    name: str, body: str, loop: str, extra: str, reason: str, mark: str
) -> None:
    text = _stepping(body, loop, extra)
    with pytest.raises(CannotEdit, match=reason) as found:
        _compiled(text)
    assert found.value.line == _line(text, mark)


GIVEN = [
    ("step(x, model_a); step(x, model_b)", "more than one `net`"),
    ("for m in models: step(x, m)", "more than one `net`"),
    ("for i in range(9): step(i, model)", "`x` is a Python number that changes"),
    (
        "for i in range(9):\n    batch = [v for v in rows]\n    step(batch, model)",
        "`x` is a Python list",
    ),
    ("for i in range(9): step(np.exp(i), model)", "`x` is a NumPy number"),
]


@pytest.mark.parametrize(("calls", "reason"), GIVEN, ids=[row[1] + ": " + row[0] for row in GIVEN])
def test_a_step_function_that_is_called_in_ways_that_would_trace_again_is_refused(
    calls: str, reason: str
) -> None:
    step = "with tf.GradientTape() as tape:\n    loss = loss_fn(x, net(x))\n" + TAIL.replace(
        "    ", ""
    ).replace("model", "net")
    text = (
        HEAD
        + "def step(x, net):\n"
        + textwrap.indent(step, "    ")
        + "    return loss\n\n\n"
        + calls
        + "\n"
    )
    with pytest.raises(CannotEdit, match=reason) as found:
        _compiled(text)
    assert found.value.line is not None and "step(" in text.splitlines()[found.value.line - 1]


def test_keras_own_train_step_is_left_to_keras() -> None:
    text = (
        HEAD
        + "class M(tf.keras.Model):\n    def train_step(self, data):\n        x, y = data\n"
        + textwrap.indent(STEP, "        ")
    )
    with pytest.raises(CannotEdit, match="Keras compiles"):
        _compiled(text)


def test_a_model_made_in_every_step_is_refused() -> None:
    text = _inline("model = make()\n" + STEP)
    with pytest.raises(CannotEdit, match="`model` is made again"):
        _compiled(text)


def test_an_update_without_a_tape_is_refused() -> None:
    text = _inline("opt.apply_gradients(x)\n")
    with pytest.raises(CannotEdit, match="no gradient tape"):
        _compiled(text)


def test_a_step_that_is_compiled_elsewhere_is_said_so() -> None:
    text = _stepping(STEP, "fast = tf.function(step)\nfor x, y in data:\n    fast(x, y)\n")
    with pytest.raises(CannotEdit, match="compiled here already"):
        _compiled(text)


def test_a_coroutine_is_refused() -> None:
    text = HEAD + "async def step(x, y):\n" + textwrap.indent(STEP, "    ")
    with pytest.raises(CannotEdit, match="coroutine"):
        _compiled(text)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("model.trainable = x is None", "the loop sets `model.trainable`"),
        ("loss_fn.alpha = 0.5", "the loop sets `loss_fn.alpha`"),
    ],
)
def test_a_loop_that_sets_what_the_step_was_traced_with_is_refused(code: str, reason: str) -> None:
    text = _inline(code + "\n" + STEP)
    with pytest.raises(CannotEdit, match=reason) as found:
        _compiled(text)
    assert found.value.line == _line(text, code)


def test_a_learning_rate_that_is_set_in_the_loop_is_a_variable_and_may_change() -> None:
    assert "@tf.function" in _compiled(_inline("opt.learning_rate = 0.1\n" + STEP))


def test_layers_that_are_frozen_before_the_training_do_not_matter() -> None:
    text = _inline(
        STEP, "for layer in model.layers:\n    layer.trainable = False\nfor x, y in data:"
    )
    assert "@tf.function" in _compiled(text)


def test_a_step_function_that_is_defined_in_a_loop_is_refused() -> None:
    step = "def step(x, y):\n" + textwrap.indent(STEP, "    ")
    text = (
        HEAD
        + "for e in range(3):\n"
        + textwrap.indent(step, "    ")
        + "    for x, y in data:\n        step(x, y)\n"
    )
    with pytest.raises(CannotEdit, match="defined anew"):
        _compiled(text)


def test_a_list_of_variables_that_helpers_loop_over_is_no_obstacle() -> None:
    script = Script(
        "train.py",
        "import tensorflow as tf\n"
        "def forward(params, x):\n"
        "    for w in params:\n"
        "        x = tf.tanh(x @ w)\n"
        "    return x\n"
        "def main(x):\n"
        "    params = [tf.Variable(tf.ones([2, 2])) for _ in range(3)]\n"
        "    for step in range(9):\n"
        "        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(forward(params, x))\n"
        "        for w, g in zip(params, tape.gradient(loss, params)):\n"
        "            w.assign_sub(g)\n",
    )
    assert offence(script, script.tree.body[2].body[1].body, {"params", "x"}, None) is None


def test_a_tensor_that_a_helper_loops_over_is_an_obstacle() -> None:
    script = Script(
        "train.py",
        "import tensorflow as tf\n"
        "def total(rows):\n"
        "    return sum(row for row in rows)\n"
        "def main(data):\n"
        "    for rows in data:\n"
        "        loss = total(rows)\n",
    )
    found = offence(script, script.tree.body[2].body[0].body, {"rows"}, None)
    assert found is not None and "loops over" in found.reason


_TWO_MODELS = (
    "import tensorflow as tf\nclass Gan:\n    def minimise(self, loss_fn, model, opt):\n"
    "        with tf.GradientTape() as tape:\n            loss = loss_fn()\n"
    "        grads = tape.gradient(loss, model.trainable_variables)\n"
    "        opt.apply_gradients(zip(grads, model.trainable_variables))\n        return loss\n\n"
    "    def update_d(self, x):\n        def loss():\n            return tf.reduce_mean(self.d(x))\n"
    "        return self.minimise(loss, self.d, self.d_opt)\n\n"
    "    def update_g(self, z):\n        def loss():\n            return tf.reduce_mean(self.d(self.g(z)))\n"
    "        return self.minimise(loss, self.g, self.g_opt)\n"
)


def test_a_step_for_several_models_is_compiled_in_its_callers() -> None:
    text = compile_step(Script("a.py", _TWO_MODELS), 7).text
    assert text.count("@tf.function") == 2
    assert "    @tf.function\n    def update_d(self, x):" in text
    assert "    @tf.function\n    def update_g(self, z):" in text


def test_a_loop_over_models_is_left_alone() -> None:
    source = _TWO_MODELS.replace(
        "        return self.minimise(loss, self.g, self.g_opt)\n",
        "        for m in self.nets:\n            self.minimise(loss, m, self.g_opt)\n",
    )
    with pytest.raises(CannotEdit):
        compile_step(Script("a.py", source), 7)


def test_a_tape_that_is_used_after_the_step_stays_outside() -> None:
    source = (
        "import tensorflow as tf\nfor x in data:\n    with tf.GradientTape(persistent=True) as tape:\n"
        "        a = tf.reduce_sum(net(x))\n        loss = a * 2.0\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))\n"
        "    later.append(lambda: tape.gradient(a, net.weights))\n"
    )
    with pytest.raises(CannotEdit, match="`tape` is used after the step"):
        compile_step(Script("a.py", source), 6)


SWITCHED = (
    HEAD
    + """\
class Trainer:
    def __init__(self, model, graph=False):
        self.model = model
        self.step = {made}

    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, self.model(x, training=True))
        grads = tape.gradient(loss, self.model.trainable_variables)
        opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss


{use}
"""
)
WRAPPED = "tf.function(self._step) if graph else self._step"


def _switched(made: str, use: str, modules: dict[str, str] | None = None) -> dict[str, str]:
    text = SWITCHED.format(made=made, use=use)
    script = Script("train.py", text, {"train.py": text, **(modules or {})})
    return compile_step(script, _line(text, "apply_gradients")).files


def test_a_switch_that_decides_whether_the_step_is_compiled_is_set_where_it_is_written() -> None:
    plain = "for x, y in data: Trainer(model).step(x, y)"
    assert "graph=True):" in _switched(WRAPPED, plain)["train.py"]
    given = "trainer = Trainer(model, graph=False)\nfor x, y in data: trainer.step(x, y)"
    edited = _switched(WRAPPED, given)["train.py"]
    assert "graph=False):" in edited and "Trainer(model, graph=True)" in edited


def test_a_switch_may_be_negative_and_be_given_in_another_file() -> None:
    negative = "self._step if not graph else tf.function(self._step)"
    main = "from train import Trainer\ntrainer = Trainer(None, False)\n"
    edited = _switched(negative, "", {"main.py": main})
    assert edited == {"main.py": main.replace("False", "True")}


@pytest.mark.parametrize(
    "made, use, reason",
    [
        ("tf.function(self._step)", "Trainer(model)", "compiled here already"),
        (WRAPPED, "Trainer(model, graph=True)", "the switch is `True` already"),
        (WRAPPED, "Trainer(model, True)\nTrainer(model, False)", "give different values"),
        (WRAPPED, "Trainer(model, **options)", "are unpacked here"),
        (WRAPPED.replace("if graph", "if len(data)"), "Trainer(model)", "is computed by"),
    ],
)
def test_a_switch_that_cannot_be_followed_is_left(made: str, use: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        _switched(made, use)


@pytest.mark.parametrize("call", ["x = tf.add(x, 1.0)", "x = np.append([1.0], 2.0) * x"])
def test_a_function_of_a_module_is_no_method_that_fills_it(call: str) -> None:
    body = STEP.replace("    loss =", f"    {call}\n    loss =")
    text = f"{HEAD}def step(x, y):\n{textwrap.indent(body, '    ')}\nseen = np.zeros(0)\n"
    text += "for x, y in data:\n    seen = np.append(seen, 1.0)\n    step(x, y)\n"
    assert "@tf.function\ndef step" in _compiled(text)


@pytest.mark.parametrize(
    "line", ["mask = rng.random(3)", "mask = self.generator.normal(size=3)", "rng.shuffle(order)"]
)
def test_numbers_of_a_generator_would_be_drawn_once(line: str) -> None:
    text = HEAD + "def noisy(x):\n    " + line + "\n    return x * mask\n"
    text += _inline(STEP.replace("model(x, training=True)", "noisy(model(x))")).removeprefix(HEAD)
    with pytest.raises(CannotEdit, match="draws random numbers in Python"):
        _compiled(text)


def test_a_generator_of_tensorflows_draws_in_the_graph() -> None:
    made = "rng = tf.random.Generator.from_seed(1)\n"
    step = STEP.replace("model(x, training=True)", "model(x) + rng.normal([1])")
    assert "@tf.function" in _compiled(made.join([HEAD, _inline(step).removeprefix(HEAD)]))


def test_a_layer_of_the_script_that_counts_in_python_keeps_the_step_eager() -> None:
    layer = (
        "class L(tf.keras.layers.Layer):\n    def call(self, x):\n        {}\n        return x\n"
    )
    text = HEAD + layer.format("self.calls += 1") + _inline(STEP).removeprefix(HEAD)
    with pytest.raises(CannotEdit, match=r"in `L\.call`, it sets `self\.calls`"):
        _compiled(text)
    assert "@tf.function" in _compiled(text.replace("self.calls += 1", "x = x * 2.0"))


def _returning(test: str) -> str:
    step = textwrap.indent(STEP, "    ")
    early = f"    if {test}:\n        return None\n"
    head = "def step(x, y=None):\n"
    return f"{HEAD}{head}{early}{step}    return loss\nfor x, y in data:\n    step(x, y)\n"


def test_a_graph_gives_the_same_on_both_of_its_paths() -> None:
    early = _compiled(_returning("tf.reduce_sum(x) > 3.0"))
    assert "@tf.function\ndef compiled_step" in early and "@tf.function\ndef step" not in early
    assert "@tf.function\ndef step" in _compiled(_returning("y is None"))


@pytest.mark.parametrize(
    ("rows", "inner", "works"),
    [
        ("np.random.rand(9, 3)", "x @ w", False),
        ("np.random.rand(9, 3)", "tf.matmul(x, w)", False),
        ("np.random.rand(9, 3)", "model(x)", True),
        ("np.random.rand(9, 3).astype('float32')", "x @ w", True),
    ],
)
def test_an_array_of_float64_keeps_its_type_as_an_argument(
    rows: str, inner: str, works: bool
) -> None:
    step = textwrap.indent(STEP.replace("model(x, training=True)", inner), "    ")
    text = (
        f"{HEAD}X = {rows}\ndef step(x, y):\n{step}for i in range(9):\n    step(X[i : i + 3], i)\n"
    )
    text = text.replace("step(X[i : i + 3], i)", "step(X[i : i + 3], one)")
    if works:
        assert "@tf.function\ndef step" in _compiled(text)
    else:
        with pytest.raises(CannotEdit, match="array of float64"):
            _compiled(text)
