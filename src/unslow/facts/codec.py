"""Facts to lines of JSON and back: the one place where units and paths are converted.

Encoding runs in the user's process and uses the standard library only. Decoding never trusts a
line: what does not fit the schema raises `Undecodable`, and the caller skips and counts it.
"""

from __future__ import annotations

import json
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from unslow.facts.json_object import JsonObject
from unslow.facts.schema import KINDS, Duration, Fact, FilePath, Moment, Place, Record
from unslow.facts.stored_text import StoredText

Reader = Callable[[object, "Context"], Any]
_ENVELOPE = ("time", "process")  # filled in by the reader, never written
_NANOSECONDS = 1e9
_MOST = 1 << 63  # a larger number is damage: no clock, size or count has it


class Undecodable(ValueError):
    """A line that does not fit the schema; the message names the kind and the field."""


class Context(typing.NamedTuple):
    """What a line needs to be read: whose it is, when the run began, and how paths are shown."""

    process: int
    start: int  # nanoseconds on the process's clock at which the run began
    shown: Callable[[str], str]  # an absolute path as it is shown


def encode(fact: Fact, at: int) -> str:
    """One line of JSON; fields that have their default are left out."""
    return json.dumps({"k": fact.kind, "t": at, **_written(fact)}, default=_plain)


def _written(record: Record) -> JsonObject:
    defaults, keys = record.DEFAULTS, record.WRITTEN
    line: JsonObject = {}
    for name, value in vars(record).items():
        if name in _ENVELOPE or (name in defaults and value == defaults[name]):
            continue
        line[keys[name]] = value
    return line


def _plain(value: object) -> object:
    return _written(value) if isinstance(value, Record) else str(value)


def decode(line: Mapping[str, object], context: Context) -> Fact | None:
    """The fact of a line; None where this version does not know the kind."""
    kind = KINDS.get(str(line.get("k")))
    if kind is None:
        return None
    values = _values(kind, line, context)
    try:
        values["time"] = _moment(line.get("t"), context)
    except (TypeError, ValueError, OverflowError) as problem:
        raise Undecodable(f"{kind.__name__}.t: {problem}") from None
    return kind(**{**values, "process": context.process})


def _values(kind: type[Record], line: Mapping[str, object], context: Context) -> JsonObject:
    """The fields of a line that the schema knows; unknown ones are from another version."""
    values: JsonObject = {}
    for name, read in readers(kind).items():
        written = kind.WRITTEN[name]
        if written not in line:
            if name not in kind.DEFAULTS:
                raise Undecodable(f"{kind.__name__}: {name} is missing")
            continue
        try:
            values[name] = read(line[written], context)
        except (TypeError, ValueError, LookupError, OverflowError) as problem:
            raise Undecodable(f"{kind.__name__}.{name}: {problem}") from None
    return values


_READERS: dict[type, dict[str, Reader]] = {}


def readers(kind: type[Record]) -> dict[str, Reader]:
    """How each field of a kind is read, by its type."""
    if kind in _READERS:
        return _READERS[kind]
    hints: JsonObject = {}
    for base in (base for base in reversed(kind.__mro__) if issubclass(base, Record)):
        names = dict(vars(sys.modules[base.__module__]))
        hints.update({name: eval(hint, names) for name, hint in base.__annotations__.items()})
    fields = [name for name in kind.FIELDS if name not in _ENVELOPE]
    _READERS[kind] = {name: reader(hints[name]) for name in fields}
    return _READERS[kind]


_SIMPLE: dict[object, Reader] = {}


def reader(hint: object) -> Reader:
    """The function that reads a value of a type, which also checks it."""
    simple = _SIMPLE.get(hint) if isinstance(hint, type) or _is_annotated(hint) else None
    if simple is not None:
        return simple
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments[1])
    if origin is typing.Literal:
        return _SIMPLE[str]
    if isinstance(hint, type) and issubclass(hint, Record):
        return lambda value, context: hint(**_values(hint, _object(value), context))
    raise TypeError(f"a fact cannot hold {hint!r}")


def _is_annotated(hint: object) -> bool:
    return typing.get_origin(hint) is Annotated


def _optional(arguments: tuple[object, ...]) -> Reader:
    """A union: None, or the first of its types that takes the value."""
    options = [reader(argument) for argument in arguments if argument is not type(None)]
    nullable = type(None) in arguments

    def read(value: object, context: Context) -> object:
        if value is None and nullable:
            return None
        for option in options[:-1]:
            try:
                return option(value, context)
            except (TypeError, ValueError, LookupError):
                continue
        return options[-1](value, context)

    return read


def _tuple(arguments: tuple[object, ...]) -> Reader:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        each = reader(arguments[0])
        return lambda value, context: tuple(each(item, context) for item in _list(value))
    members = [reader(argument) for argument in arguments]

    def read(value: object, context: Context) -> object:
        items = _list(value)
        if len(items) != len(members):
            raise ValueError(f"{len(items)} values instead of {len(members)}")
        return tuple(member(item, context) for member, item in zip(members, items, strict=True))

    return read


def _mapping(of: object) -> Reader:
    each = reader(of)
    return lambda value, context: {
        str(name): each(item, context) for name, item in _object(value).items()
    }


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _number(value: object, _: Context) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    raise TypeError("not a number")


def _nanoseconds(value: object, context: Context) -> float:
    number = _number(value, context)
    if abs(number) < _MOST:
        return number
    raise ValueError("no time")


def _integer(value: object, context: Context) -> int:
    if isinstance(value, int) and abs(value) < _MOST:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    raise TypeError("not a whole number")


def _flag(value: object, _: Context) -> bool:
    if isinstance(value, bool | int | None):
        return bool(value)
    raise TypeError("not true or false")


def _text(value: object, _: Context) -> str:
    if isinstance(value, str):
        return value
    raise TypeError("not a text")


def _stored(value: object, _: Context) -> StoredText:
    if isinstance(value, StoredText):
        return value
    raise TypeError("not left in its file")


def _moment(value: object, context: Context) -> float:
    return (_nanoseconds(value, context) - context.start) / _NANOSECONDS


def _place(value: object, context: Context) -> Place:
    file, line, function = _list(value)
    return Place(context.shown(_text(file, context)), _integer(line, context), str(function))


_SIMPLE.update(
    {
        float: _number,
        int: _integer,
        bool: _flag,
        str: _text,
        Place: _place,
        StoredText: _stored,
        Duration: lambda value, context: _nanoseconds(value, context) / _NANOSECONDS,
        Moment: _moment,
        FilePath: lambda value, context: context.shown(_text(value, context)),
    }
)
