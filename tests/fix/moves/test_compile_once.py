"""A helper that a loop calls compiles the model at its first call only."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_model import model_once

_HELPER = (
    "def freeze(model, flag):\n    model.trainable = flag\n"
    "    model.compile(loss='mse', optimizer=Adam(1e-3))\n\n"
)
_LOOP = (
    "for i in range(9):\n    freeze(d, True)\n    d.train_on_batch(x, y)\n"
    "    freeze(d, False)\n    both.train_on_batch(z, y)\n"
)


def once(source: str) -> str:
    return model_once(Script("a.py", source), [3]).text


def test_it_compiles_what_is_not_compiled() -> None:
    assert once(_HELPER + _LOOP).startswith(
        "def freeze(model, flag):\n    model.trainable = flag\n"
        '    if getattr(model, "optimizer", None) is None:\n'
        "        model.compile(loss='mse', optimizer=Adam(1e-3))\n"
    )


def test_a_method_compiles_the_model_of_its_object() -> None:
    source = (
        "class Gan:\n    def ready(self):\n        self.d.compile(loss='mse')\n\n"
        "    def train(self):\n        while True:\n            self.ready()\n"
        "            self.d.fit(x)\n"
    )
    assert '        if getattr(self.d, "optimizer", None) is None:\n            self.d.c' in once(
        source
    )


def test_a_learning_rate_that_changes_is_set_at_each_call() -> None:
    source = (
        "import keras\ndef ready(m, rate):\n"
        "    m.compile(keras.optimizers.Adam(learning_rate=rate * 2), 'mse')\n\n"
        "for rate in rates:\n    ready(model, rate)\n    model.fit(x)\n"
    )
    assert (
        '    if getattr(m, "optimizer", None) is None:\n'
        "        m.compile(keras.optimizers.Adam(learning_rate=rate * 2), 'mse')\n"
        "    else:\n        m.optimizer.learning_rate = rate * 2\n"
    ) in once(source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (_HELPER.replace("1e-3", "flag") + _LOOP, "`flag` of `freeze` decides"),
        (_HELPER + _LOOP.replace("both.train", "d.train"), "after another `freeze`"),
        (_HELPER + "freeze(d, False)\nd.fit(x)\nfreeze(d, True)\nd.fit(x)\n", "after another"),
        (_HELPER + "for on in flags:\n    freeze(d, on)\n    d.fit(x)\n", "changes in the loop"),
        (_HELPER + "d.compile('sgd', 'mae')\n" + _LOOP, "also compiled here"),
        (_HELPER.replace("model.trainable = flag", "model = build()"), "makes the model"),
    ],
    ids=[
        "compiled in several ways",
        "trained in several states",
        "trained in phases",
        "a state for each turn",
        "compiled elsewhere",
        "made",
    ],
)
def test_what_needs_a_new_train_function_is_left_alone(source: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(source)
