"""Values that are surely numbers, lists or arrays and no tensors, so that a run of a session can be fed with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.script import Script
from unslow.fix.moves.captured_values import call_sites
from unslow.fix.moves.python_values import kind
from unslow.fix.moves.step_arguments import given
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, dotted, last_name

DTYPES = {"float": "float32", "int": "int32"}
_FILLS = frozenset({"append", "extend", "insert", "appendleft", "add", "update", "setdefault"})
_PLAIN = (
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.BoolOp,
    ast.List,
    ast.Tuple,
    ast.Slice,
)
_COMPUTES = frozenset(
    {
        "len",
        "int",
        "float",
        "bool",
        "abs",
        "min",
        "max",
        "sum",
        "round",
        "range",
        "enumerate",
        "zip",
        "list",
        "tuple",
    }
    | {"sorted", "reversed", "divmod", "pow"}
)
# Modules that never saw a tensor: whatever they give is a value of Python's or an array.
_NO_TENSORS = frozenset({"numpy", "math", "random", "time", "argparse", "json", "statistics"})


def no_tensor(script: Script, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a value is surely a number, a list or an array, which a run can be fed with."""
    if node in seen:
        return True  # `rate = rate * 0.9`: what else goes into it decides
    seen |= {node}
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Name):
        bindings = script.bindings(node.id, node)
        plain = bool(bindings) and all(
            _bound_plain(script, node.id, item.node, item.assigned, seen) for item in bindings
        )
        return plain and all(
            part is not None and no_tensor(script, part, seen) for part in _put_in(script, node.id)
        )
    if isinstance(node, ast.Attribute):
        return _attribute_plain(script, node, seen)
    if isinstance(node, ast.Subscript):
        return no_tensor(script, node.value, seen)
    if isinstance(node, ast.ListComp):
        return no_tensor(script, node.elt, seen)
    if isinstance(node, _PLAIN):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return all(no_tensor(script, part, seen) for part in parts)
    return isinstance(node, ast.Call) and _call_plain(script, node, seen)


def _put_in(script: Script, name: str) -> Iterator[ast.expr | None]:
    """What is put into a container of this name; None for what cannot be told."""
    for node in script.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _FILLS
        ):
            yield from node.args if dotted(node.func.value) == name else ()
        elif (
            isinstance(node, ast.Subscript)
            and not isinstance(node.ctx, ast.Load)
            and dotted(node.value) == name
        ):
            owner = script.parents[node]
            yield owner.value if isinstance(owner, ast.Assign | ast.AugAssign) else None


def _call_plain(script: Script, node: ast.Call, seen: frozenset[ast.AST]) -> bool:
    name = script.name(node.func)
    module, _, _ = name.partition(".")
    if name in _COMPUTES:
        return all(no_tensor(script, part, seen) for part in node.args)
    if module in _NO_TENSORS or module == "tf":
        return module != "tf"
    if isinstance(node.func, ast.Name):
        found = [item.node for item in script.bindings(node.func.id, node)]
        return (
            len(found) == 1
            and isinstance(found[0], NAMED_FUNCTIONS)
            and _returns_plain(script, found[0], seen)
        )
    if not isinstance(node.func, ast.Attribute):
        return False
    return (node.func.attr == "run" and bool(node.args)) or no_tensor(script, node.func.value, seen)


def _returns_plain(script: Script, function: NamedFunction, seen: frozenset[ast.AST]) -> bool:
    returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returned) and all(
        node.value is not None
        and script.function_of(node) is function
        and no_tensor(script, node.value, seen)
        for node in returned
    )


def _attribute_plain(script: Script, node: ast.Attribute, seen: frozenset[ast.AST]) -> bool:
    name = script.name(node)
    if name.startswith(("numpy.", "math.")) or (name.startswith("tf.") and "flags.FLAGS." in name):
        return True
    stores = [
        other
        for other in script.nodes
        if isinstance(other, ast.Attribute)
        and other.attr == node.attr
        and not isinstance(other.ctx, ast.Load)
    ]
    if not stores:
        return not name and no_tensor(script, node.value, seen)
    owners = [script.parents[store] for store in stores]
    return all(
        isinstance(owner, ast.Assign | ast.AugAssign) and no_tensor(script, owner.value, seen)
        for owner in owners
    )


def _bound_plain(
    script: Script, name: str, node: ast.AST, value: ast.expr | None, seen: frozenset[ast.AST]
) -> bool:
    if value is not None:
        return no_tensor(script, value, seen)
    if isinstance(node, ast.For | ast.Assign | ast.AugAssign):
        return no_tensor(script, node.iter if isinstance(node, ast.For) else node.value, seen)
    if isinstance(node, ast.arg) and node not in seen:
        values = handed(script, node)
        return bool(values) and all(no_tensor(script, part, seen | {node}) for part in values)
    return node in seen


def handed(script: Script, parameter: ast.arg) -> list[ast.expr]:
    """All that a parameter may hold: what the script's calls give it, and its default; nothing if it may be more."""
    function = next(
        owner
        for owner in script.ancestors(parameter)
        if isinstance(owner, (*NAMED_FUNCTIONS, ast.Lambda))
    )
    if isinstance(function, ast.Lambda) or parameter in (function.args.vararg, function.args.kwarg):
        return []
    if function.decorator_list or not _only_called(script, function):
        return []
    found = [value for name, value, _ in given(script, function) if name == parameter.arg]
    signature = function.args
    names = [*signature.posonlyargs, *signature.args]
    with_default = names[len(names) - len(signature.defaults) :]
    pairs = [*zip(with_default, signature.defaults, strict=True)]
    pairs += [
        (name, value)
        for name, value in zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
        if value
    ]
    return found + [value for name, value in pairs if name is parameter]


def _only_called(script: Script, function: NamedFunction) -> bool:
    """Whether a function is called by its name wherever it is mentioned, with arguments that are written out."""
    calls = call_sites(script, function)
    spelled_out = all(
        not any(isinstance(value, ast.Starred) for value in call.args)
        and all(word.arg for word in call.keywords)
        for call in calls
    )
    called = {call.func for call in calls}
    wanted = ast.Attribute if isinstance(script.parents[function], ast.ClassDef) else ast.Name
    mentions = (
        node
        for node in script.nodes
        if isinstance(node, wanted) and last_name(node) == function.name
    )
    return spelled_out and all(node in called for node in mentions)


def number(script: Script, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> str | None:
    """`int` or `float` for a Python number, also for one that a function is given by all of its callers."""
    if isinstance(node, ast.Name) and node not in seen:
        bindings = [item.node for item in script.bindings(node.id, node)]
        if len(bindings) == 1 and isinstance(bindings[0], ast.arg):
            kinds = {number(script, value, seen | {node}) for value in handed(script, bindings[0])}
            return kinds.pop() if len(kinds) == 1 else None
    if isinstance(node, ast.BinOp):
        sides = {number(script, side, seen) for side in (node.left, node.right)}
        if not sides <= {"int", "float"}:
            return None
        return "float" if "float" in sides or isinstance(node.op, ast.Div) else "int"
    if isinstance(node, ast.UnaryOp):
        return number(script, node.operand, seen)
    found = kind(script, node)
    return found if found in DTYPES else None
