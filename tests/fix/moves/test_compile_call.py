"""What a loop calls op by op becomes a compiled call."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_call import compile_call

_HEAD = "import tensorflow as tf\n"


def test_a_model_is_compiled_once_where_it_is_made() -> None:
    text = (
        f"{_HEAD}model = tf.keras.Sequential([])\n"
        "def play(states):\n    for s in states:\n        a = model(s).numpy()\n"
    )
    fixed = compile_call(Script("a.py", text), 5)
    assert fixed.name == "model"
    made = "model = tf.keras.Sequential([])\ncompiled_model = tf.function(model, reduce_retracing=True)\n"
    assert made in fixed.script.text
    assert "a = compiled_model(s).numpy()" in fixed.script.text


def test_a_model_kept_by_an_object_gets_its_twin_beside_it() -> None:
    text = (
        f"{_HEAD}class Agent:\n    def __init__(self):\n        self.net = tf.keras.Sequential([])\n"
        "    def act(self, states):\n        for s in states:\n            a = self.net(s)\n"
    )
    fixed = compile_call(Script("a.py", text), 7).script.text
    assert "        self.compiled_net = tf.function(self.net, reduce_retracing=True)\n" in fixed
    assert "a = self.compiled_net(s)" in fixed


def test_a_model_that_is_handed_in_is_compiled_before_the_loop() -> None:
    text = f"{_HEAD}def f(base, rows):\n    for r in rows:\n        base(r, training=False)\n"
    fixed = compile_call(Script("a.py", text), 4).script.text
    assert "    compiled_base = tf.function(base, reduce_retracing=True)\n    for r in" in fixed


_TRANSLATOR = (
    f"{_HEAD}class Translator:\n    def __init__(self, model, rows):\n"
    "        self.model, self.rows = model, rows\n"
    "    def decode(self, x, y):\n        for _ in self.rows:\n"
    "            y = tf.concat([y, np.argmax(self.model((x, y)))], 1)\n"
)


def test_a_model_that_an_object_was_given_is_compiled_where_it_is_known_to_be_one() -> None:
    fixed = compile_call(Script("a.py", _TRANSLATOR), 7, calls_model=True).script.text
    made = "        self.compiled_model = tf.function(self.model, reduce_retracing=True)\n"
    assert f"        self.model, self.rows = model, rows\n{made}" in fixed
    assert "np.argmax(self.compiled_model((x, y)))" in fixed
    with pytest.raises(CannotEdit, match="neither a function nor a model"):
        compile_call(Script("a.py", _TRANSLATOR), 7)


def test_what_is_compiled_already_is_not_compiled_again() -> None:
    fixed = compile_call(Script("a.py", _TRANSLATOR), 7, calls_model=True).script
    with pytest.raises(CannotEdit, match="neither a function nor a model"):
        compile_call(fixed, 7, calls_model=True)


def test_a_function_of_the_script_is_decorated() -> None:
    text = f"{_HEAD}def f(x):\n    return tf.sqrt(x) + 1.0\nfor x in rows:\n    f(x)\n"
    fixed = compile_call(Script("a.py", text), 5)
    assert "@tf.function(reduce_retracing=True)\ndef f(x):" in fixed.script.text
    assert not fixed.draws


def test_a_function_that_draws_random_numbers_says_so() -> None:
    text = f"{_HEAD}def f(x):\n    return x + tf.random.normal([3])\nfor x in rows:\n    f(x)\n"
    assert compile_call(Script("a.py", text), 5).draws


def test_a_line_of_the_function_itself_leads_to_its_decorator() -> None:
    text = f"{_HEAD}def f(x):\n    y = tf.sqrt(x)\n    return y + 1.0\nfor x in rows:\n    f(x)\n"
    assert (
        "@tf.function(reduce_retracing=True)\ndef f"
        in compile_call(Script("a.py", text), 3).script.text
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    return int(tf.argmin(x)) + 1\n", "Python number"),
        ("    print(x)\n    return x\n", "prints"),
    ],
)
def test_what_a_graph_cannot_keep_is_refused(body: str, reason: str) -> None:
    text = f"{_HEAD}def f(x):\n{body}for x in rows:\n    f(x)\n"
    with pytest.raises(CannotEdit, match=reason):
        compile_call(Script("a.py", text), text.count("\n"))


def test_a_model_that_is_made_in_a_loop_is_not_compiled_again_and_again() -> None:
    text = (
        f"{_HEAD}for fold in folds:\n    model = tf.keras.Sequential([])\n"
        "    for s in fold:\n        model(s)\n"
    )
    with pytest.raises(CannotEdit, match="made again"):
        compile_call(Script("a.py", text), 5)


def test_a_text_that_only_tensorflow_reads_is_handed_in_as_a_tensor() -> None:
    source = (
        "import tensorflow as tf\ndef load(path):\n    return tf.io.decode_jpeg(tf.io.read_file(path))\n"
        "for path in paths:\n    images.append(load(str(path)))\n"
    )
    text = compile_call(Script("a.py", source), 5).script.text
    assert "load(tf.constant(str(path)))" in text
    with pytest.raises(CannotEdit, match="a text that changes"):
        compile_call(Script("a.py", source.replace("read_file(path)", "read_file(path + 'x')")), 5)


_AGENT = """\
class Agent:
    @tf.function
    def learn(self, batch):
        return tf.reduce_mean(batch)

    def track(self, target, source):
        for t, s in zip(target.variables, source.variables):
            t.assign(0.1 * s + 0.9 * t)

    def show(self, loss):
        tf.print(loss)
        print(float(loss))


def sample(rows):
    return tf.constant(random.sample(rows, 8))


agent = Agent()
for step in range(100):
    loss = agent.learn(sample(rows))
    agent.track(first, second)
    agent.show(loss)
"""


def test_what_else_the_loop_runs_op_by_op_is_compiled_where_the_line_itself_cannot() -> None:
    text = f"{_HEAD}import random\n{_AGENT}"
    line = text.splitlines().index("    loss = agent.learn(sample(rows))") + 1
    fixed = compile_call(Script("a.py", text), line)
    assert fixed.name == "track"
    compiled = "    @tf.function(reduce_retracing=True)\n    def track"
    assert fixed.script.text == text.replace("    def track", compiled)


def test_a_loop_in_which_nothing_can_be_compiled_keeps_the_obstacle_of_its_line() -> None:
    text = f"{_HEAD}import random\n{_AGENT}".replace("    agent.track(first, second)\n", "")
    line = text.splitlines().index("    loss = agent.learn(sample(rows))") + 1
    with pytest.raises(CannotEdit, match="draws random numbers in Python"):
        compile_call(Script("a.py", text), line)


def test_a_loop_over_ops_is_compiled_with_the_function_that_is_repeated() -> None:
    text = """import tensorflow as tf

def simulated(x):
    for _ in range(40):
        x = x + 0.5 * tf.sin(x)
    return x

for episode in range(60):
    x = simulated(tf.random.normal([64]))
"""
    assert "@tf.function" in compile_call(Script("train.py", text, {}), 5).script.text


_FEATURES = (
    f"{_HEAD}def f(x):\n    y = tf.abs(x)\n    return {{}}\nfor b in ds:\n    use(f(b){{}})\n"
)


@pytest.mark.parametrize(
    ("result", "tensor", "call"),
    [
        ("tf.sqrt(y).numpy()", "tf.sqrt(y)", "f(b).numpy()"),
        ("float(tf.reduce_sum(y))", "tf.reduce_sum(y)", "float(f(b))"),
    ],
)
def test_a_result_is_converted_by_the_caller(result: str, tensor: str, call: str) -> None:
    text = compile_call(Script("a.py", _FEATURES.format(result, "")), 6).script.text
    assert "@tf.function(reduce_retracing=True)\ndef f(x):" in text
    assert f"    return {tensor}\n" in text and f"use({call})" in text


@pytest.mark.parametrize(
    "more", ["map(f, rows)\n", "def g(x):\n    return f(f(x))\n", "kept = [f]\n", "a.f = other.f\n"]
)
def test_a_function_that_is_used_otherwise_converts_its_result_itself(more: str) -> None:
    with pytest.raises(CannotEdit, match="needs the value of a tensor"):
        compile_call(Script("a.py", _FEATURES.format("tf.sqrt(y).numpy()", "") + more), 6)


def test_a_function_that_another_file_may_call_converts_its_result_itself() -> None:
    files = {"a.py": _FEATURES.format("tf.sqrt(y).numpy()", ""), "b.py": "from a import f\n"}
    with pytest.raises(CannotEdit, match="needs the value of a tensor"):
        compile_call(Script("a.py", files["a.py"], files), 6)


_HANDED = (
    f"{_HEAD}def draw(net, x):\n    return net(x, training=False)\n"
    "model = tf.keras.Sequential([])\nfor x in rows:\n    draw(model, x)\n"
)


def test_a_function_that_only_calls_a_model_is_handed_the_compiled_one() -> None:
    text = compile_call(Script("a.py", _HANDED), 3).script.text
    assert "compiled_model = tf.function(model, reduce_retracing=True)\nfor x in rows:\n" in text
    assert "    return net(x, training=False)\n" in text and "    draw(compiled_model, x)\n" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    draw(model, x)\n", "    draw(model, x)\n    draw(other, x)\n"),
        ("    return net(", "    print(net.name)\n    return net("),
    ],
)
def test_a_model_that_may_be_another_one_in_each_call_stays(old: str, new: str) -> None:
    with pytest.raises(CannotEdit):
        compile_call(Script("a.py", _HANDED.replace(old, new)), 3 + new.count("print"))


def test_the_function_is_compiled_where_the_model_has_no_name() -> None:
    text = compile_call(Script("a.py", _HANDED.replace("(model,", "(nets[0],")), 3).script.text
    assert "@tf.function(reduce_retracing=True)\ndef draw(net, x):" in text


@pytest.mark.parametrize(
    ("head", "call", "draws"),
    [
        ("def noise(x):\n    return x + tf.random.normal([3])\n", "noise(x)", True),
        ("def noise(x):\n    return x + 1.0\n", "noise(x)", False),
        ("layer = tf.keras.layers.Dropout(0.5)\n", "layer(x, training=True)", True),
        ("layer = tf.keras.layers.Dropout(0.5)\n", "layer(x, training=False)", False),
    ],
)
def test_random_numbers_may_be_drawn_further_in(head: str, call: str, draws: bool) -> None:
    body = f"def f(x):\n    return tf.square({call})\nfor x in data:\n    f(x)\n"
    text = f"import tensorflow as tf\n{head}{body}"
    assert compile_call(Script("a.py", text), text.count("\n")).draws is draws


def test_a_graph_cannot_give_nothing_on_one_of_its_paths() -> None:
    text = "import tensorflow as tf\ndef f(x):\n    if {}:\n        return None\n    return tf.exp(x)\n"
    text += "for x in data:\n    f(x)\n"
    with pytest.raises(CannotEdit, match="on some of its paths only"):
        compile_call(Script("a.py", text.format("tf.reduce_sum(x) > 3.0")), 7)
    assert "@tf.function" in compile_call(Script("a.py", text.format("x is None")), 7).script.text
