"""A model that is compiled in every turn is compiled once."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_model import model_once

_HEAD = "import tensorflow as tf\nfor epoch in range(9):\n    lr = 0.1 * 0.9**epoch\n"


@pytest.mark.parametrize(
    ("optimizer", "once"),
    [
        ("tf.keras.optimizers.Adam(lr)", "tf.keras.optimizers.Adam()"),
        (
            "tf.keras.optimizers.SGD(learning_rate=lr, momentum=0.9)",
            "tf.keras.optimizers.SGD(momentum=0.9)",
        ),
    ],
)
def test_a_learning_rate_that_changes_is_set_in_each_turn(optimizer: str, once: str) -> None:
    body = f'    model.compile(optimizer={optimizer}, loss="mse")\n    model.fit(x)\n'
    text = model_once(Script("a.py", _HEAD + body), [4]).text
    assert f'model.compile(optimizer={once}, loss="mse")\nfor epoch' in text
    assert "    model.optimizer.learning_rate = lr\n    model.fit(x)" in text


def test_anything_else_that_changes_is_left_alone() -> None:
    body = "    model.compile(tf.keras.optimizers.Adam(lr), loss=losses[epoch])\n    model.fit(x)\n"
    with pytest.raises(CannotEdit, match="changes in the loop"):
        model_once(Script("a.py", _HEAD + body), [4])
