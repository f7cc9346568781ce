"""Arrays that TensorFlow keeps for good: functions of the user's that it registered close over
them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType

from unslow.facts.memory import Captured
from unslow.facts.schema import Place
from unslow.record.engine.own_attributes import attribute, attribute_values
from unslow.record.engine.safe_inspection import module_names
from unslow.record.probes.memory.arrays import (
    LEAST_HELD,
    arrays_among,
    closure_of,
    described,
    owner_of,
)

_MOST_REGISTERED = 2000
_MOST_BEHIND = 60  # objects between a function that TensorFlow registers and the user's own


def captured_by_functions(is_users: Callable[[CodeType], bool]) -> Iterator[Captured]:
    """What functions of the user's close over that TensorFlow has registered: it never drops them.

    The registry is private: seen on 2.15 to 2.21; without it nothing is reported.
    """
    script_ops = module_names(sys.modules.get("tensorflow.python.ops.script_ops"))
    registered = attribute(script_ops.get("_py_funcs"), "_funcs")
    references = list(attribute(registered, "data", {}).values())[:_MOST_REGISTERED]
    found: dict[int, FunctionType] = {}
    for reference in references:
        for function in _functions_behind(reference(), is_users):
            found[id(function)] = function
    places: dict[Place, tuple[int, dict[int, float]]] = {}
    for function in found.values():
        code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        number, sizes = places.get(place, (0, {}))
        owners = map(owner_of, arrays_among(value for _, value in closure_of(function)))
        sizes.update({id(each): described(each)[0] for each in owners if each is not None})
        places[place] = (number + 1, sizes)
    for place, (number, sizes) in places.items():
        if sum(sizes.values()) >= LEAST_HELD:
            yield Captured(place=place, functions=number, bytes=sum(sizes.values()))


def _functions_behind(
    start: object, is_users: Callable[[CodeType], bool]
) -> Iterator[FunctionType]:
    """The user's functions behind one of TensorFlow's, through closures and attributes."""
    pending, seen = [start], 0
    while pending and seen < _MOST_BEHIND:
        value = pending.pop()
        seen += 1
        if type(value) is FunctionType:
            if is_users(value.__code__):
                yield value
            else:
                pending += [inner for _, inner in closure_of(value)]
        elif type(value) is MethodType:
            pending += [value.__func__, value.__self__]
        elif str(type(value).__module__).startswith("tensorflow"):
            pending += attribute_values(value)
