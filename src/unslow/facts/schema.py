"""How a kind of fact is declared. Standard library only: probes and causes share these classes.

A fact is an immutable object with typed, keyword-only fields::

    class Reset(Tally, probe="calls"):
        \"\"\"Prepared kernels were thrown away at a line.\"\"\"

        way: str  # set_seed, clear_session or context reset

The field's type decides how a value is converted when a recording is read (see
`unslow.facts.codec`): a `Duration` is an integer of nanoseconds in the user's process and in the
file, and seconds when it is read; a `FilePath`, a `Place` and a `Stack` are made relative to the
run's working directory.

This is not `dataclasses`: sixty generated classes would take 25–70 ms in every recorded process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from unslow.facts.json_object import JsonObject

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        """Python 3.10 has no `typing.dataclass_transform`; only type checkers need it."""
        return lambda kind: kind


Duration = Annotated[float, "nanoseconds in the file, seconds when it is read"]
Moment = Annotated[float, "clock nanoseconds in the file, seconds since the run began when read"]
FilePath = Annotated[str, "absolute in the file, relative to the working directory when it is read"]


class Place(NamedTuple):
    """A line of the user's code, or a function's first line."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Stack = tuple[Place, ...]  # the user's frames only, innermost first


def stack_of(places: Iterable[tuple[str, int, str]]) -> Stack:
    return tuple(Place(*place) for place in places)


KINDS: dict[str, type[Fact]] = {}  # every kind of fact by its name in the file
_MISSING = object()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """An immutable object with typed fields: a fact, or a part of one."""

    FIELDS: ClassVar[JsonObject] = {}  # name → default, or _MISSING where there is none
    DEFAULTS: ClassVar[JsonObject] = {}
    KEYS: ClassVar[Mapping[str, str]] = {}  # field → its key in the file, where they differ
    WRITTEN: ClassVar[Mapping[str, str]] = {}  # the same for every field, filled in

    def __init_subclass__(cls) -> None:
        hints = cls.__annotations__  # texts: every module of this package postpones annotations
        own = [name for name, hint in hints.items() if "ClassVar" not in hint]
        cls.FIELDS = {**cls.FIELDS, **{name: vars(cls).get(name, _MISSING) for name in own}}
        cls.DEFAULTS = {n: value for n, value in cls.FIELDS.items() if value is not _MISSING}
        durations = {n: f"{n}_ns" for n in own if hints[n].startswith("Duration")}
        plain = {name: name for name in own}
        cls.WRITTEN = {**cls.WRITTEN, **plain, **durations, **cls.KEYS}

    def __init__(self, **values: object) -> None:
        attributes = self.__dict__
        attributes.update(self.DEFAULTS)
        attributes.update(values)
        if attributes.keys() != self.FIELDS.keys():
            missing = [name for name in self.FIELDS if name not in attributes]
            unknown = [name for name in attributes if name not in self.FIELDS]
            raise TypeError(f"{type(self).__name__}: missing {missing}, unknown {unknown}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({shown})"

    def replace(self, **values: Any) -> Any:
        """A copy with other values for some fields."""
        return type(self)(**{**vars(self), **values})


class Fact(Record):
    """One thing that a probe saw. Written every time it is emitted."""

    probe: ClassVar[str] = ""  # the probe that emits it: a cause that reads it needs this probe
    kind: ClassVar[str] = ""  # its name in the file: the class name in snake case

    time: float = 0.0  # seconds since the run began; filled in when it is read
    process: int = 0  # index of the process; filled in when it is read

    def __init_subclass__(cls, probe: str = "", kind: str = "") -> None:
        super().__init_subclass__()
        if not probe:
            return  # a base class of several kinds
        cls.probe = probe
        cls.kind = kind or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        KINDS[cls.kind] = cls


class Thinned(Fact):
    """A fact that may recur very often: past a few hundred with one key, only some are written.

    Every one that is written carries the running count and total, so that sums stay exact.
    """

    key: str = ""
    took: Duration = 0.0
    n: int = 1  # facts with this key so far, those that were not written included
    sum: Duration = 0.0  # running total of `took`


class Tally(Fact):
    """Running totals of what happens at one line of the user's, written at growing intervals.

    The last fact of a line holds its total.
    """

    stack: Stack = ()
    count: int = 0
    took: Duration = 0.0
    amount: float = 0.0  # what the kind says: bytes, rows, numbers
    steps: int = 0  # weight updates so far
