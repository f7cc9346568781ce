"""Make one array of a tuple of arrays before TensorFlow converts it element by element."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.shapes import is_call, only_binding
from unslow.syntax.nodes import NamedFunction, argument, given_values, inside, of_type, words

_CONVERSIONS = words("tf.convert_to_tensor tf.constant")
_DTYPES = words("tf.float16 tf.float32 tf.float64 tf.int8 tf.int16 tf.int32 tf.int64 tf.uint8")


def stacked(script: Script, line: int) -> Script:
    """`tf.constant(column, tf.float32)` of a column of `zip(*rows)` goes through NumPy.

    The functions that a line calls are searched, and the line itself. TensorFlow converts a tuple
    number by number where the dtypes differ; NumPy copies array by array.
    """
    places = list(_places(script, line))
    if not places:
        raise CannotEdit("the line converts no columns of `zip(*…)`", line)
    numpy, splices = spelling(script, "numpy", places[0])
    for call in places:
        value, dtype = argument(call, "value", 0), argument(call, "dtype", 1)
        assert value is not None and dtype is not None
        name = script.name(dtype).rpartition(".")[2]
        array = f"{numpy}.asarray({script.source(value)}, {numpy}.{name})"
        splices.append(replaced(script, call, f"{script.source(call.func)}({array})"))
    return script.edit(splices)


def _places(script: Script, line: int) -> Iterator[ast.Call]:
    """The conversions of columns at a line and in the functions that it calls."""
    calls = script.calls_at(line)
    functions = dict.fromkeys(script.own_function(call) for call in calls)
    bodies: list[ast.AST] = [*calls]
    bodies += [each for each in functions if each is not None and _is_eager(script, each)]
    for call in dict.fromkeys(call for body in bodies for call in inside(body, ast.Call)):
        if is_call(script, call, *_CONVERSIONS) and _converts_column(script, call):
            yield call


def _is_eager(script: Script, function: NamedFunction) -> bool:
    """Whether NumPy may touch a function's values: neither traced nor differentiated."""
    tapes = (item for item in inside(function, ast.With) if "GradientTape" in ast.unparse(item))
    return script.traces.get(function) is None and next(tapes, None) is None


def _converts_column(script: Script, call: ast.Call) -> bool:
    """Whether a call converts a column, and is given a dtype besides."""
    value, dtype = argument(call, "value", 0), argument(call, "dtype", 1)
    known = script.name(dtype) in _DTYPES and len(given_values(call)) == 2
    return known and value is not None and _is_column(script, value)


def _is_column(script: Script, node: ast.expr) -> bool:
    """Whether a value is surely one of the tuples that `zip(*rows)` gives."""
    match node:
        case ast.Name():
            binding = only_binding(script, node)
            return binding is not None and len(binding.path) == 1 and _zips(binding.value)
        case ast.Attribute(value=ast.Name() as holder):
            # `batch = Transition(*zip(*rows))`
            binding = only_binding(script, holder)
            match binding and binding.assigned:
                case ast.Call(args=[ast.Starred(value=columns)], keywords=[]) as made:
                    return _is_named_tuple(script, made) and _zips(columns)
    return False


def _zips(node: ast.AST | None) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred()], keywords=[]):
            return True
    return False


def _is_named_tuple(script: Script, call: ast.Call) -> bool:
    values = script.possible_values(call.func) if isinstance(call.func, ast.Name) else []
    calls = of_type(values, ast.Call)
    names = [script.name(value.func) for value in calls]
    return bool(names) and all(name.endswith("namedtuple") for name in names)
