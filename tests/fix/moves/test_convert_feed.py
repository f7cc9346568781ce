"""Data that a loop changes is not converted in front of it."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.convert_feed import converted_once

_HEAD = "import numpy as np\n{head}\nfor e in range(3):\n    {body}\n"
_LOOP = "    for i in range(9):\n        sess.run(op, feed_dict={x: rows[i : i + 3]})\n"


def converted(body: str, head: str = "") -> str:
    text = _HEAD.format(head=head, body=body) + _LOOP
    line = text.splitlines().index("        sess.run(op, feed_dict={x: rows[i : i + 3]})") + 1
    return converted_once(Script("a.py", text), line, 0, "float32", order=False).text


def test_it_is_converted_in_front_of_all_loops_that_leave_it_alone() -> None:
    assert "rows_float32 = np.asarray(rows, dtype=np.float32)\nfor e" in converted("print(e)")


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("np.random.shuffle(rows)", ""),
        ("rng.shuffle(rows)", ""),
        ("rows.fill(e)", ""),
        ("np.copyto(rows, read())", ""),
        ("np.add(rows, 1, out=rows)", ""),
        ("rows[0][1] = e", ""),
        ("refill(rows, e)", "def refill(data, e):\n    data[:] = e"),
        ("refill(rows, e)", "def refill(data, e):\n    data += e"),
        ("refill(rows, e)", "def refill(data, e):\n    each(data)\ndef each(one):\n    one[0] = 1"),
    ],
)
def test_what_the_outer_loop_changes_is_converted_behind_that(body: str, head: str) -> None:
    made = "    rows_float32 = np.asarray(rows, dtype=np.float32)\n    for i"
    assert made in converted(body, head)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("refill(rows)", "`refill` may change `rows`"),
        ("part = rows[e:]\n    part -= 1", "`part` shows it"),
        ("view = rows\n    view[0] = 1", "`view` shows it"),
    ],
)
def test_what_may_change_in_the_loop_is_not_converted(change: str, reason: str) -> None:
    text = f"for e in range(3):\n    {change}\n    sess.run(op, feed_dict={{x: rows}})\n"
    with pytest.raises(CannotEdit, match=reason):
        converted_once(Script("a.py", text), text.count("\n"), 0, "float32", order=False)


def test_the_data_of_an_object_that_shuffles_itself_is_not_converted() -> None:
    text = "for e in range(3):\n    data.shuffle()\n    sess.run(op, feed_dict={x: data.rows})\n"
    with pytest.raises(CannotEdit, match=r"`data\.shuffle` may change `data\.rows`"):
        converted_once(Script("a.py", text), 3, 0, "float32", order=False)
    own = "class Data:\n    def shuffle(self):\n        self.rows = mixed()\ndata = Data()\n"
    with pytest.raises(CannotEdit, match=r"`data\.rows` changes in the loop"):
        converted_once(Script("a.py", own + text), 7, 0, "float32", order=False)


def test_a_file_that_is_read_piece_by_piece_is_not_read_as_a_whole() -> None:
    with pytest.raises(CannotEdit, match="from a file piece by piece"):
        converted("pass", "import h5py")
