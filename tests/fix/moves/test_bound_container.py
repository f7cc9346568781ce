"""The moves on a list that only grows."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.bound_container import (
    bounded_cache,
    keep_latest,
    keep_numbers,
    keep_tail,
)
from unslow.fix.moves.kept_parts import keep_parts

LOSSES = "losses = []\nfor batch in data:\n    losses.append(step(batch))\n"


def test_a_scalar_tensor_is_kept_as_a_number() -> None:
    fixed = keep_numbers(Script("a.py", LOSSES + "print(sum(losses) / len(losses))\n"), 3, "losses")
    assert "losses.append(float(step(batch)))" in fixed.text


@pytest.mark.parametrize("stored", ["losses.append({})", "losses += [{}]", "losses[n] = {}"])
def test_numbers_are_kept_in_whatever_way_they_are_stored(stored: str) -> None:
    text = f"losses = new()\nfor n, x in enumerate(data):\n    {stored.format('x')}\n"
    fixed = keep_numbers(Script("a.py", text), 3, "losses").text
    assert stored.format("float(x)") in fixed


@pytest.mark.parametrize(
    ("read", "number"),
    [
        ("[loss.numpy() for loss in losses]", "[loss for loss in losses]"),
        ("[a.numpy() for a in losses[-9:]]", "[a for a in losses[-9:]]"),
        ("losses[-1].numpy()", "losses[-1]"),
    ],
)
def test_a_number_is_read_without_asking_a_tensor_for_it(read: str, number: str) -> None:
    fixed = keep_numbers(Script("a.py", f"{LOSSES}print({read})\n"), 3, "losses").text
    assert fixed.endswith(f"print({number})\n")


def test_tensors_that_are_used_as_tensors_stay() -> None:
    with pytest.raises(CannotEdit, match="as tensors"):
        keep_numbers(Script("a.py", LOSSES + "print(losses[-1].shape)\n"), 3, "losses")


_NAMED = "log = {{}}\nfor name, x in step():\n    log.setdefault({key}, []).append(x)\n"


def test_numbers_of_a_list_in_a_dictionary() -> None:
    text = _NAMED.format(key="'loss'") + "print(log['loss'][-1].numpy())\n"
    fixed = keep_numbers(Script("a.py", text), 3, "log['loss']").text
    assert "append(float(x))" in fixed and "print(log['loss'][-1])" in fixed
    with pytest.raises(CannotEdit, match="also fills other lists"):
        keep_numbers(Script("a.py", _NAMED.format(key="name")), 3, "log['loss']")


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


@pytest.mark.parametrize("cache", ["functools.cache", "functools.lru_cache(maxsize=None)"])
def test_a_cache_without_a_limit_gets_one(cache: str) -> None:
    text = f"import functools\n\n\n@{cache}\ndef batch_of(step):\n    return draw(step)\n"
    for line in (4, 5):
        fixed = bounded_cache(Script("a.py", text), line).text
        assert "@functools.lru_cache(maxsize=100)\ndef batch_of(step):" in fixed


def test_another_decorator_is_no_cache() -> None:
    with pytest.raises(CannotEdit, match="not cached by a decorator"):
        bounded_cache(Script("a.py", "@kept\ndef f(x):\n    return x\n"), 2)


def test_tensors_that_another_file_asks_for_stay() -> None:
    text = "class A:\n    def add(self, x):\n        self.losses.append(x)\n"
    files = {"a.py": text, "b.py": "print([loss.numpy() for loss in a.losses])\n"}
    with pytest.raises(CannotEdit, match=r"used as tensors in b\.py"):
        keep_numbers(Script("a.py", text, files), 3, "self.losses")


_RESULTS = (
    "ids, results = [], []\nfor picture in pictures:\n    out = net(picture)\n"
    "    ids.append(1)\n    results.append(out)\n    print(len(results))\n"
    "found = [r['score'] for r in results]\nfor one in results:\n    show(one['box'])\n"
)


def test_only_the_keys_that_are_read_are_kept() -> None:
    kept = keep_parts(Script("a.py", _RESULTS), 5, "results")
    assert kept is not None
    script, keys = kept
    assert "    results.append({'score': out['score'], 'box': out['box']})\n" in script.text
    assert keys == ["'score'", "'box'"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("show(one['box'])", "show(one)"),
        ("print(len(results))", "save(results)"),
        ("one['box']", "one[key]"),
        ("append(out)", "append(net(picture))"),
    ],
    ids=["as a whole", "all of them", "by any key", "a value without a name"],
)
def test_parts_that_may_be_read_are_kept(old: str, new: str) -> None:
    assert old in _RESULTS
    assert keep_parts(Script("a.py", _RESULTS.replace(old, new)), 5, "results") is None


def test_a_list_may_begin_beside_another_name() -> None:
    text = "ids, seen = [], []\nfor x in data:\n    seen.append(x)\n    print(seen[-1])\n"
    assert (
        "ids, seen = [], collections.deque(maxlen=100)\n"
        in keep_latest(Script("a.py", text), 3, "seen").text
    )


_PARTS = (
    "kept = []\nfor i in range(9):\n    out = step(i)\n    kept.append(out)\n{body}"
    "print([each['loss'] for each in kept])\n{after}"
)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("    out['loss'] = 0\n", ""),
        ("    out.update(loss=0)\n", ""),
        ("    kept[-1]['rate'] = 3\n", ""),
        ("", "for each in kept:\n    print(each['loss'])\nsend(each)\n"),
    ],
)
def test_an_element_that_is_changed_or_used_otherwise_is_kept_whole(body: str, after: str) -> None:
    script = Script("a.py", _PARTS.format(body=body, after=after))
    assert keep_parts(script, 4, "kept") is None


def test_a_dictionary_of_all_turns_is_kept_whole() -> None:
    text = "out = {}\nkept = []\nfor i in range(9):\n    out['loss'] = i\n    kept.append(out)\n"
    text += "print([each['loss'] for each in kept])\n"
    assert keep_parts(Script("a.py", text), 5, "kept") is None
    anew = text.replace("    out['loss']", "    out = {}\n    out['loss']")
    assert keep_parts(Script("a.py", anew), 6, "kept") is not None


def test_what_only_some_elements_are_asked_for_may_be_missing() -> None:
    read = "print([each['loss'] for each in kept if each['epoch'] % 3])\n"
    found = keep_parts(Script("a.py", _PARTS.format(body="", after=read)), 4, "kept")
    assert found is not None
    assert "{key: out[key] for key in ('loss', 'epoch') if key in out}" in found[0].text


def test_a_tail_that_is_read_backwards_is_no_tail() -> None:
    text = "kept = []\nfor i in range(9):\n    kept.append(step(i))\n    show(kept[-3::-1])\n"
    assert keep_tail(Script("a.py", text), 3, "kept") is None


def test_of_several_containers_on_a_line_the_one_that_grows_is_edited() -> None:
    text = "for i in range(9):\n    rows.append(a(i)); kept.append(b(i))\n"
    assert (
        "rows.append(a(i)); kept.append(float(b(i)))"
        in keep_numbers(Script("a.py", text), 2, "kept").text
    )
    with pytest.raises(CannotEdit, match="fills several containers"):
        keep_numbers(Script("a.py", text), 2, "others")
