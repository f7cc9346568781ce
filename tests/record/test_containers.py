"""How much a container of the user's holds, from its latest elements."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from unslow.record.engine.recorder import clock
from unslow.record.engine.start import Recording
from unslow.record.probes.memory.containers import Memory, _containers, _sizes

BIG = 4_000_000  # bytes of an array of a million numbers


@dataclass
class Rollout:
    observations: Any
    steps: int = 5


@dataclass(slots=True)
class Slotted:
    observations: Any


class Snapshot(NamedTuple):
    step: int
    vectors: Any


class Nested:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Everything:
    """Every class is the user's."""

    def is_users(self, value: Any) -> bool:
        return True

    def may_fill(self, value: Any, attribute: str) -> bool:
        return True


class OfALibrary(Everything):
    """Every class is the user's, and has a base that is not."""

    def may_fill(self, value: Any, attribute: str) -> bool:
        return not attribute.startswith("_")


def array() -> Any:
    return np.zeros(1_000_000, np.float32)


@pytest.mark.parametrize(
    "make",
    [
        array,
        lambda: (array(), 3),
        lambda: {"x": array()},
        lambda: Rollout(array()),
        lambda: Slotted(array()),
        lambda: Snapshot(3, array()),
        lambda: Nested(Rollout(array())),
    ],
    ids=["array", "tuple", "dict", "dataclass", "slots", "named", "nested"],
)
def test_an_element_is_as_large_as_what_it_is_made_of(make: Any) -> None:
    found = _sizes([make() for _ in range(10)])
    assert found.bytes == pytest.approx(10 * BIG, rel=0.01)
    assert "array float32[1000000]" in found.element


def test_what_elements_share_is_not_kept_by_each() -> None:
    shared, whole = array(), array()
    assert _sizes([Nested(shared) for _ in range(10)]).bytes < 10_000
    assert _sizes([whole[start : start + 1000] for start in range(10)]).bytes < 10_000


def test_a_view_keeps_all_of_its_array() -> None:
    assert _sizes([array()[:10] for _ in range(10)]).bytes == pytest.approx(10 * BIG, rel=0.01)


def test_neighbours_that_share_a_part_keep_the_other() -> None:
    states = [array() for _ in range(11)]
    moves = [(states[index], states[index + 1]) for index in range(10)]
    assert _sizes(moves).bytes == pytest.approx(10 * BIG, rel=0.01)


def test_an_object_that_holds_itself_has_an_end() -> None:
    loop = Nested(None)
    loop.inner = loop
    assert _sizes([loop]).bytes < 1000


class Noise:
    @functools.cache  # noqa: B019 - as programs have it
    def draw(self, step: int) -> list[int]:
        return [step]

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def bounded(self, step: int) -> list[int]:
        return [step]


def test_what_a_cache_without_a_limit_keeps_is_found_at_its_function() -> None:
    noise = Noise()
    for step in range(40):
        noise.draw(step)
        noise.bounded(step)
    ((path, kept, maker),) = _containers("noise", noise, set(), Everything(), clock() + 10**9)
    assert path == "draw()" and len(kept) == 40 and maker is not None
    assert maker[:2] == (__file__, "draw")


class GradientTape:
    """Stands for TensorFlow's, which shows nothing of what it holds."""


def test_a_function_is_as_large_as_what_it_closes_over() -> None:
    def kept() -> Any:
        data = array()
        return lambda: data

    found = _sizes([kept() for _ in range(10)])
    assert found.bytes == pytest.approx(10 * BIG, rel=0.01)
    assert found.element == "function over array float32[1000000]"


def test_a_function_over_a_tape_says_so() -> None:
    def kept() -> Any:
        tape, data = GradientTape(), array()
        return lambda: (tape, data)

    assert _sizes([kept()]).element == "function over GradientTape"


class Memo:
    def __init__(self) -> None:
        self._kept = {}
        self.seen = []


@pytest.mark.parametrize(
    ("owners", "paths"),
    [(Everything(), ["memo._kept", "memo.seen"]), (OfALibrary(), ["memo.seen"])],
)
def test_private_attributes_are_the_users_where_no_other_class_may_fill_them(
    owners: Everything, paths: list[str]
) -> None:
    found = _containers("memo", Memo(), set(), owners, clock() + 10**9)
    assert [held.path for held in found] == paths


def test_an_array_over_a_buffer_that_is_no_array_is_as_large_as_itself() -> None:
    assert _sizes([np.frombuffer(bytearray(BIG), np.float32) for _ in range(10)]).bytes > 9 * BIG


def test_growth_that_begins_late_is_inspected_before_the_next_step_is_due(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = next(each for each in recording.arming.probes if isinstance(each, Memory))
    size = 1 << 30
    inspected: list[int] = []
    monkeypatch.setattr(probe, "_walk", lambda frame, total, until: inspected.append(total))
    monkeypatch.setattr("time.thread_time_ns", lambda: 0)  # an inspection costs nothing
    monkeypatch.setattr(probe.watcher, "resident", lambda: size)

    def step(total: int, grown: int) -> None:
        nonlocal size
        probe.watcher.rss = size = (1 << 30) + (grown << 20)
        probe._stepped(recording.recorder.local.lane, total)

    for total in range(100, 120):  # 8 MB a step, up to 152 MB
        step(total, 8 * (total - 100))
    assert inspected == [100, 106, 112, 118]
    for total in range(120, 135):  # what comes and goes is not inspected each time
        step(total, 150 * (total % 2))
    assert inspected == [100, 106, 112, 118]


def test_a_process_that_has_just_grown_rests_less_after_an_inspection(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = next(each for each in recording.arming.probes if isinstance(each, Memory))
    inspected: list[int] = []
    worked = itertools.count(0, 1_000_000)  # each inspection takes a millisecond of work
    now = [0]
    monkeypatch.setattr(probe, "_walk", lambda frame, total, until: inspected.append(total))
    monkeypatch.setattr("time.thread_time_ns", lambda: next(worked))
    monkeypatch.setattr("unslow.record.probes.memory.containers.clock", lambda: now[0])
    monkeypatch.setattr(probe.watcher, "resident", lambda: probe.watcher.rss)

    def step(total: int, milliseconds: int, megabytes: int) -> None:
        now[0] = milliseconds * 1_000_000
        probe.watcher.rss = (1 << 30) + (megabytes << 20)
        probe._stepped(recording.recorder.local.lane, total)

    step(100, 2_000, 0)
    step(200, 4_000, 0)  # nothing grew since
    step(300, 4_500, 0)  # rests for a second
    step(310, 4_510, 100)
    assert inspected == [100, 200, 310]
