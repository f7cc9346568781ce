"""XLA is left off where it costs more than it gives."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.without_xla import without_xla

_BODY = "def step(x):\n    return x * 2\n\nfor x in data:\n    step(x)\n"


def test_a_decorator_keeps_its_other_options() -> None:
    text = (
        "import tensorflow as tf\n@tf.function(jit_compile=True, reduce_retracing=True)\n" + _BODY
    )
    found = without_xla(Script("a.py", text), 7)
    assert "@tf.function(reduce_retracing=True)\ndef step" in found.script.text
    assert not found.draws


def test_a_decorator_without_other_options_needs_no_parentheses() -> None:
    text = "import tensorflow as tf\n@tf.function(jit_compile=True)\n" + _BODY
    assert "@tf.function\ndef step" in without_xla(Script("a.py", text), 7).script.text


def test_a_flag_of_the_configuration_is_set_there() -> None:
    text = "import tensorflow as tf\nXLA = True\n@tf.function(jit_compile=XLA)\n" + _BODY
    assert "XLA = False\n" in without_xla(Script("a.py", text), 8).script.text


def test_a_fitted_model_is_compiled_without_it() -> None:
    text = 'model.compile("adam", jit_compile=True)\nmodel.fit(x)\n'
    assert 'model.compile("adam")' in without_xla(Script("a.py", text), 2).script.text


def test_random_numbers_are_told() -> None:
    text = (
        "import tensorflow as tf\nf = tf.function(g, jit_compile=True)\nf(tf.random.normal([2]))\n"
    )
    assert without_xla(Script("a.py", text), 3).draws


def test_a_call_without_the_flag_is_refused() -> None:
    with pytest.raises(CannotEdit, match="not set for what this line calls"):
        without_xla(Script("a.py", "import tensorflow as tf\n@tf.function\n" + _BODY), 7)
