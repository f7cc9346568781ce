"""What a Keras callback does after each batch is done after some of them."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.run_every_n import guard

_CALLBACK = (
    "from tensorflow import keras\nclass Watch({base}):\n    def {method}(self, batch, logs=None):\n"
    "        write(logs)\n        self.seen += 1\n"
)


def guarded(base: str, method: str) -> str:
    return guard(Script("a.py", _CALLBACK.format(base=base, method=method)), 4, 100).text


def test_a_callback_counts_by_the_number_of_the_batch() -> None:
    text = guarded("keras.callbacks.Callback", "on_train_batch_end")
    assert "        if batch % 100 == 0:\n            write(logs)\n        self.seen += 1\n" in text


@pytest.mark.parametrize(
    ("base", "method"),
    [("object", "on_train_batch_end"), ("keras.callbacks.Callback", "on_epoch_end")],
)
def test_other_methods_have_no_number_of_a_batch(base: str, method: str) -> None:
    with pytest.raises(CannotEdit, match="not in a loop"):
        guarded(base, method)


@pytest.mark.parametrize(
    "write",
    [
        "tf.summary.scalar('loss', loss, step=self.epoch)",
        "with writer.as_default(self.epoch):\n            tf.summary.scalar('loss', loss)",
    ],
)
def test_a_helper_that_writes_summaries_counts_by_their_step(write: str) -> None:
    text = f"import tensorflow as tf\nclass Log:\n    def write(self, loss):\n        {write}\n"
    assert "        if self.epoch % 100 == 0:\n" in guard(Script("a.py", text), 4, 100).text
