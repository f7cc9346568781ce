"""What Python functions make is compared from pass to pass, without TensorFlow."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.record.standins import module, opened
from unslow.facts.data import PythonElements
from unslow.record.engine.start import Recording
from unslow.record.probes.data.fingerprints import comparison, fingerprint

Elements = Iterator[Any]
ROWS = np.random.default_rng(0).normal(size=(40, 3000))


class FuncRegistry:
    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}

    def get(self, token: str, default: object) -> Any:
        return self.functions.get(token, default)

    def __call__(self, token: str, device: object, args: list[Any]) -> Any:
        return self.functions[token](*args)


def _generator(make: Callable[[], Elements]) -> Callable[[Any], Any]:
    """As TensorFlow's from_generator calls it: by the number of a pass."""
    passes: dict[int, Elements] = {}

    def generator_py_func(number: Any) -> list[Any]:
        key = int(number)
        if key not in passes:
            passes[key] = make()
        return [np.asarray(part) for part in next(passes[key])]

    generator_py_func.__module__ = "tensorflow.python.data.ops.from_generator_op"
    return generator_py_func


def _passes(make: Callable[[], Elements], *lengths: int | None) -> PythonElements | None:
    """What is known after passes, of which some are left early."""
    function = _generator(make)
    compared = comparison(function)
    assert compared is not None
    for number, length in enumerate(lengths):
        args = [np.array(number)]
        given = 0
        while length is None or given < length:
            try:
                result = function(*args)
            except StopIteration:
                compared.called(args, None, wall=10**9)
                break
            compared.called(args, result, wall=10**9)
            given += 1
    return compared.answer("g")


def test_a_generator_that_repeats_itself() -> None:
    found = _passes(lambda: ((row, 1) for row in ROWS), None, None)
    size = ROWS.nbytes + 40 * 8
    assert found == PythonElements(
        token="g", generator=True, compared=40, same=True, elements=40, bytes=size
    )


def test_the_same_elements_in_another_order() -> None:
    order = np.random.default_rng(1)
    found = _passes(lambda: ((row,) for row in order.permutation(ROWS)), None, None, None)
    assert found is not None
    assert found.same and found.reordered and found.compared == 80


def test_noise_is_not_the_same() -> None:
    noise = np.random.default_rng(1)
    found = _passes(lambda: ((row + noise.normal(),) for row in ROWS), None, None)
    assert found is not None and not found.same


def test_a_patch_at_a_random_place_is_not_the_same() -> None:
    places = random.Random(0)

    def examples() -> Elements:
        for row in ROWS:
            patched = row.copy()
            place = places.randrange(2900)
            patched[place : place + 100] = 0
            yield (patched,)

    found = _passes(examples, None, None)
    assert found is not None and not found.same


def test_an_element_more_is_not_the_same() -> None:
    lengths = iter((39, 40))
    found = _passes(lambda: ((row,) for row in ROWS[: next(lengths)]), None, None)
    assert found is not None and not found.same


@pytest.mark.parametrize("lengths", [(None,), (None, 20), (20, 20, 20)])
def test_nothing_is_known_of_passes_that_do_not_end(lengths: tuple[int | None, ...]) -> None:
    assert _passes(lambda: ((row,) for row in ROWS), *lengths) is None


def test_the_programs_own_objects_are_not_compared() -> None:
    class Own:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

    def examples() -> Elements:
        yield (np.array([Own(), Own()], dtype=object),)

    assert _passes(examples, None, None) is None


def _called(function: Callable[..., Any], *inputs: Any) -> PythonElements | None:
    compared = comparison(function)
    assert compared is not None
    for given in inputs:
        compared.called([given], function(given), wall=10**9)
    return compared.answer("f")


def test_equal_inputs_give_equal_outputs() -> None:
    paths = [f"{number}.png".encode() for number in range(20)]
    found = _called(lambda path: np.full(900, hash(path)), *paths, *reversed(paths))
    assert found == PythonElements(token="f", compared=20, same=True)
    assert _called(lambda path: np.zeros(9), *paths) is None


def test_equal_inputs_that_give_something_else() -> None:
    noise = np.random.default_rng(0)
    found = _called(lambda row: row + noise.normal(), *ROWS, *ROWS)
    assert found is not None and not found.same


def test_comparing_stops_where_it_costs_more_than_the_function() -> None:
    compared = comparison(lambda row: row)
    assert compared is not None
    calls = 0
    while not compared.done and calls < 100_000:
        compared.called([ROWS], ROWS + calls, wall=0)
        calls += 1
    assert compared.spent < 200e6


def test_shape_and_kind_count() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert fingerprint(zeros) == fingerprint(zeros.copy())
    assert fingerprint(zeros) != fingerprint(zeros.reshape(3, 2))
    assert fingerprint(zeros) != fingerprint(zeros.astype(np.int32))
    assert fingerprint(np.zeros((0, 3)))[1] == 0
    assert fingerprint(np.arange(6).reshape(2, 3).T) != fingerprint(np.arange(6).reshape(3, 2))


def test_the_probe_writes_what_it_compared(tmp_path: Path) -> None:
    recording = Recording(str(tmp_path))
    registry = FuncRegistry()
    registry.functions["g"] = _generator(lambda: ((row,) for row in ROWS))
    scripts = module("tensorflow.python.ops.script_ops", FuncRegistry=FuncRegistry)
    opened(recording, module("tensorflow"), scripts)
    try:
        for number in range(2):
            with pytest.raises(StopIteration):
                while True:
                    registry("g", None, [np.array(number)])
        recording.recorder.signals.tick.send()
    finally:
        recording.end()
    lines = next(tmp_path.glob("*.events")).read_text().splitlines()
    facts = [fact for fact in map(json.loads, lines) if fact.get("k") == "python_elements"]
    assert [(fact["compared"], fact["same"]) for fact in facts] == [(40, True)]
    assert recording.recorder.inspection_times["python_functions"] > 0
