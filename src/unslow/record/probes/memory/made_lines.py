"""Running totals of what is made at each line of the user's, and how much of it is still alive."""

from __future__ import annotations

import weakref
from functools import partial
from types import FrameType

from unslow.facts.memory import Made
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import local_names
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.steps import Steps

_MOST_PLACES = 1000


class MadeLine:
    """What is made at one of the user's lines."""

    __slots__ = ("amount", "count", "first", "living", "stack", "took", "what", "written")

    def __init__(self, what: str, stack: Stack, first: int) -> None:
        self.what = what
        self.stack = stack
        self.first = first  # steps before the first one was made
        self.count = self.took = self.written = 0
        self.amount = 0.0
        self.living: dict[int, Foreign] = {}  # weak references, by what they refer to


class MadeLines:
    """The totals of all lines."""

    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self._recorder, self._steps = recorder, steps
        self._lines: dict[tuple[Foreign, ...], MadeLine] = {}
        self._kept: list[Foreign] = []  # code objects: an id must not be used again

    def add(
        self, what: str, thing: object, took: int, size: float, frame: FrameType | None
    ) -> MadeLine | None:
        frames = (found for _, found in self._recorder.user.frames(frame))
        held = next((found for found in frames if not _makes_itself(found, thing)), None)
        if held is None:
            return None
        key = (what, id(held.f_code), held.f_lasti)
        made = self._lines.get(key)
        if made is None:
            if len(self._lines) >= _MOST_PLACES:
                return None
            self._kept.append(held.f_code)
            made = self._lines[key] = MadeLine(what, self._recorder.stack(held), self._steps.total)
        made.count += 1
        made.took += took
        made.amount += size
        if self._steps.total:  # before the first step nothing has been made again yet
            made.living[id(thing)] = weakref.ref(thing, partial(made.living.pop, id(thing)))
        return made

    def write(self, is_last: bool) -> None:
        """Running totals of each line, where they have changed by a tenth."""
        for made in list(self._lines.values()):
            is_due = is_last and made.count != made.written
            if is_due or made.count >= made.written * 1.1 + 1:
                made.written = made.count
                fact = Made(
                    what=made.what,
                    count=made.count,
                    took=made.took,
                    amount=made.amount,
                    alive=len(made.living),
                    first=made.first,
                    steps=self._steps.total,
                    stack=made.stack,
                )
                self._recorder.emit(fact)


def _makes_itself(frame: FrameType, thing: object) -> bool:
    """Whether a frame is the thing's own `__init__`: who calls it makes the thing."""
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return False
    return dict(local_names(frame)).get(code.co_varnames[0]) is thing
