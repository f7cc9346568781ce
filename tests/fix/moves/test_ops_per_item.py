"""Ops that a helper makes for each item of a sequence are made once, what changes is fed."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.ops_before_loop import ops_once

CLASS = """\
import numpy as np
import tensorflow.compat.v1 as tf


class Pruner:
    def __init__(self, sess, kernels):
        self.sess = sess
        self.kernels = kernels
        self.masks = [np.ones(k.shape.as_list(), np.float32) for k in kernels]
        self.half = 0.5

    def refresh(self):
        for i, v in enumerate(self.sess.run(self.kernels)):
            self.masks[i] = {stored}

    def apply(self):
        {loop}
            {body}
"""
MAIN = """\
from train import Pruner


pruner = Pruner(sess, net.kernels)
for step in range(100):
    sess.run(net.train)
    pruner.apply()
"""
ZIPPED = "for kernel, mask in zip(self.kernels, self.masks):"
RUN = "self.sess.run(tf.assign(kernel, kernel * mask))"
STORED = "(np.abs(v) > 0.1).astype(np.float32)"


def _text(loop: str = ZIPPED, body: str = RUN, stored: str = STORED) -> str:
    return CLASS.format(loop=loop, body=body, stored=stored)


def _edited(text: str, main: str = MAIN) -> str:
    script = Script("train.py", text, {"train.py": text, "main.py": main})
    line = text[: text.index("self.sess.run(tf.")].count("\n") + 1
    stack = [("train.py", line, "apply"), ("main.py", 7, "<module>")]
    edited = ops_once(script, [stack], {("train.py", "apply")})
    assert ops_once(edited, [stack], {("train.py", "apply")}) == edited
    return edited.text


def test_what_changes_between_the_calls_is_fed() -> None:
    edited = _edited(_text())
    made = """\
        self.half = 0.5
        self.mask_placeholders = [tf.placeholder(kernel.dtype.base_dtype) for kernel in self.kernels]
        self.assign_ops = [tf.assign(kernel, kernel * mask) for kernel, mask in zip(self.kernels, self.mask_placeholders)]
"""
    run = """\
        for assign_op, mask_placeholder, mask in zip(self.assign_ops, self.mask_placeholders, self.masks):
            self.sess.run(assign_op, feed_dict={mask_placeholder: mask})
"""
    assert made in edited
    assert edited.endswith(run)


def test_an_array_that_is_assigned_as_a_whole_has_the_shape_of_its_variable() -> None:
    edited = _edited(_text(body="self.sess.run(tf.assign(kernel, mask))"))
    assert "tf.placeholder(kernel.dtype.base_dtype, kernel.shape) for kernel in" in edited


def test_without_anything_that_changes_the_ops_alone_are_run() -> None:
    loop, body = "for kernel in self.kernels:", "self.sess.run(tf.assign(kernel, kernel * 0.9))"
    edited = _edited(_text(loop, body))
    assert (
        "self.assign_ops = [tf.assign(kernel, kernel * 0.9) for kernel in self.kernels]" in edited
    )
    assert edited.endswith(
        "        for assign_op in self.assign_ops:\n            self.sess.run(assign_op)\n"
    )


def test_a_sequence_that_a_method_gives_is_asked_for_once() -> None:
    loop, body = "for kernel in self.chosen('a'):", "self.sess.run(tf.assign(kernel, kernel * 0.9))"
    chosen = "\n    def chosen(self, scope):\n        return [k for k in self.kernels if scope in k.name]\n"
    edited = _edited(_text(loop, body) + chosen)
    assert "assign_ops = [tf.assign(kernel, kernel * 0.9) for kernel in self.chosen('a')]" in edited


def test_an_argument_of_the_function_is_named_as_what_has_to_be_fed() -> None:
    loop, body = "for kernel in self.kernels:", "self.sess.run(tf.assign(kernel, kernel * tau))"
    with pytest.raises(CannotEdit, match="`tau` is an argument of `apply`"):
        _edited(_text(loop, body).replace("def apply(self)", "def apply(self, tau)"))


def test_an_item_that_the_loop_still_needs_is_kept() -> None:
    loop = "for kernel in self.kernels:"
    body = "print(kernel.name, self.sess.run(tf.reduce_sum(kernel)))"
    text = _text(loop, body)
    edited = _edited(text)
    assert "for sum_op, kernel in zip(self.sum_ops, self.kernels):" in edited
    assert "print(kernel.name, self.sess.run(sum_op))" in edited


@pytest.mark.parametrize(
    ("loop", "body", "stored", "main", "reason"),
    [
        (ZIPPED, RUN, "tf.constant(v)", MAIN, "more than arrays"),
        (ZIPPED, "self.sess.run(tf.matmul(kernel, mask))", STORED, MAIN, "cannot be fed"),
        (
            ZIPPED.replace("self.kernels", "load(self.kernels)"),
            RUN,
            STORED,
            MAIN,
            "made for it",
        ),
        (ZIPPED, RUN, STORED, MAIN + "Pruner(sess, None)\n", "more than one `Pruner`"),
    ],
)
def test_what_cannot_surely_be_made_once_is_refused(
    loop: str, body: str, stored: str, main: str, reason: str
) -> None:
    with pytest.raises(CannotEdit, match=reason):
        _edited(_text(loop, body, stored), main)


def test_a_seed_that_later_ops_would_take_from_their_number_is_kept() -> None:
    seeded = "\nimport tensorflow.compat.v1 as tf\ntf.set_random_seed(1)\npruner ="
    main = MAIN.replace("\n\n\npruner =", seeded)
    with pytest.raises(CannotEdit, match="another seed"):
        _edited(_text(), main + "noise = tf.random.normal([3])\n")
