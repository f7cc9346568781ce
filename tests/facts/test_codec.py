"""Facts survive being written and read; what does not fit the schema is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from unslow.facts.codec import Context, Undecodable, decode, encode, readers
from unslow.facts.kinds import all_kinds
from unslow.facts.memory import Gc
from unslow.facts.schema import KINDS, Duration, Fact, FilePath, Moment, Place, Record, Stack


class Part(Record):
    """A part of a fact."""

    name: str
    busy: Duration = 0.0


class Everything(Fact, probe="test"):
    """Every type that a fact can hold."""

    text: str
    number: float = 0.0
    whole: int = 0
    flag: bool = False
    took: Duration = 0.0
    since: Moment = 0.0
    file: FilePath = ""
    place: Place | None = None
    stack: Stack = ()
    parts: tuple[Part, ...] = ()
    pair: tuple[str, int] = ("", 0)
    named: Mapping[str, float] = {}
    either: int | str = 0


KINDS.pop("everything")  # no kind of the product's
CONTEXT = Context(3, 1_000_000_000, lambda path: path.removeprefix("/home/u/"))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "everything", Everything)


def read(**line: Any) -> Fact | None:
    return decode({"k": "everything", "t": 2_500_000_000, "text": "", **line}, CONTEXT)


def test_a_fact_is_read_as_it_was_written_with_units_and_paths_converted() -> None:
    written = Everything(
        text="é\x1b",
        number=0.5,
        whole=7,
        flag=True,
        took=250_000_000,
        since=3_000_000_000,
        file="/home/u/a.py",
        place=Place("/home/u/b.py", 4, "f"),
        stack=(Place("/else/c.py", 5, ""),),
        parts=(Part(name="map", busy=1_000_000_000),),
        pair=("x", 2),
        named={"y": 1.5},
        either="text",
    )
    found = decode(json.loads(encode(written, 2_500_000_000)), CONTEXT)
    assert found == Everything(
        text="é\x1b",
        number=0.5,
        whole=7,
        flag=True,
        took=0.25,
        since=2.0,
        file="a.py",
        place=Place("b.py", 4, "f"),
        stack=(Place("/else/c.py", 5, ""),),
        parts=(Part(name="map", busy=1.0),),
        pair=("x", 2),
        named={"y": 1.5},
        either="text",
        time=1.5,
        process=3,
    )


def test_fields_that_have_their_default_are_not_written() -> None:
    assert json.loads(encode(Everything(text="a"), 5)) == {"k": "everything", "t": 5, "text": "a"}


def test_a_field_that_this_version_does_not_know_is_skipped() -> None:
    assert read(later="x") == Everything(text="", time=1.5, process=3)


def test_a_kind_that_this_version_does_not_know_is_no_fact() -> None:
    assert decode({"k": "of_another_version", "t": 1}, CONTEXT) is None


@pytest.mark.parametrize(
    "line",
    [
        {"whole": "7"},
        {"took_ns": "long"},
        {"stack": [["a.py", 1]]},
        {"stack": "a.py:1"},
        {"parts": [1]},
        {"pair": ["x"]},
        {"named": []},
        {"text": None},
        {"whole": float("inf")},
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_field(
    line: Mapping[str, Any],
) -> None:
    with pytest.raises(Undecodable, match=next(iter(line)).removesuffix("_ns")):
        read(**line)


def test_a_missing_field_without_default_is_refused() -> None:
    with pytest.raises(Undecodable, match="text is missing"):
        decode({"k": "everything", "t": 1}, CONTEXT)


def test_a_fact_is_immutable_and_names_what_does_not_fit() -> None:
    with pytest.raises(AttributeError):
        Gc().generation = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="unknown"):
        Everything(text="", colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing"):
        Everything()  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", list(all_kinds().values()), ids=lambda kind: kind.kind)
def test_every_field_of_every_kind_can_be_read(kind: type[Fact]) -> None:
    assert readers(kind)
    assert kind.__doc__ and kind.probe
