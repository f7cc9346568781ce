"""What a callback resets for every batch is reset once per epoch."""

from __future__ import annotations

import pytest

from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.epoch_hook import reset_each_epoch


def at(*lines: int) -> Stack:
    return tuple(Place("a.py", line) for line in lines)


_CALLBACK = (
    "import os, keras\nclass Same(keras.callbacks.Callback):\n"
    "    def on_train_batch_begin(self, batch, logs=None):\n"
    "        keras.utils.set_random_seed(self.seed + batch)\n"
)


def test_a_hook_that_only_resets_becomes_one_of_the_epoch() -> None:
    edited = reset_each_epoch(Script("a.py", _CALLBACK), at(4))
    assert edited is not None
    assert edited.text.endswith(
        "    def on_epoch_begin(self, epoch, logs=None):\n"
        "        keras.utils.set_random_seed(self.seed)\n"
    )
    assert "batch" not in edited.text


def test_a_hook_that_does_more_keeps_the_rest() -> None:
    edited = reset_each_epoch(Script("a.py", _CALLBACK + "        self.n += batch\n"), at(4))
    assert edited is not None
    assert edited.text.endswith(
        "    def on_epoch_begin(self, epoch, logs=None):\n"
        "        keras.utils.set_random_seed(self.seed)\n\n"
        "    def on_train_batch_begin(self, batch, logs=None):\n        self.n += batch\n"
    )


def test_a_hook_of_the_epoch_that_is_there_is_left_to_its_owner() -> None:
    there = "\n    def on_epoch_begin(self, epoch, logs=None):\n        self.n = 0\n"
    with pytest.raises(CannotEdit, match="has an `on_epoch_begin`"):
        reset_each_epoch(Script("a.py", _CALLBACK + there), at(4))


def test_a_helper_that_only_sets_seeds_moves_with_its_call() -> None:
    helper = (
        "\ndef seed_all(n):\n    os.environ['SEED'] = str(n)\n    keras.utils.set_random_seed(n)\n"
    )
    source = _CALLBACK.replace("keras.utils.set_random_seed(self", "seed_all(self") + helper
    edited = reset_each_epoch(Script("a.py", source), at(8, 4))
    assert edited is not None
    assert "epoch, logs=None):\n        seed_all(self.seed)\n" in edited.text


def test_the_hook_is_found_where_the_first_reset_came_by_another_way() -> None:
    helper = "\ndef seed_all(n):\n    keras.utils.set_random_seed(n)\n\nseed_all(1)\n"
    source = _CALLBACK.replace("keras.utils.set_random_seed(self", "seed_all(self") + helper
    edited = reset_each_epoch(Script("a.py", source), at(7, 9))
    assert edited is not None
    assert "epoch, logs=None):\n        seed_all(self.seed)\n" in edited.text


def test_a_helper_that_does_more_stays() -> None:
    helper = "\ndef start(n):\n    keras.utils.set_random_seed(n)\n    draw(n)\n"
    source = _CALLBACK.replace("keras.utils.set_random_seed(self", "start(self") + helper
    assert reset_each_epoch(Script("a.py", source), at(7, 4)) is None


def test_other_functions_are_none_of_its_business() -> None:
    source = _CALLBACK.replace("keras.callbacks.Callback", "object")
    assert reset_each_epoch(Script("a.py", source), at(4)) is None


@pytest.mark.parametrize(
    "body",
    [
        "if batch:\n            keras.utils.set_random_seed(3)",
        "keras.utils.set_random_seed(logs['n'])",
    ],
    ids=["under a condition", "from the batch's logs"],
)
def test_what_belongs_to_a_batch_stays(body: str) -> None:
    source = _CALLBACK.replace("keras.utils.set_random_seed(self.seed + batch)", body)
    line = 5 if "\n" in body else 4
    with pytest.raises(CannotEdit):
        reset_each_epoch(Script("a.py", source), at(line))
