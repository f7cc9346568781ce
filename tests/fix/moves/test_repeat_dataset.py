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


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (_MADE.replace("(data)", "(read())") + _LOOP, 4, "no name of its own"),
        ("data = read()\n" + _MADE + _LOOP, 5, "no name of its own"),
        ("shared = read()\n" + _LOOP, 3, "experimental_distribute_dataset"),
        (_MADE + "batch = next(iter(shared))\n", 3, "no `for` loop"),
    ],
)
def test_what_is_not_plain_is_left_alone(text: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        repeat_distributed(Script("a.py", text), line)
