"""Reads the attributes that objects of the program hold, without running any code of their classes
and without making the program slower.

Since 3.11 Python keeps the attributes of an object in an array, and makes a dict of them once
somebody reads its `__dict__`, as `vars` does. On 3.11 and 3.12 every access to such an object takes
longer from then on, for as long as it lives: up to twice as long (measured on 3.11.7 and 3.12.1;
since 3.13 array and dict are one). So attributes are read by their names there, or as the garbage
collector reads them.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from opcode import opmap
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.safe_inspection import container_of
from unslow.record.engine.weak_table import WeakTable

_DICTS_ARE_SLOW = (3, 11) <= sys.version_info < (3, 13)
_HAS_ARRAY = 1 << 4  # in the flags of a class: Py_TPFLAGS_MANAGED_DICT of CPython 3.11 and 3.12
_DEEPEST_CODE = 3  # functions within functions of a class
_MISSING = object()
_STORE, _EXTENDED = opmap["STORE_ATTR"], opmap["EXTENDED_ARG"]

_members: Callable[[type], dict[str, Foreign]] = type.__dict__["__dict__"].__get__
_stored_names: WeakTable[tuple[str, ...]] = WeakTable()  # by class


def attribute(value: Foreign, name: str, default: Foreign = None) -> Foreign:
    """An attribute by its name: the object's own or a plain one of its class, not computed."""
    of_class = _of_class(type(value), name)
    if of_class is _MISSING:
        return _lookup(value, name, default)
    if type(of_class) is MemberDescriptorType:
        return _read_slot(of_class, value, default)
    if _is_descriptor(of_class) and type(of_class) is not FunctionType:
        return own_dict(value).get(name, default)
    found = _lookup(value, name, _MISSING)
    is_method = type(found) is MethodType and found.__self__ is value
    if found is _MISSING or (is_method and found.__func__ is of_class):
        return default
    return found


def attributes(value: object) -> dict[str, Foreign]:
    """The attributes in its dict and its slots, not those that its class computes."""
    return {**_slots(value), **own_dict(value)}


def attribute_values(value: Foreign) -> list[Foreign]:
    """The same without the names, which takes less."""
    listed = _listed(value)
    if listed is None:
        return [*_slots(value).values(), *_dict_of(value).values()]
    *others, last = listed or [None]
    if _is_own_dict(last, value):
        return [*others, *dict.values(last)]
    return listed


def own_dict(value: Foreign) -> dict[str, Foreign]:
    """What an object's own dict holds, or would hold; for reading only."""
    listed = _listed(value)
    found = _named(value, listed) if listed is not None else None
    return _dict_of(value) if found is None else found


def _dict_of(value: object) -> dict[str, Foreign]:
    """An object's own dict by the descriptor of its class; empty where that does not read it.

    TensorFlow wraps dicts of a model in proxies of wrapt: 1.14 raises TypeError, 2.5 asks the dict
    for its attributes, which it has not.
    """
    descriptor = _of_class(type(value), "__dict__")
    if type(descriptor) is not GetSetDescriptorType:
        return {}
    try:
        found: dict[str, Foreign] = descriptor.__get__(value)
    except (TypeError, AttributeError):
        found = {}
    return found


def _slots(value: object) -> dict[str, Foreign]:
    found: dict[str, Foreign] = {}
    for kind in type(value).__mro__:
        for name, member in _members(kind).items():
            if type(member) is MemberDescriptorType and name not in found:
                held = _read_slot(member, value, _MISSING)
                if held is not _MISSING:
                    found[name] = held
    return found


def _read_slot(member: MemberDescriptorType, value: object, default: Foreign) -> Foreign:
    try:
        return member.__get__(value)
    except AttributeError:  # it is empty
        return default


def _listed(value: Foreign) -> list[Foreign] | None:
    """The values in an object's slots and array, or in its slots and then its dict, if it has one.

    None for an object of other classes, such as those derived from list: it has its dict from the
    beginning, or has none.
    """
    kind = type(value)
    if not _DICTS_ARE_SLOW or not kind.__flags__ & _HAS_ARRAY or container_of(value) is not None:
        return None
    listed = gc.get_referents(value)
    # Its class comes next, then what a class in C refers to.
    end = next((place for place, each in enumerate(listed) if each is kind), None)
    return listed[:end] if end is not None else None


def _is_own_dict(last: Foreign, value: Foreign) -> bool:
    """Whether the last of what is listed is an object's dict, not the value of an attribute."""
    if dict not in type(last).__mro__:
        return False
    for name, held in dict.items(last):
        if type(name) is str and _of_class(type(value), name) is _MISSING:
            return _lookup(value, name, _MISSING) is held
    return False


def _named(value: Foreign, listed: list[Foreign]) -> dict[str, Foreign] | None:
    """The values of an object's array by their names.

    None where it has a dict, or an attribute that no method of its class sets.
    """
    kind = type(value)
    unnamed = Counter(map(id, listed))
    unnamed -= Counter(map(id, _slots(value).values()))
    found: dict[str, Foreign] = {}
    defaults: dict[str, Foreign] = {}  # it may have the same value as its class, or none of its own
    for name in _names_stored_by(kind):
        of_class = _of_class(kind, name)
        if _is_descriptor(of_class) and type(of_class) is not FunctionType:
            continue
        held = attribute(value, name, _MISSING)
        if held is of_class:
            defaults[name] = held
        elif held is not _MISSING:
            found[name] = held
            unnamed[id(held)] -= 1
    for name, held in defaults.items():
        if unnamed[id(held)] > 0:
            found[name] = held
            unnamed[id(held)] -= 1
    return None if any(unnamed.values()) else found


def _names_stored_by(kind: type) -> tuple[str, ...]:
    """The names of the attributes that the methods of a class set, of whatever objects."""
    names = _stored_names.get(kind)
    if names is None:
        found: dict[str, None] = {}
        for base in kind.__mro__:
            for member in list(_members(base).values()):
                for code in _codes_of(member):
                    found.update(dict.fromkeys(_names_stored_in(code, _DEEPEST_CODE)))
        names = tuple(found)
        _stored_names.put(kind, names)
    return names


def _codes_of(member: Foreign) -> Iterator[CodeType]:
    """The code of a method, of the functions of a property, and of what they wrap."""
    if type(member) in (staticmethod, classmethod):
        member = member.__func__
    functions = [member.fget, member.fset] if type(member) is property else [member]
    for function in functions:
        while type(function) is FunctionType:
            yield function.__code__
            function = function.__dict__.get("__wrapped__")


def _names_stored_in(code: CodeType, deepest: int) -> Iterator[str]:
    instructions = code.co_code  # pairs of an instruction and its argument
    ops = instructions[::2]
    place = ops.find(_STORE)
    while place >= 0:
        name = instructions[2 * place + 1]
        if place and ops[place - 1] == _EXTENDED:
            name |= instructions[2 * place - 1] << 8
        yield code.co_names[name]
        place = ops.find(_STORE, place + 1)
    for inner in code.co_consts if deepest else ():
        if type(inner) is CodeType:
            yield from _names_stored_in(inner, deepest - 1)


def _of_class(kind: type, name: str) -> Foreign:
    for base in kind.__mro__:
        members = _members(base)
        if name in members:
            return members[name]
    return _MISSING


def _is_descriptor(of_class: object) -> bool:
    return _of_class(type(of_class), "__get__") is not _MISSING


def _lookup(value: object, name: str, default: Foreign) -> Foreign:
    """Python's own way to an attribute, whatever the class does instead."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default
