"""Make float32 of float64, where a script names it and where NumPy makes it by default."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_arguments import call
from unslow.fix.moves.shapes import is_call
from unslow.model import Fix, Safety
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import argument, last_name

# Functions that give float64 unless told otherwise → where their shape may stand (by position or
# keyword).
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
_CASTS = ("astype", "argmax", "argsort")


def narrow(script: Script) -> Script:
    """Every float64 that the script asks for becomes float32; raises where there is none."""
    found = [node for node in script.every(ast.Call) if makes_wide(script, node)]
    outer = [node for node in found if not set(script.ancestors(node)) & set(found)]
    edits = [replaced(script, node, f'{script.source(node)}.astype("float32")') for node in outer]
    for dtype in script.every(ast.Attribute):
        if dtype.attr in _WIDE and script.name(dtype).startswith(("numpy.", "tf.")):
            edits.append(replaced(script, dtype, f"{script.source(dtype.value)}.float32"))
    for text in script.every(ast.Constant):
        if text.value == "float64":
            edits.append(replaced(script, text, '"float32"'))
    script.refuse_if(
        not edits, "no array on this file's lines is made as float64: it comes from elsewhere"
    )
    return script.edit(edits)


def keras_default(script: Script, line: int) -> Fix:
    """`set_floatx` at a line sets float32: changed where the precision is written."""

    def narrowed(literal: Literal[Script]) -> str:
        if literal.value not in _WIDE:
            what = literal.source.source(literal.node)
            raise script.refuse(f"the precision is set from `{what}`, which is not float64", line)
        return '"float32"'

    setting = call(script, line, "set_floatx")
    value = argument(setting, "value", 0)
    if value is None:
        raise script.refuse("the precision is not given on this line", setting)
    fixed = script.with_value(value, narrowed)
    lost = (
        "Numbers then keep 7 digits instead of 16, and the same seed draws other starting weights."
    )
    written = isinstance(value, ast.Constant)
    changed = "" if written else f"The default of `{script.source(value)}` is changed. "
    return Fix("compute in float32, Keras's default", Safety.REVIEW, fixed.files, changed + lost)


def makes_wide(script: Script, node: ast.Call) -> bool:
    """Whether a call makes an array of float64."""
    shape = _shape_argument(script, node.func)
    has_dtype = any(keyword.arg in ("dtype", None) for keyword in node.keywords)
    if shape is None or has_dtype:
        return False
    position, keyword = shape
    given = len(node.args) > position or argument(node, keyword) is not None
    return given and not _is_cast(script, node)


def _shape_argument(script: Script, function: ast.expr) -> tuple[int, str] | None:
    name, resolved = last_name(function), script.name(function)
    if resolved.startswith("numpy.random."):
        return _RANDOM.get(name)
    if resolved.startswith("numpy."):
        return _MADE.get(name)
    drawn = isinstance(function, ast.Attribute) and _is_generator(script, function.value)
    return _RANDOM.get(name) if drawn else None


def _is_generator(script: Script, node: ast.expr) -> bool:
    """Whether every binding of a name or attribute is a NumPy generator."""
    made = [node] if isinstance(node, ast.Call) else script.possible_values(node)
    return bool(made) and all(is_call(script, value, *_GENERATORS) for value in made)


def _is_cast(script: Script, node: ast.expr) -> bool:
    """Whether the array, or the sum or product it is part of, is cast right away."""
    for parent in script.ancestors(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.Compare) or last_name(parent) in _CASTS:
            return True
    return False
