"""Python lists of tensors or arrays of fixed length, which a trace unrolls once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.script import Script
from unslow.fix.moves.shapes import is_call, names_in
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    FUNCTIONS,
    NamedFunction,
    dotted,
    inside,
    method_of,
    positional_names,
    receiver_of,
)
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import MUTATORS, bound_in, jumps

_DEPTH = 4  # of lists in tuples in results of functions: deeper nests are refused


def always_given_tensors(script: Script, function: NamedFunction, name: str) -> bool:
    """Whether every call of a function gives a parameter a list of as many tensors."""
    given = [value for key, value, _ in script.arguments_given(function) if key == name]
    others = [value for value in given if not is_list_of_tensors(script, value)]
    if not all(_is_same_list(script, value) for value in others):
        return False
    unpacked = list(_unpacked(script, function, name))
    given += unpacked
    return bool(given) and all(is_list_of_tensors(script, value) for value in unpacked)


def _unpacked(script: Script, function: NamedFunction, name: str) -> Iterator[ast.expr]:
    """What `f(*g(…))` gives for a parameter: a part of the tuple that the other returns."""
    names = positional_names(function)
    if name not in names:
        return
    is_method = script.class_of_method(function) is not None
    place = names.index(name) - (1 if is_method else 0)
    for call in script.possible_calls(function):
        match call.args:
            case [ast.Starred(value=ast.Call() as made)]:
                maker = script.own_function(made)
                results = list(script.returned(maker)) if maker is not None else []
                for result in results or [made]:
                    if isinstance(result, ast.Tuple) and place < len(result.elts):
                        yield result.elts[place]
                    else:
                        yield made


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
        case ast.List(elts=[]) if isinstance(value, ast.Name):
            return _is_filled(script, value)
    return False


def _is_filled(script: Script, name: ast.Name) -> bool:
    """Whether an empty list gets one tensor in each turn of a loop that counts to a number."""
    calls = [call for call in script.every(ast.Call) if method_of(call) in MUTATORS]
    calls = [call for call in calls if dotted(receiver_of(call)) == name.id]
    match [call for call in calls if script.function_of(call) is script.function_of(name)]:
        case [ast.Call(func=ast.Attribute(attr="append"), args=[element]) as fill]:
            statement = script.statement_of(fill)
        case _:
            return False
    match script.loops_around(fill):
        case [ast.For(iter=counted, body=body) as loop] if script.parents[statement] is loop:
            counts = is_call(script, counted, "range") and jumps(body) is None
            is_same = all(_is_constant(script, bound) for bound in inside(counted, ast.Name))
            return counts and is_same and _is_tensors(script, element)
    return False


def _is_constant(script: Script, name: ast.Name) -> bool:
    """Whether a name, or what every call gives for it, is not bound by a loop around it."""
    values: list[ast.expr] = [name]
    for binding in script.bindings(name.id, name):
        if isinstance(binding.node, ast.arg):
            given = script.values_given(binding.node)
            if not given:
                return False
            values += given
    return not any(bound_around(script, value) for value in values)


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
        case ast.expr() if script.kind(value) in (Kind.TENSOR, Kind.ARRAY):
            return True
        case ast.Call(func=ast.Attribute(attr="astype")):
            return True
        case ast.Call():
            made = script.callee(value)
            own = made is not None and made.source is script
            function = made.node if made is not None and own else None
            returned = list(script.returned(function)) if isinstance(function, FUNCTIONS) else []
            return bool(returned) and all(_is_tensors(script, each, depth - 1) for each in returned)
    return False
