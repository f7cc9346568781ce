"""What a traced function was called with, in short texts: each leaf of its arguments."""

from __future__ import annotations

import weakref
from collections import Counter

from unslow.facts.schema import Place
from unslow.record.engine.foreign import Foreign

_MOST_LEAVES = 60
_LONGEST = 240
_OBJECTS_KEPT = 2000
_MOST_VARIABLES = 500  # of one graph: enough to tell models apart
_MOST_WRAPPERS = 20
_WRAPPED = ("__wrapped__", "__func__", "func", "_decorated_target")

_objects: dict[int, tuple[weakref.ref[Foreign], int]] = {}
_count = [0]
_family: dict[int, int] = {}  # number of a variable → of the graph that it was first seen with


def code_place(function: Foreign) -> Place:
    """The code behind decorators, partials and bound methods."""
    for _ in range(_MOST_WRAPPERS):
        held = (getattr(function, name, None) for name in _WRAPPED)
        inner = next(filter(None, held), None)
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None:
        return Place("", 0)
    return Place(code.co_filename, code.co_firstlineno, code.co_name)


def describe(function_type: Foreign) -> dict[str, str]:
    """Each leaf of the arguments as a short text: its dtype and shape, or its Python value."""
    leaves: dict[str, str] = {}
    for name, parameter in function_type.parameters.items():
        _leaf(leaves, str(name), getattr(parameter, "type_constraint", None))
    return leaves


def _leaf(leaves: dict[str, str], path: str, kind: Foreign) -> None:
    if len(leaves) >= _MOST_LEAVES:
        return
    name = type(kind).__name__
    if name in ("Tuple", "List"):
        holder: Foreign = getattr(kind, "components_tuple", kind)  # a List holds a Tuple
        components = holder.components
        leaves[path] = f"{name.lower()} of {len(components)}"
        for index, component in enumerate(components):
            _leaf(leaves, f"{path}[{index}]", component)
    elif name in ("Dict", "NamedTuple", "Attrs"):
        mapping = _mapping(kind)
        leaves[path] = f"{'dict' if name == 'Dict' else name.lower()} of {len(mapping)}"
        for key, component in mapping.items():
            _leaf(leaves, f"{path}[{key!r}]" if name == "Dict" else f"{path}.{key}", component)
    else:
        leaves[path] = _text(name, kind)[:_LONGEST]


def _mapping(kind: Foreign) -> dict[Foreign, Foreign]:
    if hasattr(kind, "mapping"):
        return dict(kind.mapping)
    # An attrs class holds what a named tuple is.
    named: Foreign = getattr(kind, "named_attributes", kind)
    return dict(zip(named.attribute_names, named.attributes.components, strict=False))


def weights_of(graph: object) -> str:
    """Which variables a graph reads or writes, in a text that tells most sets of them apart.

    A graph that shares most of its variables with an earlier one has the same text: functions over
    one model are alike, although each may have variables of its own beside.
    """
    variables = list(getattr(graph, "variables", ()))[:_MOST_VARIABLES]
    if not variables:
        return ""
    numbers = [number_of(variable) for variable in variables]
    newest = max(numbers)
    families = Counter(_family.setdefault(number, newest) for number in numbers)
    return f"{len(variables)} from #{families.most_common(1)[0][0]}"


def number_of(value: object) -> int:
    """A number per object: an id is used again once its object is gone."""
    known = _objects.get(id(value))
    if known is not None and known[0]() is value:
        return known[1]
    if len(_objects) > _OBJECTS_KEPT:
        _objects.clear()
        _family.clear()
    _count[0] += 1
    try:
        _objects[id(value)] = (weakref.ref(value), _count[0])
    except TypeError:
        return 0
    return _count[0]


def _text(name: str, kind: Foreign) -> str:
    if name == "Literal":
        return f"{type(kind.value).__name__} {kind.value!r}"
    if name in ("TensorSpec", "TensorType"):
        return f"{kind.dtype.name}[{_shape(kind.shape)}]"
    if name == "Weakref":
        value = kind._ref()
        return f"object {type(value).__name__} #{number_of(value)}"
    if name == "VariableSpec":
        return f"variable {kind.dtype.name}[{_shape(kind.shape)}] #{getattr(kind, 'alias_id', '')}"
    return f"{name} {kind}"


def _shape(shape: Foreign) -> str:
    if shape is None or shape.rank is None:
        return "?"
    return ",".join("?" if size is None else str(size) for size in shape.as_list())
