"""A distributed dataset without an end is counted, where one with an end asks all workers."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.repeat_dataset import repeat_distributed

_MADE = "data = read().batch(32)\nshared = strategy.experimental_distribute_dataset(data)\n"
_LOOP = "for epoch in range(2):\n    for batch in shared:\n        train(batch)\n"


def test_each_pass_takes_as_many_batches_as_before() -> None:
    text = repeat_distributed(Script("a.py", "import os\n" + _MADE + _LOOP), 5).text
    assert text == (
        "import os\n"
        "import itertools\n"
        "data = read().batch(32)\n"
        "shared = strategy.experimental_distribute_dataset(data.repeat())\n"
        "for epoch in range(2):\n"
        "    for batch in itertools.islice(shared, int(data.cardinality())):\n"
        "        train(batch)\n"
    )


def test_a_dataset_may_be_completed_under_its_name() -> None:
    completed = _MADE.replace("shared", "data = data.prefetch(2)\nshared")
    text = repeat_distributed(Script("a.py", "import itertools\n" + completed + _LOOP), 6).text
    assert "experimental_distribute_dataset(data.repeat())" in text


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (_MADE.replace("(data)", "(read())") + _LOOP, 4, "no name of its own"),
        (_MADE + "data = read()\n" + _LOOP, 5, "`data` is set again later"),
        ("shared = read()\n" + _LOOP, 3, "experimental_distribute_dataset"),
        (_MADE + "batch = next(iter(shared))\n", 3, "no `for` loop"),
    ],
)
def test_what_is_not_plain_is_left_alone(text: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        repeat_distributed(Script("a.py", text), line)
