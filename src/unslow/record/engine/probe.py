"""What a probe is, and how calls are wrapped without a trace."""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING

from unslow.record.engine import own_attributes
from unslow.record.engine.fence import Fence, Inspection
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.recorder import Lane, Recorder

if TYPE_CHECKING:
    from unslow.record.engine.live_objects import Living
    from unslow.record.engine.steps import Steps
    from unslow.record.engine.watcher import Watcher

WRAPPERS: set[CodeType] = (
    set()
)  # code of our disguised wrappers: their frames are taken out of tracebacks
Door = Callable[[ModuleType], None]  # called once its module was imported
Doors = dict[str, Door]  # by the module's name
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MISSING = object()


class Probe:
    """Sees one thing. `doors` maps a module's name to the method that wraps it after its import."""

    name = ""

    def __init__(self, recorder: Recorder, steps: Steps, watcher: Watcher) -> None:
        self.recorder = recorder
        self.fence = Fence(recorder, self.name)
        self.steps = steps
        self.watcher = watcher
        self._restore: list[tuple[Foreign, str, Foreign, Foreign]] = []
        self.is_over = False  # everything was put back: what is under way must add nothing

    def doors(self) -> Doors:
        raise NotImplementedError

    def wrapping(self, makers: Mapping[str, Callable[[Foreign], Foreign]]) -> Door:
        """A door that replaces attributes by their names in the module: "BaseSession.run"."""

        def door(module: ModuleType) -> None:
            for path, make in makers.items():
                name, _, attribute = path.rpartition(".")
                owner = operator.attrgetter(name)(module) if name else module
                self.replace(owner, attribute, make)

        return door

    def inspection(self, lane: Lane) -> Inspection:
        """Around work that is no part of the program's step."""
        return Inspection(self.recorder, self.name, lane)

    def inherit(self, living: Living) -> None:
        """Learn what was there before, where the recording began late. Runs on a thread of ours."""

    def replace(self, owner: Foreign, attribute: str, make: Callable[[Foreign], Foreign]) -> None:
        """Put `make(original)` in the place of an attribute; `disarm` puts the original back.

        A call that began before may come here while another thread disarms, or after it.
        """
        if self.is_over:
            return
        held = held_by(owner, attribute)  # a static method must go back as one
        original = getattr(owner, attribute)
        wrapper = make(original)
        functools.update_wrapper(wrapper, original)
        disguise(wrapper, original)
        placed = staticmethod(wrapper) if isinstance(held, staticmethod) else wrapper
        self.place(owner, attribute, held, placed)

    def place(self, owner: Foreign, attribute: str, held: Foreign, placed: Foreign) -> None:
        """Put a wrapper in the place of what an attribute holds."""
        if self.is_over:
            return
        entry = (owner, attribute, held, placed)
        self._restore.append(entry)
        setattr(owner, attribute, placed)
        if self.is_over:
            _put_back(*entry)

    def replaced(self) -> list[tuple[Foreign, str, Foreign, Foreign]]:
        """Owner, attribute, what it held, and what was put in its place."""
        return list(self._restore)

    def spanned(self, owner: Foreign, attribute: str, phase: int) -> None:
        """Count the time inside a call for a phase."""
        self.replace(owner, attribute, lambda original: span(self.recorder, original, phase))

    def unwrap(self, owner: Foreign, attribute: str) -> None:
        """Put one attribute back before the end: all that was to be seen there was seen."""
        for entry in self._entries(attribute, owner=owner):
            self._restore.remove(entry)
            _put_back(*entry)

    def rest(self, *attributes: str) -> None:
        """Suspend wrappers, of whatever owners: one that does nothing costs as much as any."""
        for entry in self._entries(*attributes):
            _put_back(*entry)

    def resume(self, *attributes: str) -> None:
        """Put suspended wrappers in again."""
        for owner, attribute, held, placed in self._entries(*attributes):
            if held_by(owner, attribute) is held:  # nobody wrapped it meanwhile
                setattr(owner, attribute, placed)
                if self.is_over:
                    _put_back(owner, attribute, held, placed)

    def _entries(
        self, *attributes: str, owner: Foreign = None
    ) -> list[tuple[Foreign, str, Foreign, Foreign]]:
        return [
            entry
            for entry in self._restore
            if entry[1] in attributes and (owner is None or owner is entry[0])
        ]

    def disarm(self) -> None:
        self.is_over = True
        for entry in reversed(self._restore):
            _put_back(*entry)
        self._restore.clear()


def held_by(owner: Foreign, name: str) -> Foreign:
    """What a class, a module or an object holds itself, not what it inherits."""
    if isinstance(owner, type | ModuleType):
        return vars(owner).get(name, _MISSING)
    return own_attributes.attribute(owner, name, _MISSING)


def _put_back(owner: Foreign, attribute: str, held: Foreign, placed: Foreign) -> None:
    if held_by(owner, attribute) is not placed:
        return  # someone wrapped it again after us: taking theirs away would break them
    if held is _MISSING:
        delattr(owner, attribute)
    else:
        setattr(owner, attribute, held)


def span(recorder: Recorder, original: Function, phase: int) -> Function:
    local, open_span, close = recorder.local, recorder.open_span, recorder.close_span

    def call(*args: Foreign, **kwargs: Foreign) -> Foreign:
        lane = local.lane
        if lane.tracing or lane.busy:
            return original(*args, **kwargs)
        entry = open_span(lane, phase)
        try:
            return original(*args, **kwargs)
        finally:
            close(lane, entry)

    return call


def disguise(wrapper: Foreign, original: Foreign) -> None:
    """Give a wrapper's code the name and file of what it wraps: TensorFlow's filters drop it."""
    code = getattr(wrapper, "__code__", None)
    if code is None:
        return
    target = _code_of(original)
    if target is not None:
        code = code.replace(
            co_name=target.co_name,
            co_filename=target.co_filename,
            co_firstlineno=target.co_firstlineno,
        )
        wrapper.__code__ = code
    WRAPPERS.add(code)


def _code_of(function: Foreign) -> Foreign:
    """The code of a function or method; of what it wraps where it has none of its own."""
    while function is not None:
        code = getattr(function, "__code__", None)
        code = code or getattr(getattr(function, "__func__", None), "__code__", None)
        if code is not None:
            return code
        function = getattr(function, "__wrapped__", None)
    return None


def clean(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without our wrappers, and without the import machinery above our loader.

    Python hides that machinery by itself, but only where no other loader is in between.
    """
    entries: list[TracebackType] = []
    while trace is not None:
        if _is_ours(trace.tb_frame.f_code):
            while entries and entries[-1].tb_frame.f_code.co_filename.startswith(
                "<frozen importlib"
            ):
                entries.pop()
        else:
            entries.append(trace)
        trace = trace.tb_next
    following: TracebackType | None = None
    for entry in reversed(entries):
        entry.tb_next = following
        following = entry
    return following


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_OURS) or code in WRAPPERS


def clean_exception(error: BaseException | None, depth: int = 0) -> None:
    """The same for an exception and those it came from."""
    if error is None or depth > 20:
        return
    if error.__traceback__ is not None:
        error.__traceback__ = clean(error.__traceback__)
    clean_exception(error.__cause__, depth + 1)
    clean_exception(error.__context__, depth + 1)
    for inner in getattr(error, "exceptions", ()):
        if isinstance(inner, BaseException):
            clean_exception(inner, depth + 1)


def hide_wrappers() -> Callable[[], None]:
    """Take our frames out of every traceback that is printed; returns the undo."""
    import threading
    import traceback

    initialise = traceback.TracebackException.__init__

    def init(
        self: Foreign,
        exc_type: Foreign,
        exc_value: Foreign,
        exc_traceback: Foreign,
        **options: Foreign,
    ) -> None:
        clean_exception(exc_value)
        initialise(self, exc_type, exc_value, clean(exc_traceback), **options)

    undo = [
        *_put_hooks(sys, "excepthook", _cleaning_three),
        *_put_hooks(sys, "unraisablehook", _cleaning_one),
        *_put_hooks(threading, "excepthook", _cleaning_one),
        *(_put_filter(traceback, name) for name in _WALKS if hasattr(traceback, name)),
        _put(traceback.TracebackException, "__init__", init),
    ]

    def undo_all() -> None:
        for take_out in undo:
            take_out()

    return undo_all


def _cleaning_three(shown: Foreign) -> Foreign:
    def hook(kind: Foreign, error: Foreign, trace: Foreign) -> None:
        clean_exception(error)
        shown(kind, error, clean(trace))

    return hook


def _cleaning_one(shown: Foreign) -> Foreign:
    def hook(given: Foreign) -> None:
        clean_exception(given.exc_value)
        shown(given)

    return hook


def _put_hooks(owner: Foreign, name: str, cleaning: Foreign) -> list[Callable[[], None]]:
    """Replace a hook, and Python's own by its other name, which a program's hook often calls."""
    ours = cleaning(getattr(owner, name))
    own = f"__{name}__"
    same = getattr(owner, own) is getattr(owner, name)
    original = ours if same else cleaning(getattr(owner, own))
    return [_put(owner, name, ours), _put(owner, own, original)]


# By which `traceback` goes over the frames of a traceback: until Python 3.10, and since.
_WALKS = ("walk_tb", "_walk_tb_with_full_positions")


def _put_filter(owner: Foreign, name: str) -> Callable[[], None]:
    """Let a function that goes over frames leave out ours.

    Where there are no others, they stay: pytest asks for one frame at a time, and gets one.
    """
    original = getattr(owner, name)

    def without_ours(tb: Foreign) -> Foreign:
        frames = list(original(tb))
        return iter([found for found in frames if not _is_ours(found[0].f_code)] or frames)

    return _put(owner, name, without_ours)


def _put(owner: Foreign, name: str, function: Foreign) -> Callable[[], None]:
    """Replace an attribute; the undo leaves what somebody else put there since."""
    original = getattr(owner, name)
    setattr(owner, name, function)

    def take_out() -> None:
        if getattr(owner, name) is function:
            setattr(owner, name, original)

    return take_out
