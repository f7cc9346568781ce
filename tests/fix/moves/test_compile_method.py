"""A method of which a function is made in each call is compiled where it is defined."""

from __future__ import annotations

import pytest

from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_method import CompiledMethod, compile_method, made_of_method

_MEMBER = (
    "import tensorflow as tf\n\nclass Member:\n    def __init__(self, net, opt):\n"
    "        self.net, self.opt = net, opt\n\n    def update(self, x):\n"
    "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean(self.net(x))\n"
    "        grads = tape.gradient(loss, self.net.trainable_variables)\n"
    "        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))\n"
    "        return loss\n"
)
_TRAINING = (
    "import tensorflow as tf\n\ndef train(member, data):\n    step = tf.function(member.update)\n"
    "    for x in data:\n        step(x)\n"
)


def compiled(member: str = _MEMBER, training: str = _TRAINING) -> CompiledMethod:
    script = Script("train.py", training, {"train.py": training, "member.py": member})
    made = made_of_method(script, script.statement_at(4))
    assert made is not None
    return compile_method(script, made, Place("member.py", 7, "update"))


def test_a_method_of_another_file_is_decorated_and_called() -> None:
    files = compiled().script.files
    assert "    @tf.function\n    def update(self, x):\n" in files["member.py"]
    assert files["train.py"].endswith("data):\n    for x in data:\n        member.update(x)\n")


def test_a_method_that_draws_is_known_to() -> None:
    member = _MEMBER.replace("self.net(x))", "self.net(x) + tf.random.normal([]))")
    assert compiled(member).draws
    assert not compiled().draws


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("        return loss", "        print(loss)\n        return loss", "prints"),
        ("class Member:", "@dataclass\nclass Member:", "may change"),
        (
            "        return loss",
            "        return loss\n    def set(self, n):\n        self.net = n",
            "may change",
        ),
        ("    def __init__", "    __slots__ = ('net', 'opt')\n    def __init__", "__slots__"),
        (
            "        return loss",
            "        return loss\n\nclass Late(Member):\n    def update(self, x):\n        return 0",
            "of its own",
        ),
    ],
    ids=["effect", "compared", "changing", "slots", "overridden"],
)
def test_a_method_that_may_differ_is_left_alone(old: str, new: str, reason: str) -> None:
    member = _MEMBER.replace(old, new)
    line = member.splitlines().index("    def update(self, x):") + 1
    script = Script("train.py", _TRAINING, {"train.py": _TRAINING, "member.py": member})
    made = made_of_method(script, script.statement_at(4))
    assert made is not None
    with pytest.raises(CannotEdit, match=reason):
        compile_method(script, made, Place("member.py", line, "update"))


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        ("    return step\n", "handed on"),
        ("    member.net = None\n", "may change"),
        ("    other(member.update)\n", "may be it too"),
        ("    member = None\n", "more than one place"),
    ],
)
def test_other_uses_stand_in_the_way(added: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        compiled(training=_TRAINING + added)


def test_a_function_with_options_is_none_of_its_business() -> None:
    script = Script(
        "a.py", "import tensorflow as tf\nstep = tf.function(m.update, jit_compile=True)\n"
    )
    assert made_of_method(script, script.statement_at(2)) is None
