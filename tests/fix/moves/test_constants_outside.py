"""Arrays that a compiled function reads become tensors before it."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.constants_outside import constants_outside

_HEAD = "import tensorflow as tf\ntable = load()\n\n@tf.function\ndef step(ids):\n"


def test_an_array_is_made_a_tensor_once() -> None:
    text = constants_outside(Script("a.py", _HEAD + "    return tf.gather(table, ids)\n"), 6).text
    assert "table_tensor = tf.constant(table)\n\n\n@tf.function" in text
    assert "return tf.gather(table_tensor, ids)" in text


@pytest.mark.parametrize(
    "body",
    [
        "    table = other(ids)\n    return tf.gather(table, ids)\n",
        "    return tf.gather(ids, 0)\n",
        "    return tf.gather(later, ids)\nlater = load()\n",
    ],
    ids=["its own name", "its own argument", "bound behind it"],
)
def test_what_is_no_array_of_the_module_is_left_alone(body: str) -> None:
    with pytest.raises(CannotEdit, match="no array of the module"):
        constants_outside(Script("a.py", _HEAD + body), 6)


def test_a_name_that_is_set_again_keeps_its_meaning() -> None:
    source = _HEAD + "    return tf.gather(table, ids)\ntable = load()\n"
    with pytest.raises(CannotEdit, match="no array of the module"):
        constants_outside(Script("a.py", source), 6)


def test_a_refusal_names_the_recorded_line_where_an_import_would_be_added() -> None:
    text = _HEAD.replace("import tensorflow as tf", "import keras") + "    return ids + 1\n"
    with pytest.raises(CannotEdit) as problem:
        constants_outside(Script("a.py", text), 6)
    assert problem.value.line == 6
