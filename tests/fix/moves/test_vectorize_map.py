"""`tf.map_fn` becomes `tf.vectorized_map` where its function does the same ops for each element."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.vectorize_map import vectorize_map

TEXT = """\
import tensorflow as tf


class Front:
    def shape(self, x):
        return {shape}

    def spectrum(self, frame):
        return tf.math.log(self.shape(frame) + 1e-6)

    def __call__(self, frames):
        return {call}
"""


def _edited(call: str, shape: str = "tf.abs(tf.signal.rfft(x)) ** 2") -> tuple[str, bool]:
    found = vectorize_map(Script("a.py", TEXT.format(call=call, shape=shape)), 12)
    assert vectorize_map(found.script, 12).script == found.script
    return found.script.text.splitlines()[11].strip(), found.draws


@pytest.mark.parametrize(
    "call",
    [
        "tf.map_fn(self.spectrum, frames)",
        "tf.map_fn(fn=self.spectrum, elems=frames, parallel_iterations=8)",
        "tf.map_fn(self.spectrum, frames, fn_output_signature=tf.float32)",
        "tf.map_fn(\n            self.spectrum, frames, dtype=tf.float32)",
        "tf.map_fn(self.spectrum, frames, fn_output_signature=tf.TensorSpec([], tf.float32))",
        "tf.map_fn(self.spectrum, frames, dtype=(tf.float32, tf.int32))",
    ],
)
def test_a_method_of_ops_alone_is_mapped_at_once(call: str) -> None:
    assert _edited(call) == ("return tf.vectorized_map(self.spectrum, frames)", False)


def test_a_lambda_is_mapped_and_random_numbers_are_noted() -> None:
    line, draws = _edited("tf.map_fn(lambda x: x + tf.random.normal([3]), frames)")
    assert line == "return tf.vectorized_map(lambda x: x + tf.random.normal([3]), frames)"
    assert draws


@pytest.mark.parametrize(
    ("call", "shape", "reason"),
    [
        ("tf.map_fn(self.spectrum, frames)", "tf.boolean_mask(x, x > 0)", "cannot be done"),
        ("tf.map_fn(self.spectrum, frames)", "x if self.fast else -x", "another thing for each"),
        ("tf.map_fn(self.spectrum, frames)", "self.total.assign_add(x)", "cannot be done"),
        ("tf.map_fn(other, frames)", "x", "is not known"),
        ("tf.map_fn(self.spectrum, frames, dtype=tf.RaggedTensorSpec([None]))", "x", "more about"),
        ("tf.map_fn(self.spectrum, frames)", "x if x > 0 else -x", "another thing for each"),
        ("tf.map_fn(self.spectrum, frames)", "tf.where(x > 0)", "cannot be done"),
        ("tf.map_fn(*given)", "x", "not written out"),
        ("tf.while_loop(a, b, c)", "x", "not made by"),
    ],
)
def test_what_differs_by_element_or_is_not_known_is_refused(
    call: str, shape: str, reason: str
) -> None:
    with pytest.raises(CannotEdit, match=reason):
        _edited(call, shape)


@pytest.mark.parametrize("shape", ["tf.where(x > 0, x, 0.0)", "x if FAST else -x"])
def test_a_choice_that_is_the_same_op_for_each_element_is_kept(shape: str) -> None:
    assert _edited("tf.map_fn(self.spectrum, frames)", shape)[0].startswith("return tf.vectorized")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("tf.map_fn(lambda a: a + np.random.normal(), x)", "draws random numbers"),
        ("tf.map_fn(lambda a: a + rng.normal(), x)", "draws random numbers"),
        ("tf.map_fn(lambda a: show.append(a), x)", "changes `show`"),
        ("tf.map_fn(tf.exp, x, back_prop=False)", "`back_prop`"),
        ("tf.map_fn(tf.reduce_sum, rows)", "ragged"),
    ],
)
def test_what_each_element_does_by_itself_is_left_alone(call: str, reason: str) -> None:
    head = "import numpy as np\nimport tensorflow as tf\nrows = tf.ragged.constant([[1], [2, 3]])\n"
    with pytest.raises(CannotEdit, match=reason):
        vectorize_map(Script("a.py", f"{head}y = {call}\n"), 4)
