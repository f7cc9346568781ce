"""Numbers that change from call to call are handed in as tensors, all of them."""

from __future__ import annotations

import ast

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.tensor_arguments import number_as_tensor, other_numbers, parts_as_tensors
from unslow.syntax.nodes import NamedFunction

_TILES = (
    "import tensorflow as tf\n@tf.function\ndef tile(scene, row, col):\n"
    "    return scene[row:row + 8, col:col + 8]\n\nfor row in range(9):\n    for col in range(9):\n"
    "        tile(scene, row, col)\n"
)


def body_of(script: Script) -> NamedFunction:
    found = next(iter(script.every(ast.FunctionDef)))
    assert isinstance(found, ast.FunctionDef)
    return found


def test_a_tensor_is_cut_by_tensors() -> None:
    script = Script("a.py", _TILES)
    text = number_as_tensor(script, 8, "tile", "col", "int", body_of(script)).text
    assert "tile(scene, row, tf.constant(col))" in text


def test_every_number_that_changes_is_found() -> None:
    script = Script("a.py", _TILES)
    assert other_numbers(script, 8, "tile", "col", body_of(script)) == [("row", "int")]


_HANDED_ON = (
    "import tensorflow as tf\n@tf.function\ndef train(batch, rate):\n    return noisy(batch, rate)\n\n"
    "def noisy(batch, scale):\n    return batch + scale * tf.ones(3)\n\n"
    "for step in range(9):\n    train(batch, 0.5 ** step)\n"
)


def test_a_number_is_followed_into_the_function_that_it_is_handed_on_to() -> None:
    script = Script("a.py", _HANDED_ON)
    text = number_as_tensor(script, 10, "train", "rate", "float", body_of(script)).text
    assert "train(batch, tf.constant(0.5 ** step))" in text


def test_a_number_that_the_other_function_needs_stays_one() -> None:
    script = Script("a.py", _HANDED_ON.replace("scale * tf.ones(3)", "tf.ones(int(scale))"))
    with pytest.raises(CannotEdit, match="needs a Python number"):
        number_as_tensor(script, 10, "train", "rate", "float", body_of(script))


def test_an_element_of_something_else_needs_a_number() -> None:
    script = Script("a.py", _TILES.replace("scene[row:row + 8, col:col + 8]", "names[col]"))
    with pytest.raises(CannotEdit, match="needs a Python number"):
        number_as_tensor(script, 8, "tile", "col", "int", body_of(script))


_GIVEN = (
    "import tensorflow as tf\n@tf.function\ndef step(x, t):\n    {use}\n    return x\n\n"
    "for n in range(9):\n    step(x, n)\n"
)


@pytest.mark.parametrize(
    ("use", "integer", "real"),
    [
        ("x = x * t", "tf.constant(n, tf.float32)", "tf.constant(n)"),
        ("x = tf.gather(table, t)", "tf.constant(n)", "tf.constant(n)"),
        ("x = x * tf.one_hot(indices=t, depth=5)", "tf.constant(n)", "tf.constant(n)"),
        ("x = tf.nn.dropout(x, rate=t)", "", "tf.constant(n)"),
        ("x = tf.random.normal([3], stddev=t)", "", "tf.constant(n)"),
        ("scale.assign(t)", "", "tf.constant(n)"),
        ("x = x * t + tf.gather(table, t)", "", "tf.constant(n)"),
        ("x = -x if t % 2 == 0 else x", "tf.constant(n)", "tf.constant(n)"),
        ("x = tf.reduce_sum(x, axis=t)", "", ""),
        ("x = tf.keras.layers.Dropout(t)(x)", "", ""),
        ("x = x + t % 2", "", ""),
        ("t = tf.constant(t)", "", ""),
        ("for _ in range(t): x = x + 1.0", "", ""),
    ],
)
def test_a_number_becomes_a_tensor_where_tensorflow_takes_one(
    use: str, integer: str, real: str
) -> None:
    for kind, given in (("int", integer), ("float", real)):
        script = Script("a.py", _GIVEN.format(use=use))
        if given:
            text = number_as_tensor(script, 8, "step", "t", kind, body_of(script)).text
            assert f"step(x, {given})" in text
            continue
        with pytest.raises(CannotEdit, match="needs a Python number"):
            number_as_tensor(script, 8, "step", "t", kind, body_of(script))


_STEP = "import tensorflow as tf\n{}@tf.function\ndef step(x, w):\n    return {}\n"


def parts(head: str, result: str, loop: str, leaf: str, other: str = "") -> dict[str, str]:
    text = _STEP.format(head, result) + loop
    script = Script("a.py", text, {"a.py": text, "plan.py": other})
    return parts_as_tensors(script, text.count("\n"), "step", leaf, body_of(script)).files


@pytest.mark.parametrize(
    ("made", "leaf", "tensors"),
    [
        ("{'a': n / 9, 'b': 1.0}", "w['a']", "{'a': tf.constant(n / 9), 'b': 1.0}"),
        ("(1.0, n / 9)", "w[1]", "(1.0, tf.constant(n / 9))"),
    ],
)
def test_a_number_in_a_structure_becomes_a_tensor_where_it_is_made(
    made: str, leaf: str, tensors: str
) -> None:
    loop = f"for n in range(9):\n    w = {made}\n    step(x, w)\n"
    assert f"    w = {tensors}\n" in parts("", f"x * {leaf}", loop, leaf)["a.py"]


def test_a_part_that_is_not_written_where_the_structure_is_made_is_refused() -> None:
    loop = "for n in range(9):\n    w = {'a': 1.0}\n    step(x, w)\n"
    with pytest.raises(CannotEdit, match="is not given where the argument is made"):
        parts("", "x * w['b']", loop, "w['b']")


_PLAN = (
    "from typing import NamedTuple\nclass W(NamedTuple):\n    eq: float\n    tip: float\n"
    "    low: float\nclass Plan:\n    def at(self, n):\n        return W(n / 9, low=2.0, tip=n)\n"
)
_PLANNED = "plan = Plan()\nfor n in range(9):\n    step(x, plan.at(n))\n"


def test_all_numbers_that_change_become_tensors_be_it_in_another_file() -> None:
    head, result = "from plan import Plan\n", "x * w.eq + w.tip - w.low"
    files = parts(head, result, _PLANNED, "w.eq", _PLAN)
    assert files["plan.py"].startswith("from typing import NamedTuple\nimport tensorflow as tf\n")
    made = "W(tf.constant(n / 9), low=2.0, tip=tf.constant(n, tf.float32))"
    assert f"        return {made}\n" in files["plan.py"]


def test_a_part_that_must_be_a_number_leaves_all_as_they_are() -> None:
    head, result = "from plan import Plan\n", "[x * w.eq for _ in range(w.tip)]"
    with pytest.raises(CannotEdit, match=r"`w\.tip` is used in `step` in a way"):
        parts(head, result, _PLANNED, "w.eq", _PLAN)


def test_a_structure_that_is_not_written_out_is_named() -> None:
    with pytest.raises(CannotEdit, match="does not spell its parts out"):
        parts("", "x * w['a']", "for n in range(9):\n    step(x, load(n))\n", "w['a']")


_NUMBER = "import tensorflow as tf\n@tf.function\ndef step(x, rate):\n{body}for i in range(9):\n    step(data, i / 9)\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    if rate > 0.5:\n        return x, x\n    return x\n", "decides"),
        ("    if rate > 0.5:\n        print('late')\n    return x * rate\n", "decides"),
        ("    return tf.cast(x, tf.float64) * rate\n", "float64"),
    ],
)
def test_a_number_that_means_more_than_a_tensor_stays_one(body: str, reason: str) -> None:
    script = Script("a.py", _NUMBER.format(body=body))
    function = script.function_at(3)
    with pytest.raises(CannotEdit, match=reason):
        number_as_tensor(script, body.count("\n") + 5, "step", "rate", "float", function)


def test_a_number_that_decides_between_tensors_may_be_one() -> None:
    body = "    if rate > 0.5:\n        return x\n    return x * 2.0\n"
    script = Script("a.py", _NUMBER.format(body=body))
    edited = number_as_tensor(script, 8, "step", "rate", "float", script.function_at(3))
    assert "step(data, tf.constant(i / 9))" in edited.text
