"""Lines of which a turn of a loop runs only one."""

from __future__ import annotations

import pytest

from unslow.syntax.tree import tree_of

TEXT = """\
for step in range(9):
    if step % 3 == 0:
        run(train, summary)
    elif step % 3 == 1:
        run(train, loss)
    else:
        run(train)
    if step > 5:
        run(masks)
"""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(3, 5, True), (7, 3, True), (5, 7, True), (3, 9, False), (3, 3, False), (2, 3, False)],
)
def test_only_branches_of_one_if_exclude_each_other(one: int, other: int, expected: bool) -> None:
    assert tree_of(TEXT).exclude_each_other(one, other) is expected


def test_a_text_that_is_no_python_excludes_nothing() -> None:
    assert not tree_of("if x:\n  a\nelse\n  b\n").exclude_each_other(2, 4)
