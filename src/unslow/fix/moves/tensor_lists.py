"""Python lists of tensors of fixed length, which a trace unrolls once."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.moves.shapes import is_call, names_in
from unslow.syntax.library import Kind
from unslow.syntax.nodes import FUNCTIONS, NamedFunction
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import bound_in

_DEPTH = 4  # of lists in tuples in results of functions: deeper nests are refused


def always_given_tensors(script: Script, function: NamedFunction, name: str) -> bool:
    """Whether every call of a function gives a parameter a list of as many tensors."""
    given = [value for key, value, _ in script.arguments_given(function) if key == name]
    others = [value for value in given if not is_list_of_tensors(script, value)]
    return bool(given) and all(_is_same_list(script, value) for value in others)


def _is_same_list(script: Script, value: ast.expr) -> bool:
    """Whether a value is one list that is made before the loops around the call."""
    is_list = python_type(script, value) in (PythonType.LIST, PythonType.SEQUENCE)
    return is_list and not bound_around(script, value)


def bound_around(script: Script, value: ast.AST) -> bool:
    """Whether a value is made of names that a loop around it binds again in each turn."""
    names = names_in(value)
    return any(names & bound_in(loop) for loop in script.loops_around(value))


def is_list_of_tensors(script: Script, value: ast.expr) -> bool:
    """Whether a value is a list of tensors (or of tuples of them) whose length never changes."""
    match script.only_value(value) if isinstance(value, ast.Name) else value:
        case ast.ListComp(elt=element, generators=[generator]):
            return _is_fixed(script, generator) and _is_tensors(script, element)
        case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
            return all(_is_tensors(script, part) for part in parts)
    return False


def _is_fixed(script: Script, generator: ast.comprehension) -> bool:
    """Whether a comprehension counts to the same number whenever it runs."""
    match generator:
        case ast.comprehension(iter=ast.Call(args=bounds) as counted, ifs=[]):
            changing = any(bound_around(script, bound) for bound in bounds)
            return is_call(script, counted, "range") and not changing
    return False


def _is_tensors(script: Script, value: ast.expr | None, depth: int = _DEPTH) -> bool:
    if depth == 0:
        return False
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_is_tensors(script, part, depth - 1) for part in parts)
        case ast.expr() if script.kind(value) is Kind.TENSOR:
            return True
        case ast.Call():
            made = script.callee(value)
            own = made is not None and made.source is script
            function = made.node if made is not None and own else None
            returned = list(script.returned(function)) if isinstance(function, FUNCTIONS) else []
            return bool(returned) and all(_is_tensors(script, each, depth - 1) for each in returned)
    return False
