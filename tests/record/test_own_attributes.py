"""Reading what an object holds leaves no trace on it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import cached_property

import pytest

from unslow.record.engine.own_attributes import attribute, attribute_values, attributes

READS: tuple[Callable[[object], object], ...] = (
    attributes,
    attribute_values,
    lambda value: attribute(value, "rate"),
    lambda value: attribute(value, "call"),
    lambda value: attribute(value, "missing"),
)
keeps_arrays = pytest.mark.skipif(
    not (3, 11) <= sys.version_info < (3, 13), reason="objects have one dict, always or never"
)


class Base:
    momentum = 0.0
    training = False

    def __init__(self) -> None:
        self.momentum = 0.5

    @property
    def rate(self) -> float:
        raise AssertionError("code of the program ran")

    def call(self) -> None:
        pass


class Optimizer(Base):
    def __init__(self) -> None:
        super().__init__()
        self._rate = 0.1
        self.slots = {"first": [1.0]}

    def build(self) -> None:
        self.never_built = True


class Slotted(Optimizer):
    __slots__ = ("kept", "left_empty")

    def __init__(self) -> None:
        super().__init__()
        self.kept = [1]


class Counts(dict[str, int]):
    def __init__(self) -> None:
        super().__init__(one=1)
        self.total = 1


class Only:
    def __init__(self, held: dict[str, int]) -> None:
        self.held = held


def has_dict(value: object) -> bool:
    """Whether Python made a dict of an object's attributes: the collector finds it then."""
    found = [each for each in gc.get_referents(value) if type(each) is dict]
    return any("momentum" in each for each in found)


@keeps_arrays
@pytest.mark.parametrize("kind", [Optimizer, Slotted])
def test_no_dict_is_made_of_the_attributes(kind: type) -> None:
    value = kind()
    for read in READS:
        read(value)
    assert not has_dict(value)
    vars(value)
    assert has_dict(value)


@pytest.mark.parametrize("is_dict", [False, True])
def test_attributes_are_those_of_the_dict_and_the_slots(is_dict: bool) -> None:
    value = Slotted()
    if is_dict:
        vars(value)
    expected = {"momentum": 0.5, "_rate": 0.1, "slots": {"first": [1.0]}, "kept": [1]}
    assert attributes(value) == expected
    assert sorted(map(str, attribute_values(value))) == sorted(map(str, expected.values()))
    assert [attribute(value, name) for name in expected] == list(expected.values())


def test_an_attribute_that_no_method_sets_is_found() -> None:
    value = Optimizer()
    value.__setattr__("of_the_script", 1)
    assert attributes(value)["of_the_script"] == 1
    assert attribute(value, "of_the_script") == 1
    assert 1 in attribute_values(value)


def test_a_container_may_have_attributes() -> None:
    assert attributes(Counts()) == {"total": 1} and attribute_values(Counts()) == [1]


def test_a_value_that_equals_the_default_of_the_class_is_found() -> None:
    value = Optimizer()
    value.momentum = Base.momentum
    assert attributes(value)["momentum"] is Base.momentum


def test_a_method_of_the_class_is_no_attribute_of_the_object() -> None:
    value = Optimizer()
    assert attribute(value, "call") is None
    assert "call" not in attributes(value)


def test_a_method_in_the_object_is_one_of_its_attributes() -> None:
    value = Optimizer()

    def call() -> None:
        pass

    value.call = call  # type: ignore[method-assign]
    assert attribute(value, "call") is call and attributes(value)["call"] is call


def test_a_cached_property_is_not_computed() -> None:
    class Lazy:
        @cached_property
        def graph(self) -> int:
            raise AssertionError("code of the program ran")

    assert attribute(Lazy(), "graph") is None and attributes(Lazy()) == {}


@pytest.mark.parametrize("held", [{}, {"held": 1}, {"other": 2}])
def test_the_only_attribute_may_be_a_dict(held: dict[str, int]) -> None:
    value = Only(held)
    assert attribute_values(value) == [held] and attributes(value) == {"held": held}


def test_more_names_than_fit_in_one_byte_are_told_apart() -> None:
    lines = "".join(f"  self.name_{number} = {number}\n" for number in range(400))
    scope: dict[str, type] = {}
    exec(f"class Many:\n def __init__(self):\n{lines}", scope)
    value = scope["Many"]()
    assert attributes(value) == {f"name_{number}": number for number in range(400)}
