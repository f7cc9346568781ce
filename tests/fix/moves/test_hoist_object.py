"""An object that each turn resets is made once, before the loop."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_object import object_once

_LEARNER = """\
class Learner:
    def __init__(self, meta, rate):
        self.net = clone_model(meta)
        self.step = tf.function(self._step)

    def reset(self, weights):
        self.net.set_weights(weights)

    def adapt(self, x):
        return self.step(x)


def train(meta, tasks, rate):
    before, losses = meta.get_weights(), []
    for task in tasks:
        learner = Learner(meta, rate)
        learner.reset(before)
        losses.append(float(learner.adapt(task)))
        print(learner.net.get_weights())
"""
_MADE = "        learner = Learner(meta, rate)\n"


def once(text: str) -> str:
    return object_once(Script("train.py", text), [3, 16]).text


def test_an_object_that_is_reset_at_once_is_made_before_the_loop() -> None:
    loop = "    for task in tasks:\n"
    edited = _LEARNER.replace(loop + _MADE, f"    learner = Learner(meta, rate)\n{loop}")
    assert once(_LEARNER) == edited


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Learner(meta, rate)", "Learner(meta, task)", "changes in the loop"),
        ("Learner(meta, rate)", "Other(meta, rate)", "no object of a class"),
        ("learner.reset(before)", "learner.adapt(before)", "nothing sets the weights"),
        ("self.net.set_weights(weights)", "self.net.summary()", "nothing sets the weights"),
        ("return self.step(x)", "self.seen = x", "`self.seen` is changed by `adapt`"),
        ("print(learner.net", "losses.append(learner.net)\n        print(learner.net", "kept"),
        ("print(learner.net", "losses.append(learner)\n        print(learner.net", "kept"),
    ],
)
def test_an_object_that_may_differ_from_a_new_one_is_made_again(
    old: str, new: str, reason: str
) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(_LEARNER.replace(old, new))
