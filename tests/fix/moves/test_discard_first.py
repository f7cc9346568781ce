"""A `skip` or `shard` is moved in front of the map whose elements it throws away."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.discard_first import discard_first
from unslow.model import Fix, Safety


def moved(text: str, line: int, work: int, method: str = "skip", same: bool = True) -> Fix:
    return discard_first(Script("a.py", text), line, method, work, same)


def edited(text: str, line: int, work: int, method: str = "skip") -> str:
    return moved(text, line, work, method).files["a.py"]


def test_it_moves_over_the_maps_of_its_own_chain() -> None:
    text = "a = (\n    files\n    .map(f)\n    .map(g)\n    .prefetch(2)\n    .shard(4, i)\n    .batch(3)\n)\n"
    wanted = "a = (\n    files\n    .shard(4, i)\n    .map(f)\n    .map(g)\n    .prefetch(2)\n    .batch(3)\n)\n"
    assert edited(text, 6, 3, "shard") == wanted


def test_it_moves_over_the_statement_above() -> None:
    text = "ds = files.map(g)\nds = ds.map(f)\nds = ds.skip(3)\nds = ds.batch(2)\n"
    assert "ds = ds.skip(3)\nds = ds.map(f)\n" in edited(text, 3, 2)


def test_a_map_that_nothing_else_reads_moves_down() -> None:
    text = "def main():\n    ds = tf.data.X(p).map(f)\n    for i in range(3):\n        part = ds.skip(i).take(2)\n"
    wanted = "def main():\n    ds = tf.data.X(p)\n    for i in range(3):\n        part = ds.skip(i).map(f).take(2)\n"
    assert edited(text, 4, 2) == wanted


def test_a_map_that_others_read_stays_for_them() -> None:
    text = "ds = tf.data.X(p)\nds = ds.map(f)\ntrain = ds.skip(3).batch(2)\nval = ds.take(3)\n"
    wanted = (
        "ds = tf.data.X(p)\nelements = ds\nds = elements.map(f)\n"
        "train = elements.skip(3).map(f).batch(2)\nval = ds.take(3)\n"
    )
    assert edited(text, 3, 2) == wanted


def test_a_source_that_has_a_name_is_read_by_it() -> None:
    text = "raw = tf.data.X(p)\nds = raw.map(f)\ntrain = ds.skip(3)\nval = ds.take(3)\n"
    assert "train = raw.skip(3).map(f)\n" in edited(text, 3, 2)


def test_a_function_with_random_numbers_is_to_be_reviewed() -> None:
    fix = moved("a = files.map(f).skip(9)\n", 1, 1, same=False)
    assert fix.safety is Safety.REVIEW and "random" in fix.note


@pytest.mark.parametrize(
    ("text", "line", "work"),
    [
        ("ds = tf.data.X(p).map(f).batch(3)\ntrain = ds.skip(3)\n", 2, 1),
        ("def load():\n    return tf.data.X(p).map(f)\nds = load()\ntrain = ds.skip(3)\n", 4, 2),
        ("if a:\n    ds = x.map(f)\nelse:\n    ds = x.map(g)\ntrain = ds.skip(3)\n", 5, 2),
        ("ds = x.map(f).batch(3).skip(3)\n", 1, 1),
    ],
)
def test_a_map_that_is_elsewhere_is_left_alone(text: str, line: int, work: int) -> None:
    with pytest.raises(CannotEdit, match="the map is not in front of it"):
        moved(text, line, work)


def test_what_the_function_is_given_must_not_change() -> None:
    text = "n = 2\nds = x.map(lambda e: e + n)\nn = 3\ntrain = ds.skip(3)\nval = ds.take(3)\n"
    with pytest.raises(CannotEdit, match="`n` has several values"):
        moved(text, 4, 2)


def test_several_maps_on_a_line_stay_behind_what_is_thrown_away() -> None:
    fix = discard_first(Script("a.py", "a = files.map(f).map(g).skip(3)\n"), 1, "skip", 1, True)
    assert fix.files["a.py"] == "a = files.skip(3).map(f).map(g)\n"
