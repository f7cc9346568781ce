"""The fast path: calls that one line repeats are only timed, and made into rows later.

After a short step the processor's caches are cold, and recording a call in full takes five times as
long as in a loop of its own. So a call that is like the one before only leaves its two times here.
"""

from __future__ import annotations

import _thread
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import NamedTuple, cast

from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.lanes import Gathered, Lane, clock
from unslow.record.engine.probe import disguise

_NO_LIMIT = 1 << 62


class CallSite(NamedTuple):
    """Where a call comes from. Where the stack ends, the last frame stands for those above it."""

    code: CodeType  # of the calling frame
    instruction: int
    depth: int  # of the frame above it, counted from the wrapper
    above_code: CodeType
    above_instruction: int
    far_depth: int  # of the frame above that one
    far_instruction: int


def call_site(frame: FrameType) -> CallSite:
    """All that is compared for each call: reading more frames would cost a short step too much."""
    above, depth = frame.f_back, 2
    if above is None:
        above, depth = frame, 1
    far, far_depth = above.f_back, depth + 1
    if far is None:
        far, far_depth = above, depth
    return CallSite(
        frame.f_code,
        frame.f_lasti,
        depth,
        above.f_code,
        above.f_lasti,
        far_depth,
        far.f_lasti,
    )


class FastPath:
    """One update that is being repeated, and the times of its calls that are not rows yet."""

    __slots__ = (
        "after",
        "calls",
        "counted",
        "elements",
        "extra",
        "lane",
        "left",
        "limit",
        "matches",
        "note",
        "number",
        "owner",
        "site",
        "stop",
        "times",
        "traces",
    )

    def __init__(self, lane: Lane, owner: object, number: int, site: CallSite) -> None:
        self.lane = lane
        self.owner = weakref.ref(owner)  # what the program drops must not be kept alive here
        self.number = number  # of the update site
        self.site = site
        self.stop: Callable[[], None] = _nothing  # the next call, or this one, is recorded in full
        self.calls = lane.calls  # wrapped calls of the thread up to the last row
        self.elements = 0.0  # numbers in a batch, where all have as many
        self.left = 1  # calls to note before they are made into rows
        self.limit = _NO_LIMIT  # nanoseconds: a call that takes more is not like the others
        self.traces: Foreign = None  # of a tf.function: its traces when the fast path was entered
        # Whether the arguments are the same; called with `left` and the arguments.
        self.matches: Callable[[int, tuple[Foreign, ...], dict[str, Foreign]], bool] | None = None
        self.after: Callable[[], object] | None = None  # called when the fast path is left
        # When each call began and ended, in turn: an odd number of times while one is under way.
        self.times: list[int] = []
        self.note = self.times.append
        # By the number of a call in `times`: what else the thread gathered before it.
        self.extra: dict[int, Gathered] = {}
        # Called with how many calls became rows, their nanoseconds, and those of the last one.
        self.counted: Callable[[int, int, int], None] | None = None

    @property
    def calling(self) -> Foreign:
        """The owner, while one of its calls is under way."""
        return self.owner() if len(self.times) & 1 else None

    @property
    def noted(self) -> int:
        """Calls that are complete and not rows yet."""
        return len(self.times) >> 1

    def gather(self) -> None:
        """More has happened since the last call than this one."""
        lane = self.lane
        lane.elements = max(lane.elements, self.elements)
        self.extra[self.noted] = lane.gathered()
        self.calls = lane.calls

    def take(self) -> tuple[list[int], dict[int, Gathered]]:
        """The times noted so far, without those of a call that is under way."""
        times, extra = self.times[: len(self.times) & ~1], self.extra
        del self.times[: len(times)]  # the list stays: its thread may be about to append to it
        self.extra = {}
        return times, extra


class Departure(NamedTuple):
    """A call that was taken for one more repetition, and was not.

    Its path may be one that another thread entered meanwhile.
    """

    path: FastPath
    owner: Foreign
    args: tuple[Foreign, ...]
    kwargs: dict[str, Foreign]
    result: Foreign
    began: int
    ended: int
    frame: FrameType | None


class Wrapped(NamedTuple):
    """A method to repeat fast: how it is called, and who handles what is not a repetition."""

    original: Function
    plain: Function  # the same without TensorFlow's traceback filter, if it has one
    raised: Callable[[BaseException], object]  # that filter, for an error of `plain`
    in_full: Function  # makes and records a call that is no repetition
    departed: Callable[[Departure], None]  # must not raise
    failed: Callable[[], None]  # a repetition raised
    settle: Callable[[FastPath], None]


def fast_caller(
    wrapped: Wrapped,
) -> tuple[Function, Callable[[FastPath], None]]:
    """A wrapper that takes the fast path where there is one, and the function that gives it one.

    What the wrapper needs of a path is kept in variables of its own: each attribute that is read
    costs, too. Another thread may stop the path at any time, also while this one follows a new
    path: whatever the order, the next call is made in full, or departs at its end.
    """
    plain, raised, departed, failed = (
        wrapped.plain,
        wrapped.raised,
        wrapped.departed,
        wrapped.failed,
    )
    settle, in_full = wrapped.settle, wrapped.in_full
    getframe, ident = sys._getframe, _thread.get_ident
    owner = thread = left = calls = limit = last = depth = above_last = far = far_last = 0
    path = lane = matches = stack = code = above = cast(Foreign, None)
    note = cast(Foreign, _unnoted)

    def stop() -> None:
        nonlocal owner, limit
        owner = 0
        limit = -1  # for a call that is under way

    def follow(entered: FastPath) -> None:
        nonlocal path, lane, owner, thread, stack, note, left, calls, limit, matches
        nonlocal code, last, depth, above, above_last, far, far_last
        entered.stop = stop
        code, last, depth, above, above_last, far, far_last = entered.site
        path, lane, note, limit = entered, entered.lane, entered.note, entered.limit
        thread, stack, matches = lane.thread, lane.stack, entered.matches
        left, calls, owner = entered.left, entered.calls, id(entered.owner())
        if entered.lane.fast_path is not entered:  # left before it could be stopped
            stop()

    def call(self: object, *args: object, **kwargs: object) -> object:
        nonlocal left, calls
        noted = note
        if (
            owner != id(self)
            or thread != ident()
            or stack
            or (matches is not None and not matches(left, args, kwargs))
        ):
            return in_full(self, *args, **kwargs)
        began = clock()
        noted(began)
        try:
            result = plain(self, *args, **kwargs)
        except BaseException as error:
            failed()
            raised(error)
            raise
        now = clock()
        try:
            here, up = getframe(1), getframe(depth)
            alike = (
                here.f_lasti == last
                and up.f_lasti == above_last
                and here.f_code is code
                and up.f_code is above
                and getframe(far).f_lasti == far_last
                and now - began <= limit
                and note is noted
            )
        except ValueError:  # the stack is not as deep
            alike = False
        if not alike:
            departed(Departure(path, self, args, kwargs, result, began, now, getframe().f_back))
            return result
        if lane.calls != calls:
            path.gather()
            calls = path.calls
        noted(now)
        left -= 1
        if not left:
            settle(path)
            left, calls = path.left, path.calls
        return result

    disguise(in_full, wrapped.original)
    return call, follow


def no_path(path: FastPath) -> None:
    """Stands for `follow` where nothing is wrapped yet."""


def _unnoted(at: int) -> None:
    """Notes the time of a call where there is no path."""


def _nothing() -> None:
    """No wrapper follows the path yet."""
