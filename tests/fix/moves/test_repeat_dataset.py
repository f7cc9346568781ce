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


def test_a_dataset_without_a_name_gets_one() -> None:
    made = _MADE.replace("(data)", "(data.with_options(options))")
    text = repeat_distributed(Script("a.py", "import itertools\n" + made + _LOOP), 5).text
    assert text == (
        "import itertools\n"
        "data = read().batch(32)\n"
        "one_pass = data.with_options(options)\n"
        "shared = strategy.experimental_distribute_dataset(one_pass.repeat())\n"
        "for epoch in range(2):\n"
        "    for batch in itertools.islice(shared, int(one_pass.cardinality())):\n"
        "        train(batch)\n"
    )


_OFF = "options.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF\n"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (_MADE.replace("(data)", "(sets[0])") + _LOOP, 4, "no name of its own"),
        (_MADE + _OFF + _LOOP, 5, "not every worker gets an equal share"),
        (_MADE + "data = read()\n" + _LOOP, 5, "`data` is set again later"),
        ("shared = read()\n" + _LOOP, 3, "experimental_distribute_dataset"),
        (_MADE + "batch = next(iter(shared))\n", 3, "no `for` loop"),
    ],
)
def test_what_is_not_plain_is_left_alone(text: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        repeat_distributed(Script("a.py", text), line)
