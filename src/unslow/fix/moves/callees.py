"""The script's own functions and classes behind its calls, where the source tells which they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.script import Script
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, last_name, parameter_names


def own_function(script: Script, node: ast.Call) -> NamedFunction | None:
    """The script's own function behind a call: by name, as a method of the same class, or as a model's `call`."""
    if isinstance(node.func, ast.Name):
        for binding in script.bindings(node.func.id, node):
            if isinstance(binding.node, NAMED_FUNCTIONS):
                return binding.node
    if (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    ):
        owner = next(
            (parent for parent in script.ancestors(node) if isinstance(parent, ast.ClassDef)), None
        )
        method = _method(owner, node.func.attr)
        if method is not None:
            return method
    made = _class_of(script, node.func)
    return _method(made, "call") or _method(made, "__call__")


def handed_to(function: NamedFunction) -> set[str]:
    """The parameters of a function but `self`: what it does with them, it does with values."""
    return parameter_names(function) - {"self", "cls"}


def arguments(function: NamedFunction, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function with what a call hands them, as far as the call spells it out."""
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] in (["self"], ["cls"]) and not isinstance(node.func, ast.Name):
        del names[0]
    for name, value in zip(names, node.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    yield from (
        (keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None
    )


def _method(owner: ast.ClassDef | None, name: str) -> NamedFunction | None:
    body = owner.body if owner is not None else []
    return next(
        (node for node in body if isinstance(node, NAMED_FUNCTIONS) and node.name == name), None
    )


def _class_of(script: Script, node: ast.expr) -> ast.ClassDef | None:
    """The script's own class whose instance a name or attribute is, where one plain assignment says so."""
    name = last_name(node)
    for assign in script.nodes:
        if (
            isinstance(assign, ast.Assign)
            and any(
                type(target) is type(node) and last_name(target) == name
                for target in assign.targets
            )
            and isinstance(assign.value, ast.Call)
        ):
            return _own_class(script, assign.value.func)
    return None


def _own_class(script: Script, node: ast.expr) -> ast.ClassDef | None:
    if isinstance(node, ast.Name):
        for binding in script.bindings(node.id, node):
            if isinstance(binding.node, ast.ClassDef):
                return binding.node
    return None


def makes_variables(script: Script, node: ast.Call) -> bool:
    """Whether a call makes an instance of the script's own model, layer or module class."""
    made = _own_class(script, node.func)
    bases = [script.name(base) for base in made.bases] if made is not None else []
    return any("keras." in base or base.startswith("tf.") for base in bases)


def is_metric(script: Script, node: ast.expr) -> bool:
    name = last_name(node)
    return any(
        isinstance(assign, ast.Assign)
        and any(last_name(target) == name for target in assign.targets)
        and isinstance(assign.value, ast.Call)
        and "keras.metrics." in script.name(assign.value.func)
        for assign in script.nodes
    )
