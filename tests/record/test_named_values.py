"""Which of the user's objects are found: by their own names, and where only a library holds them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from unslow.record.engine.start import Recording
from unslow.record.probes.memory.named_values import Named, NamedValues

_LIBRARY = """
class Callbacks:
    def __init__(self, callbacks):
        self.callbacks = list(callbacks)

class Base:
    def __init__(self):
        self._known = []

class Model:
    pass

def fit(callbacks, step, held=None):
    inside = Callbacks(callbacks)
    return step()
"""


@pytest.fixture(scope="module")
def library() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "trainer"}
    exec(compile(_LIBRARY, "/usr/site-packages/trainer.py", "exec"), names)
    return names


class Snapshots:
    def __init__(self) -> None:
        self.history: list[int] = []


class Unnameable(Snapshots):
    def __len__(self) -> int:
        raise AssertionError("the program's own code ran")

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("the program's own code ran")


def seen_in_a_step(recording: Recording) -> Callable[[], list[Named]]:
    names = NamedValues(recording.recorder)
    return lambda: list(names.of(sys._getframe(0)))


def objects(found: list[Named], *kinds: type) -> list[tuple[str, str, type]]:
    return [(scope[0], name, type(value)) for scope, name, value in found if type(value) in kinds]


def test_a_callback_that_only_the_library_holds_is_found(
    recording: Recording, library: dict[str, Any]
) -> None:
    found = library["fit"]([Snapshots()], seen_in_a_step(recording))
    assert objects(found, Snapshots) == [(__file__, "self", Snapshots)]


def test_no_code_of_the_object_runs(recording: Recording, library: dict[str, Any]) -> None:
    found = library["fit"]([Unnameable.__new__(Unnameable)], seen_in_a_step(recording))
    assert objects(found, Unnameable) == [(__file__, "self", Unnameable)]


def test_an_object_of_a_model_is_found_through_its_attributes(
    recording: Recording, library: dict[str, Any]
) -> None:
    def model() -> Any:
        made = library["Model"]()
        made.layers = [Snapshots()]
        return made

    found = library["fit"]([], seen_in_a_step(recording), held=model())
    assert objects(found, Snapshots) == [(__file__, "self", Snapshots)]


def test_a_function_given_to_a_library_is_found_for_what_it_closes_over(
    recording: Recording, library: dict[str, Any]
) -> None:
    def made() -> Any:
        kept: list[int] = []

        def keep(step: int) -> None:
            kept.append(step)

        return keep

    found = library["fit"]([{"on_batch_end": made()}], seen_in_a_step(recording))
    assert [name for _, name, _ in found if name == "keep"] == ["keep"]


def test_of_two_objects_of_one_class_the_first_stands_for_both(
    recording: Recording, library: dict[str, Any]
) -> None:
    found = library["fit"]([Snapshots(), Snapshots()], seen_in_a_step(recording))
    assert len(objects(found, Snapshots)) == 1


def test_a_library_that_holds_much_is_not_searched_to_its_end(
    recording: Recording, library: dict[str, Any]
) -> None:
    def deep() -> Any:
        return [[[] for _ in range(20)] for _ in range(20)]

    found = library["fit"]([deep(), Snapshots()], seen_in_a_step(recording), held=deep())
    assert len(objects(found, Snapshots)) == 1, "the nearest come first"
    found = library["fit"]([deep(), [[Snapshots()]]], seen_in_a_step(recording))
    assert not objects(found, Snapshots)


def test_a_private_attribute_is_the_users_where_their_own_code_names_it(
    recording: Recording, library: dict[str, Any]
) -> None:
    class Own(library["Base"]):  # type: ignore[misc]
        def keep(self, weights: object) -> None:
            self._kept = [weights]

    names, own = NamedValues(recording.recorder), Own()
    assert names.may_fill(own, "_kept") and names.may_fill(own, "history")
    assert not names.may_fill(own, "_known")
