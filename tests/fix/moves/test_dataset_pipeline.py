"""Pipelines in several statements, records that are parsed in batches, and shuffles of what is small."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.dataset_pipeline import (
    parallel_map,
    shuffle_first,
    whole_batches,
    work_ahead,
    work_ahead_tuned,
)
from unslow.model import Safety

_PARSE = (
    "import tensorflow as tf\nSPEC = {{n: tf.io.FixedLenFeature({shape}, tf.int64) for n in names}}\n"
    "def parse(r):\n    row = tf.io.parse_single_example(r, SPEC)\n"
    "    return tf.stack([row[n] for n in names], axis={axis})\n"
    "ds = ds.map(parse)\nds = ds.batch(9)\n"
)
_OPS = ("ParseExampleV2", "Pack", "Cast")


def batched(shape: str = "[]", axis: str = "-1") -> str:
    script = Script("a.py", _PARSE.format(shape=shape, axis=axis))
    return whole_batches(script, 6, _OPS, True).files["a.py"]


def test_single_numbers_are_parsed_a_batch_at_a_time() -> None:
    text = batched()
    assert "row = tf.io.parse_example(r, SPEC)" in text
    assert "ds = ds.batch(9)\nds = ds.map(parse)\n" in text


@pytest.mark.parametrize(("shape", "axis"), [("[8]", "-1"), ("[]", "0")])
def test_what_would_have_another_shape_is_left_alone(shape: str, axis: str) -> None:
    with pytest.raises(CannotEdit, match="something else for a whole batch"):
        batched(shape, axis)


def test_a_shuffle_goes_in_front_of_the_map_of_its_chain() -> None:
    script = Script("a.py", "ds = files.map(decode).shuffle(99).batch(3)\n")
    fixed = shuffle_first(script, 1, is_repeatable=False)
    assert "files.shuffle(99).map(decode).batch(3)" in fixed.files["a.py"]


def test_a_shuffle_goes_in_front_of_the_map_of_the_statement_before() -> None:
    script = Script("a.py", "ds = ds.map(decode)\nds = ds.shuffle(99)\n")
    fixed = shuffle_first(script, 2, is_repeatable=False)
    assert fixed.files["a.py"] == "ds = ds.shuffle(99)\nds = ds.map(decode)\n"


def test_only_a_map_that_may_draw_random_numbers_has_to_be_reviewed() -> None:
    script = Script("a.py", "ds = files.map(decode).shuffle(99).batch(3)\n")
    assert shuffle_first(script, 1, is_repeatable=True).safety is Safety.EXACT
    assert shuffle_first(script, 1, is_repeatable=False).safety is Safety.REVIEW


def test_a_shuffle_without_a_map_in_front_is_left_alone() -> None:
    with pytest.raises(CannotEdit):
        shuffle_first(Script("a.py", "ds = ds.batch(3)\nds = ds.shuffle(99)\n"), 2, True)


@pytest.mark.parametrize("given", ["500", "buffer_size=500"])
def test_a_prefetch_is_left_to_tensorflow(given: str) -> None:
    script = Script("a.py", f"import tensorflow as tf\nds = ds.batch(8).prefetch({given})\n")
    text = work_ahead_tuned(script, 2).files["a.py"]
    assert ".prefetch(500" not in text and "tf.data.AUTOTUNE)" in text


def test_the_map_in_front_of_this_shuffle_is_swapped() -> None:
    text = "ds = (f.map(a)\n    .shuffle(9)\n    .map(b)\n    .shuffle(99))\n"
    fixed = shuffle_first(Script("a.py", text), 4, is_repeatable=True)
    assert "(f.map(a)\n    .shuffle(9)\n    .shuffle(99)\n    .map(b))" in fixed.files["a.py"]
    with pytest.raises(CannotEdit, match="more than once"):
        shuffle_first(Script("a.py", text.replace("\n    ", "")), 1, is_repeatable=True)


_TF = "import tensorflow as tf\n"
_AHEAD = ".prefetch(tf.data.AUTOTUNE)"


@pytest.mark.parametrize(
    "line",
    [
        "for x in ds.batch(3){}.as_numpy_iterator():\n    f(x)\n",
        "model.fit(ds.batch(3){}, epochs=9)\n",
        "spread = strategy.experimental_distribute_dataset(ds.batch(3){})\n",
        "it = tf.compat.v1.data.make_one_shot_iterator(ds.batch(3){})\n",
        "x = ds.batch(3){}.make_one_shot_iterator().get_next()\n",
        "ds = tf.data.Dataset.zip((a.map(f), b.map(g))){}\n",
        "ds = ds.interleave(lambda f: tf.data.TFRecordDataset(f).map(g), 4){}\n",
    ],
)
def test_a_prefetch_goes_behind_a_dataset_and_not_what_takes_it(line: str) -> None:
    fix = work_ahead(Script("a.py", _TF + line.format("")), 2)
    assert fix.files["a.py"] == _TF + line.format(_AHEAD)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a, b = c.batch(3), d.map(f).batch(3)\n", "more than one dataset"),
        ("model.fit(data(), epochs=9)\n", "no dataset is built"),
    ],
)
def test_a_prefetch_needs_one_dataset(line: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        work_ahead(Script("a.py", _TF + line), 2)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("Map", "map(f, 4)", "map(f, {})"),
        ("Interleave", "interleave(f, 4, 1, 2)", "interleave(f, 4, 1, {})"),
    ],
)
def test_a_number_of_calls_without_its_name_is_replaced(kind: str, before: str, after: str) -> None:
    fix = parallel_map(Script("a.py", f"{_TF}ds = ds.{before}\n"), 2, kind, False, None)
    assert fix.files["a.py"] == f"{_TF}ds = ds.{after.format('tf.data.AUTOTUNE')}\n"
    assert fix.safety is Safety.EXACT


@pytest.mark.parametrize(
    ("text", "line", "note"),
    [
        ("ds = ds.map(f, deterministic=False)\n", 2, "order"),
        ("options.deterministic = False\nds = ds.map(f)\n", 3, "order"),
        ("def m(ds, f):\n    return ds.map(f)\nds = m(m(ds, a), b)\n", 3, "`f` may be another"),
    ],
)
def test_several_calls_at_once_may_change_what_comes(text: str, line: int, note: str) -> None:
    fix = parallel_map(Script("a.py", _TF + text), line, "Map", False, None)
    assert fix.safety is Safety.REVIEW and note in fix.note


@pytest.mark.parametrize(
    "function",
    [
        "lambda x: x * 2.0",
        "lambda x: x * x",
        "lambda x, y: (x / 255.0, tf.cast(y, tf.int32))",
        "lambda row: {'a': row['a'] * 2.0, 'b': row['b']}",
    ],
)
def test_parts_of_an_element_that_stay_apart_may_be_batched(function: str) -> None:
    script = Script("a.py", f"{_TF}ds = ds.map({function}).batch(3)\n")
    fix = whole_batches(script, 2, ("Mul", "Cast"), True)
    assert fix.files["a.py"] == f"{_TF}ds = ds.batch(3).map({function})\n"


@pytest.mark.parametrize(
    "function",
    [
        "lambda x, y: (x * y, y)",
        "lambda x, y: (tf.maximum(x, y), y)",
        "lambda row: row['a'] * row['b']",
        "scaled",
    ],
)
def test_parts_of_an_element_that_meet_may_not(function: str) -> None:
    head = "def scaled(x, y):\n    z = y + 1.0\n    return x * z\n"
    script = Script("a.py", f"{_TF}{head}ds = ds.map({function}).batch(3)\n")
    with pytest.raises(CannotEdit, match="other shapes in a batch"):
        whole_batches(script, 5, ("Mul", "Cast"), True)


def test_a_function_that_was_not_read_must_be_reviewed() -> None:
    script = Script("a.py", f"{_TF}ds = ds.map(elsewhere).batch(3)\n")
    fix = whole_batches(script, 2, ("Mul", "Cast"), True)
    assert fix.safety is Safety.REVIEW and "was not read" in fix.note
    assert whole_batches(script, 2, ("Cast",), True).safety is Safety.CLOSE
