"""Arguments of a compiled function that would cost a trace for each value."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.captured_values import called_objects
from unslow.fix.moves.float32 import makes_wide
from unslow.fix.moves.shapes import reads
from unslow.fix.moves.tensor_arguments import use_of_number
from unslow.fix.moves.tensor_lists import bound_around, is_list_of_tensors
from unslow.syntax.nodes import NamedFunction, inside
from unslow.syntax.python_types import PythonType, type_in_loops

_CONVERTIBLE = (PythonType.INT, PythonType.FLOAT, PythonType.TEXT)
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
    _require_own_type(script, value, name, body, site)
    if not bound_around(script, value):
        return False
    kind = type_in_loops(script, value, script.loops_around(value))
    if kind not in _RETRACING or is_list_of_tensors(script, value):
        return False
    will_do = all(_tensor_will_do(script, use, kind, body) for use in reads(body, name))
    if kind in _CONVERTIBLE and will_do:
        return True
    what = _RETRACING[kind]
    raise script.refuse(
        f"`{name}` is {what} that changes from step to step: each value would be traced anew", site
    )


def _require_own_type(
    script: Script, value: ast.expr, name: str, body: Sequence[ast.stmt], site: ast.AST
) -> None:
    """Raises where an array of float64 is computed with, whose type follows that of a tensor.

    A compiled function gets it as a tensor of float64, which meets no other type.
    """
    whole = value
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    made = script.possible_values(whole) if isinstance(whole, ast.Name) else [whole]
    calls = [call for each in made if each is not None for call in inside(each, ast.Call)]
    if not any(makes_wide(script, call) for call in calls):
        return
    for use in reads(body, name):
        match script.parents[use]:
            case ast.BinOp():
                computed = True
            case ast.Call(func=function, args=[_, _, *_]):
                computed = script.name(function).startswith("tf.")
            case _:
                computed = False
        reason = f"`{name}` is an array of float64, which would be a tensor of its own type"
        script.refuse_if(computed, reason, site)


def _tensor_will_do(
    script: Script, node: ast.Name, kind: PythonType, body: Sequence[ast.stmt]
) -> bool:
    """Whether a tensor will do where a number or a text is read.

    A text goes to TensorFlow's own functions as a whole.
    """
    if kind is PythonType.TEXT:
        match script.parents[node]:
            case ast.Call(func=function, args=given):
                return node in given and script.name(function).startswith(("tf.io.", "tf.strings."))
        return False
    use = use_of_number(body, node, ())
    if use in ("computed", "real"):
        # It becomes float32, as it would next to any float32 tensor.
        return kind is PythonType.FLOAT and "float64" not in script.text
    return use != "other"
