"""The move on a container of views."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.store_copy import store_copy


def kept(statement: str, *, before: str = "", after: str = "") -> Script:
    inside = "".join(f"        {line}\n" for line in (before, statement, after) if line)
    text = f"def encode(batches, rows):\n    for batch in batches:\n        states = run(batch)\n{inside}"
    return Script("a.py", text)


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        ("rows.append(states[:, 0])", "rows.append(states[:, 0].copy())"),
        ("rows.append(states.T)", "rows.append(states.T.copy())"),
        ("rows.append(first(states))", "rows.append(first(states).copy())"),
        ("rows[batch.name] = states[0]", "rows[batch.name] = states[0].copy()"),
    ],
)
def test_a_view_is_stored_as_a_copy(statement: str, fixed: str) -> None:
    assert f"        {fixed}\n" in store_copy(kept(statement), 4, "rows").text


@pytest.mark.parametrize(
    "change",
    ["states[0] = 0", "states += 1", "states.sort()", "np.square(states, out=states)"],
)
def test_an_array_that_is_changed_after_it_is_stored_stays(change: str) -> None:
    with pytest.raises(CannotEdit, match="changed in place"):
        store_copy(kept("rows.append(states[:, 0])", after=change), 4, "rows")


def test_an_array_behind_a_call_counts_and_an_index_does_not() -> None:
    with pytest.raises(CannotEdit, match="changed in place"):
        store_copy(kept("rows.append(np.squeeze(states))", after="states[0] = 0"), 4, "rows")
    fixed = store_copy(kept("rows.append(states[index])", after="index += 1"), 4, "rows")
    assert "states[index].copy()" in fixed.text


def test_an_array_that_is_changed_before_it_is_stored_may_be_copied() -> None:
    script = kept("rows.append(states[:, 0])", before="states[0] = 0")
    assert "states[:, 0].copy()" in store_copy(script, 5, "rows").text


def test_several_values_at_once_are_left_alone() -> None:
    with pytest.raises(CannotEdit, match="one value"):
        store_copy(kept("rows.extend(states)"), 4, "rows")
    with pytest.raises(CannotEdit, match="plain name"):
        store_copy(kept("rows.append(states[0] if batch else states[1])"), 4, "rows")


def test_the_value_of_the_container_that_grows_is_copied() -> None:
    text = "rows.append(s[0]); columns.append(s[1])\n"
    edited = store_copy(Script("a.py", text), 1, "columns")
    assert edited.text == "rows.append(s[0]); columns.append(s[1].copy())\n"


def test_an_array_that_is_shuffled_after_it_is_stored_is_not_copied() -> None:
    text = "rows.append(s[0])\nrng.shuffle(s)\n"
    with pytest.raises(CannotEdit, match="changed in place after it is stored"):
        store_copy(Script("a.py", text), 1, "rows")
