"""Whether a value is one of Python's own, and of which type, as far as the source shows."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from unslow.syntax.nodes import (
    dotted,
    inside,
    is_constant,
    is_stored,
    method_of,
    receiver_of,
    words,
)
from unslow.syntax.scopes import Binding, How

if TYPE_CHECKING:
    from unslow.syntax import Source


class PythonType(enum.Enum):
    INT = "int"
    FLOAT = "float"
    NUMPY = "a NumPy number"
    TEXT = "a text"
    LIST = "a Python list"  # of numbers, lists or arrays
    SEQUENCE = "a list of values that may be tensors"
    PLAIN = "a number, list or array"  # surely no tensor, but its type is not known
    ITSELF = "its own earlier value"  # `step = step + 1`: what else goes into it decides


STATIC_ATTRIBUTES = words("shape ndim dtype name")  # known of a tensor without running anything
_NUMBERS = frozenset((PythonType.INT, PythonType.FLOAT, PythonType.NUMPY))
NO_TENSOR = _NUMBERS | {PythonType.LIST, PythonType.PLAIN, PythonType.ITSELF}
_CONSTANTS = {
    int: PythonType.INT,
    bool: PythonType.INT,
    float: PythonType.FLOAT,
    str: PythonType.TEXT,
}
_CALLS = {
    **dict.fromkeys(words("len int round random.randint random.randrange"), PythonType.INT),
    **dict.fromkeys(words("list sorted random.sample random.choices"), PythonType.LIST),
    "float": PythonType.FLOAT,
    "str": PythonType.TEXT,
}
_METHODS = {
    "tolist": PythonType.LIST,
    "format": PythonType.TEXT,
    "item": PythonType.FLOAT,
    "run": PythonType.PLAIN,  # of a session
}
_FOLDS = words("min max abs sum")
_COMPUTES = words("bool range enumerate zip tuple reversed divmod pow")
# Modules that never saw a tensor, by what their functions give.
_MODULES = {
    **dict.fromkeys(words("math time random"), PythonType.FLOAT),
    **dict.fromkeys(words("numpy argparse json statistics"), PythonType.PLAIN),
}
NEVER_TENSORS = ("numpy.", "math.")
_FILLS = words("append extend insert appendleft add update setdefault")

Seen = frozenset[Binding]


def python_type(
    source: Source, node: ast.AST | None, seen: Seen = frozenset()
) -> PythonType | None:
    """The type of a value of Python's own; None always means that it is not known."""
    match node:
        case ast.Constant(value=value):
            return _CONSTANTS.get(type(value))
        case ast.JoinedStr():
            return PythonType.TEXT
        case ast.Name():
            return _of_name(source, node, seen)
        case ast.Attribute():
            return _of_attribute(source, node, seen)
        case ast.Call():
            return _of_call(source, node, seen)
        case ast.expr() | ast.Slice():
            return _of_parts(source, node, seen)
    return None


def _of_parts(source: Source, node: ast.AST, seen: Seen) -> PythonType | None:
    """The type of an expression that is made of others."""
    match node:
        case ast.UnaryOp(operand=operand):
            return python_type(source, operand, seen)
        case ast.BinOp(left=left, op=operator, right=right):
            both = _joined(python_type(source, side, seen) for side in (left, right))
            return _divided(both) if isinstance(operator, ast.Div) else both
        case ast.IfExp(body=body, orelse=orelse):
            return _joined(python_type(source, side, seen) for side in (body, orelse))
        case ast.ListComp(elt=element):
            return _list_of(source, [element], seen)
        case ast.List(elts=elements):
            return _list_of(source, elements, seen)
        case ast.Subscript(value=inner):
            return _plain_if([python_type(source, inner, seen)])
        case ast.Compare() | ast.BoolOp() | ast.Tuple() | ast.Slice():
            return _plain_if(python_type(source, part, seen) for part in expressions(node))
    return None


def is_plain(source: Source, node: ast.AST | None, seen: Seen = frozenset()) -> bool:
    """Whether a value is surely a number, a list or an array and no tensor."""
    return python_type(source, node, seen) in NO_TENSOR


def type_in_loops(source: Source, node: ast.expr, loops: Sequence[ast.AST]) -> PythonType | None:
    """The type of a value as the loops around it bind it."""
    if not isinstance(node, ast.Name):
        return python_type(source, node)
    bindings = source.bindings(node.id, node)
    bound = [item for item in bindings if any(source.within(item.node, loop) for loop in loops)]
    return _of_bindings(source, bound, frozenset())


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    return (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))


def _joined(types: Iterable[PythonType | None]) -> PythonType | None:
    """The type of what is computed from several values; None unless all are known."""
    found = set(types) - {PythonType.ITSELF}
    if not found:
        return PythonType.ITSELF
    if len(found) == 1:
        return found.pop()
    if found <= _NUMBERS:
        return PythonType.NUMPY if PythonType.NUMPY in found else PythonType.FLOAT
    return _plain_if(found)


def _plain_if(types: Iterable[PythonType | None]) -> PythonType | None:
    return PythonType.PLAIN if set(types) <= NO_TENSOR else None


def _divided(found: PythonType | None) -> PythonType | None:
    return PythonType.FLOAT if found is PythonType.INT else found


def _list_of(source: Source, elements: Sequence[ast.expr], seen: Seen) -> PythonType:
    plain = all(is_plain(source, element, seen) for element in elements)
    return PythonType.LIST if plain else PythonType.SEQUENCE


# Names and attributes


def _of_name(source: Source, node: ast.Name, seen: Seen) -> PythonType | None:
    bindings = source.bindings(node.id, node)
    found, inner = _of_bindings(source, bindings, seen), seen.union(bindings)
    holds = found in (PythonType.LIST, PythonType.PLAIN)
    if holds and not all(is_plain(source, part, inner) for part in put_into(source, node.id)):
        return PythonType.SEQUENCE
    return found


def _of_bindings(source: Source, bindings: Sequence[Binding], seen: Seen) -> PythonType | None:
    if not bindings:
        return None
    inner = seen.union(bindings)
    types = [
        PythonType.ITSELF if binding in seen else _of_binding(source, binding, inner)
        for binding in bindings
    ]
    return _joined(types)


def _of_binding(source: Source, binding: Binding, seen: Seen) -> PythonType | None:
    if binding.assigned is not None:
        return python_type(source, binding.assigned, seen)
    match binding.how, binding.node:
        case How.AUGMENT, ast.AugAssign(op=operator):
            found = python_type(source, binding.value, seen)
            return _divided(found) if isinstance(operator, ast.Div) else found
        case How.PARAMETER, ast.arg() as parameter:
            return _of_parameter(source, parameter, seen)
        case How.LOOP, _ if _counts(source, binding):
            return PythonType.INT
        case ((How.LOOP | How.ASSIGN), _):
            return _plain_if([python_type(source, binding.value, seen)])
    return None


def _of_parameter(source: Source, parameter: ast.arg, seen: Seen) -> PythonType | None:
    """The type of what all calls of a function give, in any file of the program."""
    found, given = None, source.given_anywhere(parameter)
    if given:
        if _handles_none(source, parameter):
            given = [(file, value) for file, value in given if not is_constant(value, None)]
        found = _joined(python_type(file, value, seen) for file, value in given)
    return PythonType.PLAIN if found is None and _is_array(source, parameter) else found


def _is_array(source: Source, parameter: ast.arg) -> bool:
    """Whether a function asks a parameter, or what it computes with it, for what no tensor has."""
    for call in inside(source.parents[source.parents[parameter]], ast.Call):
        if method_of(call) != "astype":
            continue
        computed = receiver_of(call)
        while isinstance(computed, ast.BinOp):
            if _holds(source, computed.right, parameter):
                return True
            computed = computed.left
        if _holds(source, computed, parameter):
            return True
    return False


def _holds(source: Source, node: ast.AST | None, parameter: ast.arg) -> bool:
    """Whether a node is a name that only a parameter gives its value."""
    bindings = source.bindings(node.id, node) if isinstance(node, ast.Name) else []
    return [binding.node for binding in bindings] == [parameter]


def _handles_none(source: Source, parameter: ast.arg) -> bool:
    """Whether a function tests a parameter for None, which then takes no part in computations."""
    function = source.parents[source.parents[parameter]]
    for node in inside(function, ast.Compare):
        match node:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()]):
                if name == parameter.arg and is_constant(node.comparators[0], None):
                    return True
    return False


def _counts(source: Source, binding: Binding) -> bool:
    """Whether a loop binds a name to 0, 1, 2, …"""
    if not isinstance(binding.value, ast.Call):
        return False
    counted = (source.name(binding.value.func), binding.path)
    return counted in (("range", ()), ("enumerate", (0,)))


def put_into(source: Source, path: str | None) -> Iterator[ast.expr | None]:
    """What is put into a container of this name or path; None for what is not known."""
    for call in source.every(ast.Call):
        if method_of(call) in _FILLS and dotted(receiver_of(call)) == path:
            yield from call.args
    for item in source.every(ast.Subscript):
        if is_stored(item) and dotted(item.value) == path:
            yield getattr(source.parents[item], "value", None)


def _of_attribute(source: Source, node: ast.Attribute, seen: Seen) -> PythonType | None:
    name = source.name(node)
    if name.startswith(NEVER_TENSORS) or ".flags.FLAGS." in f".{name}":
        return PythonType.PLAIN
    bindings = source.assignments(node)
    if bindings:
        return _of_bindings(source, bindings, seen)
    return None if name else _plain_if([python_type(source, node.value, seen)])


# Calls


def _of_call(source: Source, call: ast.Call, seen: Seen) -> PythonType | None:
    name, method = source.name(call.func), method_of(call)
    if name:
        return _of_library_call(source, call, name, seen)
    if method in _METHODS and (call.args or method != "run"):
        return _METHODS[method]
    receiver = receiver_of(call)
    if receiver is not None:
        return _plain_if([python_type(source, receiver, seen)])
    return _of_returned(source, call, seen)


def _of_library_call(source: Source, call: ast.Call, name: str, seen: Seen) -> PythonType | None:
    made = _CALLS.get(name) or _MODULES.get(name.partition(".")[0])
    if made is None and name not in _FOLDS | _COMPUTES:
        return None
    given = [python_type(source, argument, seen) for argument in call.args]
    if name in _FOLDS:
        return _joined(given)
    if name in _COMPUTES:
        return _plain_if(given)
    if made is PythonType.LIST and _plain_if(given) is None:
        return PythonType.SEQUENCE
    computes_number = name.startswith("numpy.") and given and _joined(given) in _NUMBERS
    return PythonType.NUMPY if computes_number else made


def _of_returned(source: Source, call: ast.Call, seen: Seen) -> PythonType | None:
    found = source.own_function(call)
    if found is None:
        return None
    values = list(source.returned(found))
    return _joined(python_type(source, value, seen) for value in values) if values else None
