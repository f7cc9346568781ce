"""What kind of value an expression gives, as far as the source tells; None always means: it does not tell."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from unslow.fix.edit.script import Script
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import last_name
from unslow.syntax.scopes import Binding

# What is known of a tensor without running anything.
STATIC = frozenset({"shape", "ndim", "dtype", "name"})
_ROUND = frozenset({"len", "int", "round", "random.randint", "random.randrange"})
_LISTS = frozenset({"list", "sorted", "random.sample", "random.choices"})
_FOLDS = frozenset({"min", "max", "abs", "sum"})


def kind(script: Script, node: ast.AST, seen: frozenset[str] = frozenset()) -> str | None:
    """`int`, `float`, `list`, `text` or `numpy` (a NumPy number) for values of Python's own."""
    if isinstance(node, ast.Constant):
        return {int: "int", bool: "int", float: "float", str: "text"}.get(type(node.value))
    if isinstance(node, ast.JoinedStr):
        return "text"
    if isinstance(node, ast.Name):
        return _name_kind(script, node, seen)
    if isinstance(node, ast.UnaryOp):
        return kind(script, node.operand, seen)
    if isinstance(node, ast.BinOp):
        numbers = _joined(kind(script, side, seen) for side in (node.left, node.right))
        return "float" if numbers == "int" and isinstance(node.op, ast.Div) else numbers
    if isinstance(node, ast.IfExp):
        return _joined(kind(script, side, seen) for side in (node.body, node.orelse))
    if isinstance(node, ast.ListComp):
        return "list"
    if isinstance(node, ast.List):
        return (
            "list"
            if node.elts and _joined(kind(script, item, seen) for item in node.elts)
            else None
        )
    return _call_kind(script, node, seen) if isinstance(node, ast.Call) else None


def _joined(kinds: Iterable[str | None]) -> str | None:
    """The kind of what is computed from numbers; None unless all are."""
    found = set(kinds)
    if not found <= {"int", "float", "numpy"}:
        return None
    return next((name for name in ("numpy", "float", "int") if name in found), None)


def _call_kind(script: Script, node: ast.Call, seen: frozenset[str]) -> str | None:
    name = script.name(node.func)
    if name in _ROUND:
        return "int"
    if name in _LISTS or last_name(node.func) == "tolist":
        return "list"
    if name == "str" or last_name(node.func) == "format":
        return "text"
    if name in _FOLDS:
        return _joined(kind(script, argument, seen) for argument in node.args)
    if (
        name == "float"
        or name.startswith(("math.", "time.", "random."))
        or last_name(node.func) == "item"
    ):
        return "float"
    if name.startswith("numpy.") and node.args:
        numbers = _joined(kind(script, argument, seen) for argument in node.args)
        return "numpy" if numbers else None
    return None


def _name_kind(script: Script, node: ast.Name, seen: frozenset[str]) -> str | None:
    bindings = script.bindings(node.id, node)
    if node.id in seen:
        return "int"  # `step = step + 1`: what else goes into it decides
    kinds = {_binding_kind(script, node.id, binding, seen | {node.id}) for binding in bindings}
    if len(kinds) == 1:
        return kinds.pop()
    return _joined(kinds) if kinds else None


def changing_kind(script: Script, node: ast.expr, loops: Sequence[ast.AST]) -> str | None:
    """The kind of a value as the loops around it bind it: what it was before them does not count."""
    if not isinstance(node, ast.Name):
        return kind(script, node)
    inside = {inner for loop in loops for inner in ast.walk(loop)}
    bindings = [item for item in script.bindings(node.id, node) if item.node in inside]
    kinds = {_binding_kind(script, node.id, binding, frozenset({node.id})) for binding in bindings}
    return kinds.pop() if len(kinds) == 1 else _joined(kinds) if kinds else None


def _binding_kind(script: Script, name: str, binding: Binding, seen: frozenset[str]) -> str | None:
    node = binding.node
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        source = script.name(node.iter.func)
        first = (
            node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else None
        )
        if source == "range" and isinstance(node.target, ast.Name):
            return "int"
        counted = source == "enumerate" and isinstance(first, ast.Name) and first.id == name
        return "int" if counted else None
    if isinstance(node, ast.AugAssign):
        number = kind(script, node.value, seen)
        return "float" if number == "int" and isinstance(node.op, ast.Div) else number
    return kind(script, binding.assigned, seen) if binding.assigned is not None else None


def plain(script: Script, node: ast.AST, tensors: set[str]) -> bool:
    """Whether an expression surely needs no tensor's value."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return node.id not in tensors and kind(script, node) is not None
    if isinstance(node, ast.Attribute):
        return node.attr in STATIC or script.name(node).startswith(("numpy.", "math."))
    if isinstance(node, ast.Call):
        name = script.name(node.func)
        if name == "len":
            return True
        known = is_builtin(name) or name.startswith(("numpy.", "math."))
        return known and all(plain(script, part, tensors) for part in (*node.args, *node.keywords))
    if isinstance(node, ast.Subscript | ast.Starred | ast.keyword):
        return plain(script, node.value, tensors)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List | ast.Compare | ast.IfExp):
        return all(
            plain(script, part, tensors)
            for part in ast.iter_child_nodes(node)
            if isinstance(part, ast.expr)
        )
    return False


def objects(statements: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """Names that code calls (or updates weights with), and names whose attributes it uses in any other way."""
    called: set[str] = set()
    used: set[str] = set()
    for node in (inner for top in statements for inner in ast.walk(top)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr not in STATIC
        ):
            strong = node.attr in ("apply_gradients", "apply", "minimize") or node.attr.startswith(
                "trainable_"
            )
            (called if strong else used).add(node.value.id)
    return called, used - called
