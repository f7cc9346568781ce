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


@pytest.mark.parametrize(
    "used",
    ["tf.add(ids, table)", "tf.cast(ids, table)", "tf.convert_to_tensor(table, tf.float32)"],
)
def test_an_array_that_gets_its_type_from_elsewhere_is_left_alone(used: str) -> None:
    with pytest.raises(CannotEdit, match="no array of the module"):
        constants_outside(Script("a.py", _HEAD + f"    return {used}\n"), 6)


def test_an_array_of_the_usual_type_may_stand_beside_a_tensor() -> None:
    source = _HEAD.replace("load()", 'load().astype("float32")')
    text = constants_outside(Script("a.py", source + "    return tf.matmul(ids, table)\n"), 6).text
    assert "return tf.matmul(ids, table_tensor)" in text


@pytest.mark.parametrize("change", ["table[:] = load()", "np.random.shuffle(table)"])
def test_an_array_that_is_filled_before_the_first_call_is_left_alone(change: str) -> None:
    source = f"{_HEAD}    return tf.gather(table, ids)\n{change}\nstep(3)\n"
    with pytest.raises(CannotEdit, match="`table` is changed in place"):
        constants_outside(Script("a.py", source), 6)
    early = source.replace(f"{change}\n", "").replace("load()\n", f"load()\n{change}\n")
    assert "tf.constant(table)" in constants_outside(Script("a.py", early), 7).text
