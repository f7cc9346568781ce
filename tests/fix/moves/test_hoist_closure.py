"""A function that is compiled in every call of another is compiled once, with more arguments."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_closure import closure_once

_TF = "import tensorflow as tf\n"
_ROUND = (
    "def train(net, opt, x, n):\n    @tf.function\n    def step():\n        return use(net, opt, x)\n\n"
    "    for _ in range(n):\n        loss = step()\n    return loss\n"
)


def once(source: str, line: int) -> str:
    return closure_once(Script("a.py", _TF + source), line).text


def test_what_it_used_becomes_its_arguments() -> None:
    text = once(_ROUND, 4)
    assert (
        "@tf.function\ndef step(net, opt, x):\n    return use(net, opt, x)\n\n\ndef train" in text
    )
    assert (
        "def train(net, opt, x, n):\n    for _ in range(n):\n        loss = step(net, opt, x)"
        in text
    )


def test_with_self_it_becomes_a_method() -> None:
    text = once(
        "class A:\n    def go(self, x):\n        def up(a):\n            return self.f(a, x)\n\n"
        "        up = tf.function(up, reduce_retracing=True)\n        return up(up(x))\n",
        7,
    )
    assert "    @tf.function(reduce_retracing=True)\n    def up(self, a, x):\n" in text
    assert "return self.up(self.up(x, x), x)" in text


def test_a_call_with_keywords_gets_more_of_them() -> None:
    source = (
        "def go(x):\n    @tf.function\n    def f(a):\n        return a + x\n\n    return f(a=1)\n"
    )
    assert "return f(a=1, x=x)" in once(source, 4)


_STAGES = (
    "def make(net, clip):\n    @tf.function\n    def step(x):\n"
    "        return tf.clip_by_norm(net(x), clip)\n\n    return step\n\n"
    "for stage in range(9):\n    step = make(net, 1.0 + stage)\n    step(x)\n"
)


def test_a_function_that_is_returned_takes_its_arguments_along() -> None:
    text = once(_STAGES, 4)
    assert "def compiled_step(x, net, clip):\n    return tf.clip_by_norm(net(x), clip)\n" in text
    assert "return functools.partial(compiled_step, net=net, clip=tf.constant(clip))\n" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("net(x), clip)", "net(x, depth=clip), 1.0)", "needs it as a Python number"),
        ("net(x), clip)", "net(x), clip + stage)", "`stage`, which changes"),
        ("    step = make", "    net.trainable = True\n    step = make", "would not notice"),
    ],
    ids=["no tensor will do", "reads the loop", "other weights in each turn"],
)
def test_a_function_that_differs_between_the_turns_is_left(old: str, new: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(_STAGES.replace(old, new), 4)


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        (_ROUND.replace("    for _", "    x = g(x)\n    for _"), 4, "more than one place"),
        (_ROUND.replace("    @tf", "    opt = tf.keras.optimizers.Adam()\n    @tf", 1), 5, "opt"),
        (_ROUND.replace("return loss", "return [step]"), 4, "not only called"),
        (_ROUND.replace("step():", "step(*a):"), 4, "more than plain arguments"),
        (_ROUND.replace("use(net", "np.sum(x) + use(net"), 4, "would be a tensor"),
    ],
    ids=["set again", "a new optimizer each time", "handed on", "any arguments", "needs arrays"],
)
def test_what_would_change_its_meaning_is_refused(source: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once("import numpy as np\n" + source, line + 1)


def test_objects_that_may_be_equal_get_no_compiled_method() -> None:
    source = (
        "class A:\n    def __eq__(self, o):\n        return True\n\n    def go(self, x):\n        @tf.function\n"
        "        def f():\n            return self.w * x\n\n        return f()\n"
    )
    with pytest.raises(CannotEdit, match="may be equal"):
        once(source, 8)


def test_an_object_that_compiles_for_itself_is_refused() -> None:
    source = (
        "class Learner:\n    def __init__(self, net):\n        self.net = net\n"
        "        self.step = tf.function(self._step)\n\n"
        "    def _step(self, x):\n        return self.net(x)\n"
    )
    with pytest.raises(CannotEdit, match="make the object once, before the loop"):
        once(source, 5)


_STEP = "import tensorflow as tf\nimport numpy as np\ndef train({taken}):\n{made}    @tf.function{options}\n    def step(x):\n        {body}\n    for x in data:\n        step(x)\n{calls}"


def _shared(
    body: str, taken: str = "data", made: str = "", calls: str = "", options: str = ""
) -> str:
    made = f"    {made}\n" if made else ""
    text = _STEP.format(body=body, taken=taken, made=made, calls=calls, options=options)
    return closure_once(Script("a.py", text), 5 if made else 4).text


_UPDATE = "optimizer.apply_gradients(model(x))"


def test_one_model_is_handed_in() -> None:
    text = _shared(_UPDATE, "model, optimizer, data", calls="train(m, o, d)\n")
    assert "step(x, model, optimizer)" in text


@pytest.mark.parametrize(
    "calls", ["for m in models:\n    train(m, o, d)\n", "train(m, o, d)\ntrain(n, o, d)\n"]
)
def test_several_models_cannot_share_a_graph(calls: str) -> None:
    with pytest.raises(CannotEdit, match="more than one `model`"):
        _shared(_UPDATE, "model, optimizer, data", calls=calls)


def test_an_optimizer_that_a_helper_makes_anew_cannot_be_shared() -> None:
    with pytest.raises(CannotEdit, match="makes a new `optimizer` each time"):
        _shared(_UPDATE, "model, data", made="optimizer = new_optimizer()")


@pytest.mark.parametrize("made", ["m = np.ones(3)", "m = load().astype('float64')"])
def test_an_array_would_be_a_tensor_of_its_own_type(made: str) -> None:
    with pytest.raises(CannotEdit, match="not an array"):
        _shared("return x * m", made=made)


def test_a_lambda_would_be_traced_anew() -> None:
    with pytest.raises(CannotEdit, match="traced anew"):
        _shared("return loss(x)", made="loss = lambda x: x * 2.0")


def test_a_signature_has_no_place_for_another_argument() -> None:
    with pytest.raises(CannotEdit, match="input_signature"):
        _shared("return x * k", "data, k", options="(input_signature=[tf.TensorSpec([None])])")


@pytest.mark.parametrize("body", ["print(x)", "seen.append(k)", "k.w = np.random.rand()"])
def test_what_tracing_does_in_python_would_be_done_once(body: str) -> None:
    with pytest.raises(CannotEdit, match=r"whenever it is traced|which a compiled step"):
        _shared(body, "data, k")
