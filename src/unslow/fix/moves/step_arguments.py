"""What a compiled function is handed from call to call: tensors and fixed objects, or values that cost a trace each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.script import Script
from unslow.fix.moves.captured_values import call_sites
from unslow.fix.moves.python_values import changing_kind, objects
from unslow.syntax.nodes import NamedFunction, StatementLoop
from unslow.syntax.uses import uses

_WHAT = {"list": "a Python list", "text": "a text", "numpy": "a NumPy number"}


def bound_in(loop: StatementLoop) -> set[str]:
    """Names that a loop binds anew."""
    target = [] if isinstance(loop, ast.While) else [loop.target]
    return uses([*loop.body, *target]).writes | uses(loop.body).remote


def bound_around(script: Script, value: ast.expr) -> bool:
    """Whether a value is made of names that a loop around it binds anew."""
    loops = script.loops_around(value)
    return any(
        isinstance(node, ast.Name) and node.id in bound_in(loop)
        for loop in loops
        for node in ast.walk(value)
    )


def given(script: Script, function: NamedFunction) -> Iterator[tuple[str, ast.expr, ast.Call]]:
    """What the script's own calls of a function give to which parameter."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(script.parents[function], ast.ClassDef):
        names = names[1:]
    for site in call_sites(script, function):
        pairs = [
            *zip(names, site.args, strict=False),
            *((k.arg, k.value) for k in site.keywords if k.arg),
        ]
        yield from ((name, value, site) for name, value in pairs)


def one_object_each(script: Script, function: NamedFunction, names: set[str]) -> None:
    """A compiled function makes variables on its first call only: raises where it gets a second model or optimizer."""
    seen: dict[str, str] = {}
    for name, value, site in given(script, function):
        if name in names and (
            seen.setdefault(name, ast.dump(value)) != ast.dump(value) or bound_around(script, value)
        ):
            raise script.refuse(f"`{function.name}` is called with more than one `{name}`", site)


def numbers_to_wrap(
    script: Script, function: NamedFunction, body: Sequence[ast.stmt]
) -> dict[str, list[ast.expr]]:
    """The arguments by parameter that are changing numbers and can be tensors instead; raises for others."""
    called, _ = objects(body)
    found: dict[str, list[ast.expr]] = {}
    for name, value, site in given(script, function):
        if name not in called and as_tensor(script, value, name, body, site):
            found.setdefault(name, []).append(value)
    return found


def as_tensor(
    script: Script, value: ast.expr, name: str, body: Sequence[ast.stmt], site: ast.AST
) -> bool:
    """Whether a value is a changing number that a tensor can stand in for in `body`; raises where it can not."""
    if isinstance(value, ast.Constant) or not bound_around(script, value):
        return False
    kind = changing_kind(script, value, script.loops_around(value))
    if kind is None:
        return False
    if kind in ("int", "float") and all(
        _tensor_will_do(script, use, kind) for use in reads(body, name)
    ):
        return True
    what = _WHAT.get(kind, "a Python number")
    raise script.refuse(
        f"`{name}` is {what} that changes from step to step: each value would be traced anew", site
    )


def reads(body: Sequence[ast.stmt], name: str) -> list[ast.Name]:
    return [
        node
        for top in body
        for node in ast.walk(top)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def _tensor_will_do(script: Script, node: ast.Name, kind: str) -> bool:
    """Whether a number is used as a tensor could be: compared, cast or, if it is a real one, computed with."""
    parent = script.parents[node]
    if isinstance(parent, ast.Compare):
        return True
    if isinstance(parent, ast.Call):
        return script.name(parent.func) in ("tf.cast", "tf.print")
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod):
        return isinstance(script.parents[parent], ast.Compare)
    # A float becomes float32, as it would next to any float32 tensor.
    return kind == "float" and isinstance(parent, ast.BinOp) and "float64" not in script.text
