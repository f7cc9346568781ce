"""A cache that stands in front of the expensive map is moved behind it."""

from __future__ import annotations

import pytest

from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.dataset_cache import (
    cache_after,
    cache_behind,
    repeat_behind_cache,
    shared_by_turns,
)
from unslow.model import Location, Safety


@pytest.mark.parametrize(
    ("source", "line", "fixed"),
    [
        ("ds = f.map(a).cache().map(b).batch(3)\n", 1, "ds = f.map(a).map(b).cache().batch(3)\n"),
        ("ds = ds.cache()\nds = ds.map(b)\n", 2, "ds = ds.map(b)\nds = ds.cache()\n"),
        (
            "ds = ds.cache()\nds = ds.map(b).shuffle(9)\n",
            2,
            "ds = ds.map(b).cache().shuffle(9)\n",
        ),
        ("ds = f.map(a).cache()\nds = ds.map(b)\n", 2, "ds = f.map(a)\nds = ds.map(b).cache()\n"),
        (
            "def data(f):\n    raw = f.map(a).cache()\n    return raw.map(b).batch(3)\n",
            3,
            "def data(f):\n    raw = f.map(a)\n    return raw.map(b).cache().batch(3)\n",
        ),
    ],
    ids=["chain", "statements", "longer chain", "chain above", "returned"],
)
def test_it_moves_in_every_layout(source: str, line: int, fixed: str) -> None:
    edited = cache_behind(Script("a.py", source), line, "Map")
    assert edited is not None
    assert edited.text == fixed


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("ds = f.map(a).map(b)\n", 1),
        ("ds = ds.cache()\nds = ds.shuffle(9)\nds = ds.map(b)\n", 3),
        ("ds = ds.cache().shuffle(9).map(b)\n", 1),
        ("ds = f.cache().map(a).map(b)\n", 1),
        ("raw = f.map(a).cache()\nds = raw.map(b)\nshow(raw)\n", 2),
    ],
    ids=[
        "no cache",
        "a shuffle between",
        "a shuffle in the chain",
        "either of two maps",
        "cached for others too",
    ],
)
def test_other_pipelines_stay(source: str, line: int) -> None:
    assert cache_behind(Script("a.py", source), line, "Map") is None


def test_a_cache_in_a_file_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="an earlier run"):
        cache_behind(Script("a.py", "ds = f.cache('x').map(b)\n"), 1, "Map")


_TURNS = (
    "def means(pictures):\n    for s in range(9):\n        mine = pictures.filter(of(s))\n"
    "        for x in mine.batch(3):\n            add(x)\n\n"
    "means(files.map(read))\n"
)
_STACKS = ((Place("a.py", 4, "means"),), (Place("a.py", 3, "means"),), (Place("a.py", 7, ""),))


def test_what_is_built_before_the_turns_is_shared_by_them() -> None:
    assert shared_by_turns(Script("a.py", _TURNS), 4, _STACKS) == 2


@pytest.mark.parametrize(
    ("old", "new", "stacks"),
    [
        ("add(x)", "break", _STACKS),
        ("add(x)", "return x", _STACKS),
        ("add(x)", "add(x)", _STACKS[:2]),
        ("for s in range(9):", "with open(s):", _STACKS),
    ],
    ids=["ends early", "leaves", "all built in each turn", "no loop around it"],
)
def test_nothing_else_is_shared(old: str, new: str, stacks: tuple[tuple[Place, ...], ...]) -> None:
    assert shared_by_turns(Script("a.py", _TURNS.replace(old, new)), 4, stacks) is None


@pytest.mark.parametrize(
    ("source", "repeat", "cache", "fixed"),
    [
        (
            "ds = f.repeat(E).map(load).cache().batch(8)\n",
            1,
            1,
            "ds = f.map(load).cache().repeat(E).batch(8)\n",
        ),
        (
            "ds = (f\n      .repeat(E)\n      .map(load)\n      .cache()\n      .batch(8))\n",
            2,
            4,
            "ds = (f\n      .map(load)\n      .cache()\n      .repeat(E)\n      .batch(8))\n",
        ),
        (
            "ds = f.repeat(3)\nds = ds.map(load)\nds = ds.cache()\n",
            1,
            3,
            "ds = f\nds = ds.map(load)\nds = ds.cache().repeat(3)\n",
        ),
        (
            "ds = f.map(g)\nds = ds.repeat(3)\ntrain = ds.map(load).cache().batch(8)\n",
            2,
            3,
            "ds = f.map(g)\ntrain = ds.map(load).cache().repeat(3).batch(8)\n",
        ),
    ],
    ids=["chain", "lines", "statements", "a statement of its own"],
)
def test_a_repetition_moves_behind_the_cache(
    source: str, repeat: int, cache: int, fixed: str
) -> None:
    fix = repeat_behind_cache(Script("a.py", source), repeat, cache)
    assert fix.files == {"a.py": fixed} and fix.safety is Safety.EXACT


@pytest.mark.parametrize(
    ("source", "repeat", "cache", "reason"),
    [
        ("ds = f.repeat(3)\nshow(ds)\nds = ds.cache()\n", 1, 3, "one after the other"),
        ("ds = f.repeat(3)\nks = ds.cache()\nshow(ds)\n", 1, 2, "one after the other"),
        ("def a():\n    return f.repeat(3)\nds = a().cache()\n", 2, 3, "one after the other"),
        ("ds = f.repeat(3)\nds = ds.cache().repeat(2)\n", 1, 2, "once more"),
        ("ds = f.repeat(3).cache('x')\n", 1, 1, "in a file"),
        ("ds = f.repeat(3).repeat(2).cache()\n", 1, 1, "once"),
        ("ds = f.repeat(3).cache().repeat(2)\n", 1, 1, "once"),
    ],
)
def test_a_repetition_stays(source: str, repeat: int, cache: int, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        repeat_behind_cache(Script("a.py", source), repeat, cache)


def test_the_cache_stands_behind_the_map_on_the_line() -> None:
    text = "ds = (\n    f.map(load)\n    .shuffle(9)\n    .map(augment)\n    .batch(3)\n)\n"
    fix = cache_after(Script("a.py", text), Location("a.py", 2), "Map", None)
    assert fix is not None
    assert fix.files["a.py"] == text.replace(".map(load)\n", ".map(load)\n    .cache()\n")


_ON_ONE_LINE = (
    "def load(x):\n    return read(x)\n\n"
    "ds = f.map(load).shuffle(9).map(lambda x: noise(x)).batch(3)\n"
)


@pytest.mark.parametrize(
    ("place", "after"),
    [(Place("a.py", 1, "load"), ".map(load)"), (Place("a.py", 4, "<lambda>"), "noise(x))")],
)
def test_of_two_maps_on_one_line_the_function_tells(place: Place, after: str) -> None:
    fix = cache_after(Script("a.py", _ON_ONE_LINE), Location("a.py", 4), "Map", place)
    assert fix is not None
    assert fix.files["a.py"] == _ON_ONE_LINE.replace(after, f"{after}.cache()")


def test_of_two_maps_on_one_line_none_is_chosen_by_chance() -> None:
    script = Script("a.py", _ON_ONE_LINE.replace("load)", "load_all)"))
    with pytest.raises(CannotEdit, match="more than once on this line"):
        cache_after(script, Location("a.py", 4), "Map", Place("a.py", 1, "load"))


def test_the_cache_stands_in_the_chain_on_the_line() -> None:
    text = "ds = zip((\n    a.map(f),\n    b.map(g).batch(3).take(2),\n))\n"
    fix = cache_after(Script("a.py", text), Location("a.py", 2), "Map", None)
    assert fix is not None and "a.map(f).cache(),\n    b.map(g).batch(3)" in fix.files["a.py"]


def test_either_of_two_chains_on_a_line_may_be_meant() -> None:
    script = Script("a.py", "a, b = c.map(f), d.map(g).shuffle(9).batch(3)\n")
    with pytest.raises(CannotEdit, match="more than once on this line"):
        cache_after(script, Location("a.py", 1), "Map", None)


_HELPER = "def mapped(ds, fn):\n    return ds.map(fn)\n\nds = mapped(ds, parse)\n"


def test_a_helper_that_maps_one_function_is_cached() -> None:
    fix = cache_after(Script("a.py", _HELPER), Location("a.py", 2), "Map", None)
    assert fix is not None and "ds.map(fn).cache()" in fix.files["a.py"]


def test_a_helper_that_maps_a_random_function_as_well_is_not_cached() -> None:
    script = Script("a.py", _HELPER + "ds = mapped(ds, augment)\n")
    with pytest.raises(CannotEdit, match="`fn` may be another function in each call"):
        cache_after(script, Location("a.py", 2), "Map", None)
