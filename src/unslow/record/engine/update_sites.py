"""The places at which weights are updated, by their owner and the way to them; each has a number."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from unslow.record.engine.frames import column_of
from unslow.record.engine.probe import WRAPPERS
from unslow.record.engine.recorder import Lane, Recorder, clock

_OWNERS_PER_PLACE = 32
_MOST_RECENT = 1000
_DEPTH = 4  # frames that tell one place from another
# What is asked of a frame each time, as deep as its stack goes: the frames further up, and the code of the third, are
# left out, since reading them costs a short step too much.
_PATHS = [
    operator.attrgetter("f_code", "f_lasti", "f_back"),
    operator.attrgetter("f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back"),
    operator.attrgetter(
        "f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back.f_lasti"
    ),
]


class Sites:
    """Numbers each site, and writes it down when it is new."""

    def __init__(self, recorder: Recorder, trains: list[bool]) -> None:
        self._recorder = recorder
        self._trains = trains
        self._next = 0
        self._made = 0  # numbers of owners so far
        self._sweep_at = _MOST_RECENT
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[Any, ...], set[int]] = {}
        self._place_of: dict[int, int] = {}  # site → number of its place, whoever updates there
        self._kept: list[Any] = []  # code objects of sites: an id must not be used again
        self._owners: dict[
            int, tuple[Any, int]
        ] = {}  # by id: who had it when, and its number; ids are used again
        # By the owner's id: its fit, its way to ask a frame, the answer, the site, and the owner.
        self._recent: dict[int, tuple[Any, ...]] = {}

    def clear(self) -> None:
        """What is known so far counts no more; numbers go on."""
        self._numbers.clear()
        self._recent.clear()

    def place_of(self, site: int) -> int:
        return self._place_of.get(site, -1)

    def of(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None) -> int:
        """The number of the site at which `owner` updates, called from `frame`."""
        recent = self._recent.get(id(owner))
        if recent is not None and recent[0] is lane.fit and recent[4]() is owner:
            try:
                if recent[1](frame) == recent[2]:
                    return int(recent[3])
            except AttributeError:  # the stack is not as deep as the last time
                pass
        held, whose = self._owner(owner)
        places: list[Any] = [whose, kind, id(lane.fit)]
        for walk in _near(frame):
            places.append(id(walk.f_code))
            places.append(walk.f_lasti)
        key = tuple(places)
        number = self._numbers.get(key)
        if number is None:
            number = self._new(lane, kind, name, frame, key)
        if frame is not None and len(self._recent) < _MOST_RECENT:
            path = _PATHS[min((len(places) - 5) // 2, 2)]
            self._recent[id(owner)] = (lane.fit, path, path(frame), number, held)
        return number

    def _owner(self, owner: object) -> tuple[Any, int]:
        """A way to the owner that does not keep it alive, and its number."""
        known = self._owners.get(id(owner))
        if known is not None and known[0]() is owner:
            return known
        if len(self._owners) >= self._sweep_at:
            self._owners = {
                key: each for key, each in self._owners.items() if each[0]() is not None
            }
            self._sweep_at = max(_MOST_RECENT, 2 * len(self._owners))
        try:
            held: Any = weakref.ref(owner)
        except TypeError:  # None: a session's updates have no owner
            held = lambda: owner  # noqa: E731
        self._made += 1
        self._owners[id(owner)] = held, self._made
        return held, self._made

    def _new(
        self, lane: Lane, kind: str, name: str, frame: FrameType | None, key: tuple[Any, ...]
    ) -> int:
        place = key[1:]
        owners = self._places.setdefault(place, set())
        owners.add(key[0])
        if (
            len(owners) > _OWNERS_PER_PLACE
        ):  # a new optimizer or function each time: one site for all of them
            key = (-1, *place)
            if key in self._numbers:
                return self._numbers[key]
        number = self._numbers[key] = self._next
        self._next = min(self._next + 1, 65_000)
        self._place_of[number] = hash(place)
        self._kept += [walk.f_code for walk in _near(frame)]
        if lane.fit is not None:
            self._kept.append(lane.fit)
        user = self._recorder.user
        stack = self._recorder.stack(frame, 12)
        loop = None
        for depth, (found, held) in enumerate(user.frames(frame, 12)):
            lines = user.loop_around(found, column_of(held))
            if lines is not None:
                loop = [depth, *lines]
                break
        fit = None if lane.fit is None else lane.fit.get("place")
        self._recorder.line(
            "site",
            clock(),
            id=number,
            kind=kind,
            owner=len(owners),
            name=name,
            stack=stack,
            loop=loop,
            fit=fit,
            thread=lane.thread,
            trains=self._trains[0],
        )
        self._recorder.flush()  # rows say nothing without their site, and they may be all that a killed run leaves
        return number


def _near(frame: FrameType | None) -> Iterator[FrameType]:
    """The next frames, without those of our wrappers: some of these come and go while a training runs."""
    left = _DEPTH
    while frame is not None and left:
        if frame.f_code not in WRAPPERS:
            left -= 1
            yield frame
        frame = frame.f_back
