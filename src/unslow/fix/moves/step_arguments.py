"""Arguments of a compiled function that would cost a trace for each value."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.tensor_lists import is_list_of_tensors
from unslow.syntax.nodes import NamedFunction, inside, is_stored
from unslow.syntax.python_types import PythonType, called_objects, type_in_loops
from unslow.syntax.uses import bound_in

_NUMBERS = (PythonType.INT, PythonType.FLOAT)
_RETRACING = {
    PythonType.INT: "a Python number",
    PythonType.FLOAT: "a Python number",
    PythonType.LIST: "a Python list",
    PythonType.SEQUENCE: "a Python list",
    PythonType.TEXT: "a text",
    PythonType.NUMPY: "a NumPy number",
}


class SeveralObjects(CannotEdit):
    """A function is called with several models or optimizers; each needs its own graph."""


def bound_around(script: Script, value: ast.expr) -> bool:
    """Whether a value is made of names that a loop around it binds again in each turn."""
    names = {node.id for node in inside(value, ast.Name)}
    return any(names & bound_in(loop) for loop in script.loops_around(value))


def one_object_each(script: Script, function: NamedFunction, names: set[str]) -> None:
    """Raises where a function gets a second model: variables are made in one call only."""
    seen: dict[str, str] = {}
    for name, value, site in script.arguments_given(function):
        if name not in names:
            continue
        other = seen.setdefault(name, ast.dump(value)) != ast.dump(value)
        if other or bound_around(script, value):
            reason = f"`{function.name}` is called with more than one `{name}`"
            raise SeveralObjects(reason, script.recorded(site))


def numbers_to_wrap(
    script: Script, function: NamedFunction, body: Sequence[ast.stmt]
) -> dict[str, list[ast.expr]]:
    """Changing numbers that can be tensors, by parameter; raises for others."""
    called, _ = called_objects(body)
    found: dict[str, list[ast.expr]] = {}
    for name, value, site in script.arguments_given(function):
        if name not in called and as_tensor(script, value, name, body, site):
            found.setdefault(name, []).append(value)
    return found


def as_tensor(
    script: Script, value: ast.expr, name: str, body: Sequence[ast.stmt], site: ast.AST
) -> bool:
    """Whether a tensor can replace a changing number in `body`; raises where it cannot."""
    if not bound_around(script, value):
        return False
    kind = type_in_loops(script, value, script.loops_around(value))
    if kind not in _RETRACING or is_list_of_tensors(script, value):
        return False
    if kind is PythonType.TEXT and all(_is_given_on(script, use) for use in reads(body, name)):
        return True
    if kind in _NUMBERS and all(_tensor_will_do(script, use, kind) for use in reads(body, name)):
        return True
    what = _RETRACING[kind]
    raise script.refuse(
        f"`{name}` is {what} that changes from step to step: each value would be traced anew", site
    )


def reads(body: Sequence[ast.stmt], name: str) -> list[ast.Name]:
    return [node for node in inside(body, ast.Name) if node.id == name and not is_stored(node)]


def _is_given_on(script: Script, node: ast.Name) -> bool:
    """Whether a text goes to TensorFlow's own functions as a whole, which take tensors as well."""
    match script.parents[node]:
        case ast.Call(func=function, args=given):
            return node in given and script.name(function).startswith(("tf.io.", "tf.strings."))
    return False


def _tensor_will_do(script: Script, node: ast.Name, kind: PythonType) -> bool:
    """Whether a number is only compared, cast or, if real, computed with."""
    match script.parents[node]:
        case ast.Compare():
            return True
        case ast.Call(func=function):
            return script.name(function) in ("tf.cast", "tf.print")
        case ast.BinOp(op=ast.Mod()) as rest:
            return isinstance(script.parents[rest], ast.Compare)
        case ast.BinOp():
            # A float becomes float32, as it would next to any float32 tensor.
            return kind is PythonType.FLOAT and "float64" not in script.text
    return False
