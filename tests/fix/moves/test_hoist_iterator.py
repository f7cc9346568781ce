"""An iterator that a function makes at each call is made once, where its dataset is."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_iterator import iterator_once

_CLASS = (
    "class Source:\n    def __init__(self, data):\n        self.ds = data.shuffle(9)\n"
    "        self.ds = self.ds.batch(3)\n        self.n = 0\n\n"
    "    def batch(self):\n        return next(iter(self.ds))\n"
)


def once(
    source: str, line: int, endless: bool = False, modules: dict[str, str] | None = None
) -> str:
    fix = iterator_once(Script("a.py", source, modules), line, endless, True)
    return fix.files["a.py"]


def test_a_method_takes_the_next_batch_of_its_object() -> None:
    text = once(_CLASS, 8)
    assert "self.ds.batch(3)\n        self.batches = iter(self.ds.repeat())\n" in text
    assert "        return next(self.batches)\n" in text


def test_an_endless_dataset_is_not_repeated_again() -> None:
    assert "self.batches = iter(self.ds)\n" in once(_CLASS, 8, endless=True)


def test_a_method_of_that_name_is_not_hidden() -> None:
    text = once(_CLASS.replace("def batch(", "def batches("), 8)
    assert "return next(self.batches_2)" in text


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        ("\n    def renew(self, d):\n        self.ds = d\n", "set again here"),
        ("\nsource.ds = other\n", "set again here"),
    ],
)
def test_a_dataset_that_may_change_is_left_alone(added: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(_CLASS + added, 8)


def test_a_dataset_that_another_file_sets_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="another file"):
        once(_CLASS, 8, modules={"a.py": _CLASS, "b.py": "source.ds = source.ds.take(3)\n"})


_UNRELATED = (
    "\n\nclass Other:\n    def __init__(self, d):\n        self.n = 0\n        self.ds = d\n"
)


def test_an_unrelated_class_may_set_an_attribute_of_that_name() -> None:
    text = once(_CLASS + _UNRELATED, 8, modules={"a.py": _CLASS, "b.py": _UNRELATED})
    assert "return next(self.batches)" in text


@pytest.mark.parametrize(
    "derived",
    [
        "\nclass Late(Source):\n    def renew(self, d):\n        self.ds = d\n",
        _UNRELATED + "\n\nBoth = Source\nclass Late(Other, Both):\n    pass\n",
    ],
)
def test_a_class_that_shares_objects_may_set_it(derived: str) -> None:
    with pytest.raises(CannotEdit, match="set again here"):
        once(_CLASS + derived, 8)


def test_a_class_of_another_file_that_shares_objects_may_set_it() -> None:
    other = (
        "from a import Source as S\nclass Late(S):\n    def renew(self, d):\n        self.ds = d\n"
    )
    with pytest.raises(CannotEdit, match="another file"):
        once(_CLASS, 8, modules={"a.py": _CLASS, "b.py": other})


def test_a_function_takes_the_next_batch_of_a_dataset_of_the_module() -> None:
    source = "ds = load()\nds = ds.batch(3)\ndef get():\n    return next(iter(ds))\n"
    text = once(source, 4)
    assert text.startswith("ds = load()\nds = ds.batch(3)\nbatches = iter(ds.repeat())\n")
    assert "return next(batches)" in text


_DRAWN = "def get(d):\n    return next(iter(d))\nfor i in range(9):\n    x = {}\n"
_TAKEN = (
    "def run(ds):\n    for i in range(9):\n        for x, y in ds.take(1):\n            step(x)\n{}"
)


def test_a_function_is_handed_the_iterator_of_its_dataset() -> None:
    text = once(_DRAWN.format("get(train)"), 2)
    assert text.startswith("def get(d):\n    return next(d)\nbatches = iter(train.repeat())\nfor")
    assert text.endswith("    x = get(batches)\n")
    both = once(_DRAWN.format("get(train)") + "y = get(test)\n", 2)
    assert "train_batches = iter(train.repeat())\nfor i in range(9):\n" in both
    assert both.endswith("y = get(iter(test))\n")


def test_a_loop_over_the_first_batch_is_none() -> None:
    text = once(_TAKEN.format(""), 3)
    assert "    batches = iter(ds.repeat())\n    for i in range(9):\n" in text
    assert text.endswith("        x, y = next(batches)\n        step(x)\n")


def test_the_first_batch_is_taken_of_all() -> None:
    text = once("for i in range(9):\n    x = next(iter(ds.take(1)))\n", 2)
    assert text == "batches = iter(ds.repeat())\nfor i in range(9):\n    x = next(batches)\n"
    text = once("for i in range(9):\n    x = next(ds.as_numpy_iterator())\n", 2)
    assert text.startswith("batches = ds.repeat().as_numpy_iterator()\n")


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("def get(d):\n    return next(iter(d)), len(d)\nx = get(a)\n", 2, "is given `d` at each"),
        ("def get(d):\n    return next(iter(d))\nmap(get, all)\n", 2, "is given `d` at each call"),
        (_DRAWN.format("get(load(i))"), 2, "`i` changes in the loop"),
        (_TAKEN.format("            return x\n"), 3, "left by a jump"),
        (_TAKEN.format("            break\n"), 3, "left by a jump"),
        ("def get():\n    d = load()\n    return next(iter(d))\n", 3, "makes `d` at each call"),
        ("def get():\n    return next(iter(load()))\n", 2, "makes the dataset at each call"),
        ("for d in all:\n    def get():\n        return next(iter(d))\n", 3, "same at each call"),
    ],
)
def test_the_refusal_names_what_stands_in_the_way(source: str, line: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        once(source, line)


def test_a_function_that_another_file_may_call_is_left_alone() -> None:
    source = _DRAWN.format("get(train)")
    with pytest.raises(CannotEdit, match="in ways that are not known"):
        once(source, 2, modules={"a.py": source, "b.py": "from a import get\nx = get(data)\n"})
