"""The move that makes float32 of float64: where a script names it, and where NumPy draws or makes it unasked."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.nodes import last_name

# Functions that give float64 unless told otherwise → where their shape may stand (by position or keyword).
# Without a shape they give a single number, which is left alone.
_RANDOM: dict[str, tuple[int, str]] = {
    "normal": (2, "size"),
    "uniform": (2, "size"),
    "exponential": (1, "size"),
    "standard_normal": (0, "size"),
    "random": (0, "size"),
    "random_sample": (0, "size"),
    "rand": (0, ""),
    "randn": (0, ""),
}
_MADE: dict[str, tuple[int, str]] = {
    "zeros": (0, "shape"),
    "ones": (0, "shape"),
    "linspace": (0, ""),
    "eye": (0, ""),
}
_WIDE = ("float64", "double")
_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")


def narrow(script: Script) -> Script:
    """Every float64 that the script itself asks for or makes becomes float32; raises where there is none."""
    found = [
        node
        for node in ast.walk(script.tree)
        if isinstance(node, ast.Call) and _makes_wide(script, node)
    ]
    outer = [
        node for node in found if not any(parent in found for parent in script.ancestors(node))
    ]
    edits = [replaced(script, node, f'{script.source(node)}.astype("float32")') for node in outer]
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Attribute) and node.attr in _WIDE and _is_dtype(script, node):
            edits.append(replaced(script, node, f"{script.source(node.value)}.float32"))
        elif isinstance(node, ast.Constant) and node.value == "float64":
            edits.append(replaced(script, node, '"float32"'))
    if not edits:
        raise script.refuse(
            "no array on this file's lines is made as float64: it comes from elsewhere"
        )
    return script.edit(edits)


def _is_dtype(script: Script, node: ast.Attribute) -> bool:
    return script.name(node).startswith(("numpy.", "tf."))


def _makes_wide(script: Script, node: ast.Call) -> bool:
    known = _known(script, node.func)
    if known is None or any(keyword.arg in ("dtype", None) for keyword in node.keywords):
        return False
    position, keyword = known
    if len(node.args) <= position and not any(given.arg == keyword for given in node.keywords):
        return False
    return not _cast(script, node)


def _known(script: Script, function: ast.expr) -> tuple[int, str] | None:
    name = last_name(function) or ""
    resolved = script.name(function)
    if resolved.startswith("numpy."):
        return (_RANDOM if resolved.startswith("numpy.random.") else _MADE).get(name)
    if (
        isinstance(function, ast.Attribute)
        and name in _RANDOM
        and _is_generator(script, function.value)
    ):
        return _RANDOM[name]
    return None


def _is_generator(script: Script, node: ast.expr) -> bool:
    """Whether a name or attribute is bound to one of NumPy's generators, everywhere in the script."""
    if isinstance(node, ast.Call):
        return script.name(node.func) in _GENERATORS
    values = [
        found.value
        for found in ast.walk(script.tree)
        if isinstance(found, ast.Assign)
        and any(ast.dump(_read(target)) == ast.dump(node) for target in found.targets)
    ]
    return bool(values) and all(
        isinstance(v, ast.Call) and script.name(v.func) in _GENERATORS for v in values
    )


def _read(target: ast.expr) -> ast.expr:
    """A target of an assignment as it would be read."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return target


def _cast(script: Script, node: ast.expr) -> bool:
    """Whether the array, or the sum or product it is part of, is cast right away."""
    for parent in script.ancestors(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.Attribute) and parent.attr in ("astype", "argmax", "argsort"):
            return True
        if isinstance(parent, ast.Compare):
            return True
    return False
