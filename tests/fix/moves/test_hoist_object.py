"""An object that compiles a function is made once for all turns of a loop."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_object import object_once

_LEARNER = """\
import tensorflow as tf

class Learner:
    def __init__(self, net, rate):
        self.net, self.rate = net, rate
        self.losses = []
        self.best = 0.0
        self.update = tf.function(self._update)

    def _update(self, x):
        return self.rate * self.net(x)

    def adapt(self, x):
        self.losses.append(self.update(x))

def run(net, tasks, config):
    for task in tasks:
        learner = Learner(net, config["rate"])
        learner.adapt(task)
"""


def once(old: str = "", new: str = "") -> str:
    assert old in _LEARNER
    return object_once(Script("a.py", _LEARNER.replace(old, new, 1)), 8).text


def test_it_is_made_before_the_loop_and_starts_again_in_it() -> None:
    assert once().endswith(
        """\
    learner = Learner(net, config["rate"])
    for task in tasks:
        learner.losses = []
        learner.adapt(task)
"""
    )


def test_a_number_that_is_set_later_starts_again_too() -> None:
    text = once("self.losses.append", "self.best += 1; self.losses.append")
    assert "        learner.losses = []\n        learner.best = 0.0\n        learner.adapt" in text


def test_another_class_may_set_an_attribute_of_the_same_name() -> None:
    other = "class Other:\n    def f(self):\n        self.net = 1\n\ndef run("
    assert "    learner = Learner(net, " in once("def run(", other)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("= Learner(net,", "= Learner(task.net,", "depends on `task`"),
        ("learner.adapt(task)", "kept.append(learner)", "kept or handed on"),
        ("self.losses = []", "self.losses = net.start()", "a `losses` of its own"),
        ("self.losses = []", "net.reset()", "more than set attributes"),
        ("self.rate * self", "len(self.losses) * self", "uses `losses`, which starts again"),
        ("self.losses.append", "self.net = 0; self.losses.append", "`net` is set again"),
        ("        learner.adapt", "        net.trainable = False\n        learner.adapt", "notice"),
        ("class Learner:", "class Learner(Base):", "`Base` may do more"),
    ],
)
def test_what_differs_between_the_turns_is_left(old: str, new: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(old, new)
