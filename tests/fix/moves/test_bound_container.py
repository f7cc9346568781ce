"""The moves on a list that only grows."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.bound_container import keep_latest, keep_numbers, keep_tail

LOSSES = "losses = []\nfor batch in data:\n    losses.append(step(batch))\n"


def test_a_scalar_tensor_is_kept_as_a_number() -> None:
    fixed = keep_numbers(Script("a.py", LOSSES + "print(sum(losses) / len(losses))\n"), 3, "losses")
    assert "losses.append(float(step(batch)))" in fixed.text


@pytest.mark.parametrize(
    "use", ["print([loss.numpy() for loss in losses])\n", "print(losses[-1].numpy())\n"]
)
def test_tensors_that_are_used_as_tensors_stay(use: str) -> None:
    with pytest.raises(CannotEdit, match="as tensors"):
        keep_numbers(Script("a.py", LOSSES + use), 3, "losses")


def test_a_list_of_large_tensors_keeps_its_latest() -> None:
    text = "class A:\n    def __init__(self):\n        self.h = []\n\n    def f(self, g):\n        self.h.append(g)\n"
    fixed = keep_latest(Script("a.py", text), 6, "self.h")
    assert (
        "self.h = collections.deque(maxlen=100)" in fixed.text
        and "import collections" in fixed.text
    )


def test_a_list_that_is_read_as_a_whole_stays() -> None:
    with pytest.raises(CannotEdit, match="as a whole"):
        keep_latest(Script("a.py", LOSSES + "tf.stack(losses)\n"), 3, "losses")


_TAIL = (
    "import collections\nclass A:\n    def __init__(self, window=10):\n        self.window = window\n"
    "        self.h = {made}\n\n    def f(self, g):\n        self.h.append(g)\n"
    "        return {read}\na = A()\nshow(a.h[-25:])\n"
)


@pytest.mark.parametrize(
    ("made", "read", "bounded"),
    [
        ("[]", "self.h[-self.window:]", "        self.h.append(g)\n        del self.h[:-25]\n"),
        ("collections.deque()", "list(self.h)[-30:]", "self.h = collections.deque(maxlen=30)\n"),
    ],
)
def test_as_many_are_kept_as_are_read(made: str, read: str, bounded: str) -> None:
    found = keep_tail(Script("a.py", _TAIL.format(made=made, read=read)), 8, "self.h")
    assert found is not None and bounded in found[0].text


@pytest.mark.parametrize("read", ["len(self.h)", "self.h[-g:]", "self.h[3:]", "self.h[-3:-1]"])
def test_a_list_of_which_more_may_be_read_is_not_cut(read: str) -> None:
    assert keep_tail(Script("a.py", _TAIL.format(made="[]", read=read)), 8, "self.h") is None


_LOG = (
    "from collections import defaultdict\nlog = {made}\nfor batch in data:\n"
    "    for name, value in step(batch).items():\n        log[name].append(value)\n"
    "    print(log['loss'][-1])\n"
)


@pytest.mark.parametrize(
    ("made", "bounded"),
    [
        ("defaultdict(list)", "defaultdict(lambda: collections.deque(maxlen=100))"),
        ("{'loss': [], 'maps': []}", "{'loss': [], 'maps': collections.deque(maxlen=100)}"),
    ],
)
def test_a_list_in_a_dictionary_keeps_its_latest(made: str, bounded: str) -> None:
    text = keep_latest(Script("a.py", _LOG.format(made=made)), 5, "log['maps']").text
    assert f"log = {bounded}\n" in text


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("json.dump(log, file)\n", "`log` is used as a whole"),
        ("tf.stack(log['maps'])\n", "used as a whole"),
        ("log['maps'] = []\n", "not made in one place"),
    ],
)
def test_a_dictionary_that_is_used_otherwise_stays(use: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        keep_latest(Script("a.py", _LOG.format(made="defaultdict(list)") + use), 5, "log['maps']")
