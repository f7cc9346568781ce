"""A value that is read in some steps only is fetched in these."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.fetch_when_used import fetch_when_used, summaries_rarely

_LOOP = (
    "for step in range(9):\n    _, l, big = sess.run([train, loss, table], {x: a})\n    total += l\n"
    "    if step % 3 == 0:\n        show(big)\n"
)


def test_it_is_fetched_under_the_condition_that_reads_it() -> None:
    text = fetch_when_used(Script("a.py", _LOOP), 2, [2]).text
    assert "    _, l = sess.run([train, loss], {x: a})\n" in text
    assert "        big = sess.run(table, {x: a})\n        show(big)\n" in text


def test_what_nobody_reads_is_not_fetched() -> None:
    text = fetch_when_used(Script("a.py", _LOOP.replace("show(big)", "show(l)")), 2, [2]).text
    assert "_, l = sess.run([train, loss], {x: a})" in text
    assert "table" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total += l", "total += l + big"),
        ("        show(big)\n", "        show(big)\nprint(big)\n"),
        ("    total += l\n", "    total += l\n    big = big + 1\n"),
        ("[train, loss, table]", "everything"),
    ],
    ids=["read in every step", "read after the loop", "set again", "not written out"],
)
def test_what_may_be_read_elsewhere_stays(old: str, new: str) -> None:
    with pytest.raises(CannotEdit):
        fetch_when_used(Script("a.py", _LOOP.replace(old, new)), 2, [2])


_SUMMARIES = (
    "for step in range(99):\n    _, text = sess.run([train_op, merged], feed_dict=feed)\n"
    "    writer.add_summary(text, step)\n"
)


@pytest.mark.parametrize("line", [2, 3])
def test_summaries_are_fetched_in_the_steps_that_write_them(line: int) -> None:
    text = summaries_rarely(Script("a.py", _SUMMARIES), line, 100).text
    assert "    _ = sess.run(train_op, feed_dict=feed)\n    if step % 100 == 0:\n" in text
    assert "        text = sess.run(merged, feed_dict=feed)\n        writer.add_summary" in text


def test_summaries_that_are_run_alone_are_named() -> None:
    source = _SUMMARIES.replace("_, text = sess.run([train_op, merged]", "text = sess.run(merged")
    with pytest.raises(CannotEdit, match="not fetched together"):
        summaries_rarely(Script("a.py", source), 2, 100)


_STEP = (
    "def step(x, feed):\n    _, n, text = sess.run([train_op, global_step, merged], feed)\n"
    "    writer.add_summary(text, n)\n    return n\nfor x in batches:\n    n = step(x, {a: x})\n"
)


@pytest.mark.parametrize("line", [2, 3])
def test_the_function_of_a_step_counts_with_the_step_that_it_writes(line: int) -> None:
    text = summaries_rarely(Script("a.py", _STEP), line, 100).text
    assert "    _, n = sess.run([train_op, global_step], feed)\n    if n % 100 == 0:\n" in text
    assert "        text = sess.run(merged, feed)\n        writer.add_summary(text, n)\n" in text


def test_a_function_that_no_loop_calls_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="in one place"):
        summaries_rarely(Script("a.py", _STEP.replace("for x in batches", "if x")), 2, 100)
