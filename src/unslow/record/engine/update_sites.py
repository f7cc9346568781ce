"""Numbers the sites at which weights are updated, by their owner and the frames above."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple

from unslow.facts.process import Site
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import column_of
from unslow.record.engine.probe import WRAPPERS
from unslow.record.engine.recorder import Lane, Recorder

_OWNERS_PER_PLACE = 32
_MOST_RECENT = 1000
_MOST_SITES = 65_000  # a row has two bytes for its site
_DEPTH = 4  # frames that tell one place from another
_FRAMES = 12
# What is read of a frame each time, as deep as its stack goes. The frames further up, and the code
# of the third, are left out: reading them would cost a short step too much.
_FRAME_READERS = [
    operator.attrgetter("f_code", "f_lasti", "f_back"),
    operator.attrgetter("f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back"),
    operator.attrgetter(
        "f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back.f_lasti"
    ),
]

Place = tuple[Foreign, ...]  # kind, id of the fit, then code and instruction of each frame


class _Owner(NamedTuple):
    """An optimizer or function that updates weights, held weakly; its number outlives its id."""

    held: Callable[[], object]
    number: int


class _Recent(NamedTuple):
    """The last update of an owner: the same frame again means the same site."""

    fit: Foreign
    read: Callable[[Foreign], object]
    frames: object
    site: int
    held: Callable[[], object]


class Update(NamedTuple):
    """An update as the site that is written for it describes it."""

    kind: str  # function, session, optimizer, assign, …
    owner: object
    name: str
    trains: bool


class Sites:
    """Numbers each site, and writes it down when it is new."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._next = 0
        self._owner_count = 0
        self._sweep_at = _MOST_RECENT
        self._numbers: dict[tuple[int, Place], int] = {}  # by the owner's number and the place
        self._owners_at: dict[Place, set[int]] = {}
        self._place_of: dict[int, int] = {}  # site → number of its place, whoever updates there
        self._kept: list[object] = []  # code objects of sites: an id must not be used again
        self._owners: dict[int, _Owner] = {}  # by id; ids are used again
        self._recent: dict[int, _Recent] = {}  # by the owner's id

    def clear(self) -> None:
        """Forget what is known; numbers go on."""
        self._numbers.clear()
        self._recent.clear()

    def place_of(self, site: int) -> int:
        return self._place_of.get(site, -1)

    def of(self, lane: Lane, update: Update, frame: FrameType | None) -> int:
        """The number of the site of an update that is called from `frame`."""
        owner = update.owner
        recent = self._recent.get(id(owner))
        if recent is not None and recent.fit is lane.fit and recent.held() is owner:
            try:
                if recent.read(frame) == recent.frames:
                    return recent.site
            except AttributeError:  # the stack is not as deep as the last time
                pass
        known = self._known_owner(owner)
        frames = list(_frames_above(frame))
        place: Place = (
            update.kind,
            id(lane.fit),
            *((id(each.f_code), each.f_lasti) for each in frames),
        )
        number = self._numbers.get((known.number, place))
        if number is None:
            number = self._new(lane, update, frame, (known.number, place))
        if frame is not None and len(self._recent) < _MOST_RECENT:
            read = _FRAME_READERS[min(len(frames) - 1, 2)]
            self._recent[id(owner)] = _Recent(lane.fit, read, read(frame), number, known.held)
        return number

    def _known_owner(self, owner: object) -> _Owner:
        known = self._owners.get(id(owner))
        if known is not None and known.held() is owner:
            return known
        if len(self._owners) >= self._sweep_at:
            alive = {key: each for key, each in self._owners.items() if each.held() is not None}
            self._owners = alive
            self._sweep_at = max(_MOST_RECENT, 2 * len(alive))
        try:
            held: Callable[[], object] = weakref.ref(owner)
        except TypeError:  # None: a session's updates have no owner
            held = lambda: owner  # noqa: E731
        self._owner_count += 1
        known = self._owners[id(owner)] = _Owner(held, self._owner_count)
        return known

    def _new(
        self, lane: Lane, update: Update, frame: FrameType | None, key: tuple[int, Place]
    ) -> int:
        owner, place = key
        owners = self._owners_at.setdefault(place, set())
        owners.add(owner)
        if len(owners) > _OWNERS_PER_PLACE:  # a new optimizer or function each time: one site
            key = (-1, place)
            if key in self._numbers:
                return self._numbers[key]
        number = self._numbers[key] = self._next
        self._next = min(self._next + 1, _MOST_SITES)
        self._place_of[number] = hash(place)
        self._kept += [each.f_code for each in _frames_above(frame)]
        if lane.fit is not None:
            self._kept.append(lane.fit)
        self._recorder.emit(
            Site(
                id=number,
                style=update.kind,
                owner=len(owners),
                name=update.name,
                stack=self._recorder.stack(frame, _FRAMES),
                loop=self._loop(frame),
                fit=None if lane.fit is None else lane.fit.get("place"),
                thread=lane.thread,
                trains=update.trains,
            )
        )
        return number

    def _loop(self, frame: FrameType | None) -> tuple[int, int, int] | None:
        """Which of the user's frames is in a loop, and the loop's first and last line."""
        user = self._recorder.user
        for depth, (place, held) in enumerate(user.frames(frame, _FRAMES)):
            lines = user.loop_around(place, column_of(held))
            if lines is not None:
                return depth, *lines
        return None


def _frames_above(frame: FrameType | None) -> Iterator[FrameType]:
    """The next frames without our wrappers', some of which come and go while a training runs."""
    left = _DEPTH
    while frame is not None and left:
        if frame.f_code not in WRAPPERS:
            left -= 1
            yield frame
        frame = frame.f_back
