"""Python lists of tensors of fixed length, which a trace unrolls once."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.syntax.library import Kind
from unslow.syntax.nodes import FUNCTIONS, NamedFunction, inside
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import bound_in

_DEPTH = 4  # of lists in tuples in results of functions: deeper nests are refused


def always_given_tensors(script: Script, function: NamedFunction, name: str) -> bool:
    """Whether every call of a function gives a parameter a list of as many tensors."""
    given = [value for key, value, _ in script.arguments_given(function) if key == name]
    return bool(given) and all(
        is_list_of_tensors(script, value) or _is_same_list(script, value) for value in given
    )


def _is_same_list(script: Script, value: ast.expr) -> bool:
    """Whether a value is one list that is made before the loops around the call."""
    changing = {name for loop in script.loops_around(value) for name in bound_in(loop)}
    if any(node.id in changing for node in inside(value, ast.Name)):
        return False
    return python_type(script, value) in (PythonType.LIST, PythonType.SEQUENCE)


def is_list_of_tensors(script: Script, value: ast.expr) -> bool:
    """Whether a value is a list of tensors (or of tuples of them) whose length never changes."""
    found = _only_value(script, value) if isinstance(value, ast.Name) else value
    match found:
        case ast.ListComp(elt=element, generators=[generator]):
            return _is_fixed(script, generator) and _is_tensors(script, element)
        case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
            return all(_is_tensors(script, part) for part in parts)
    return False


def _only_value(script: Script, name: ast.Name) -> ast.expr | None:
    bindings: list[Binding] = script.reaching(name)
    return bindings[0].assigned if len(bindings) == 1 else None


def _is_fixed(script: Script, generator: ast.comprehension) -> bool:
    """Whether a comprehension counts to the same number whenever it runs."""
    match generator:
        case ast.comprehension(iter=ast.Call(func=function, args=bounds), ifs=[]):
            pass
        case _:
            return False
    if script.name(function) != "range":
        return False
    changing = {name for loop in script.loops_around(generator.iter) for name in bound_in(loop)}
    return not any(node.id in changing for bound in bounds for node in inside(bound, ast.Name))


def _is_tensors(script: Script, value: ast.expr | None, depth: int = _DEPTH) -> bool:
    if value is None or depth == 0:
        return False
    if isinstance(value, ast.Tuple | ast.List):
        return all(_is_tensors(script, part, depth - 1) for part in value.elts)
    if script.kind(value) is Kind.TENSOR:
        return True
    made = script.callee(value) if isinstance(value, ast.Call) else None
    if made is None or made.source is not script or not isinstance(made.node, FUNCTIONS):
        return False
    returned = list(script.returned(made.node))
    return bool(returned) and all(_is_tensors(script, each, depth - 1) for each in returned)
