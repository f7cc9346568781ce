"""Pipelines in several statements, records that are parsed in batches, and shuffles of what is small."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.dataset_pipeline import shuffle_first, whole_batches, work_ahead_tuned
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
