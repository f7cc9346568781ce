"""Values from outside that change between steps: a compiled step would keep those it was traced with."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from unslow.fix.edit.script import Script
from unslow.fix.moves.callees import handed_to, own_function
from unslow.fix.moves.graph_rules import Offence
from unslow.fix.moves.python_values import objects
from unslow.syntax.nodes import NamedFunction, StatementLoop, dotted, last_name
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import uses

# Attributes that Keras keeps as variables: a compiled step reads what they hold.
_VARIABLES = frozenset({"learning_rate", "lr", "iterations"})
_FILLS = frozenset({"append", "extend", "pop", "popleft", "appendleft", "insert", "clear"})


def frozen(
    script: Script,
    body: Sequence[ast.stmt],
    handed: set[str],
    function: NamedFunction | None,
    within: StatementLoop | None,
) -> Offence | None:
    """The first such value that the code, or a function of the script's that it calls, reads.

    With `within`, only what changes in that loop counts for the code itself: it is compiled in front of it.
    """
    found = next(_changing(script, body, handed, within), None)
    if found is not None:
        return found
    seen: set[ast.AST] = {function} if function is not None else set()
    todo = _called(script, body)
    while todo:
        callee = todo.pop()
        if callee in seen:
            continue
        seen.add(callee)
        found = next(_changing(script, callee.body, handed_to(callee), None), None)
        if found is not None:
            return found
        todo += _called(script, callee.body)
    return None


def _called(script: Script, body: Sequence[ast.stmt]) -> list[NamedFunction]:
    calls = (node for top in body for node in ast.walk(top) if isinstance(node, ast.Call))
    return [
        function
        for function in (own_function(script, call) for call in calls)
        if function is not None
    ]


def _changing(
    script: Script, body: Sequence[ast.stmt], handed: set[str], within: StatementLoop | None
) -> Iterator[Offence]:
    local = uses(body).writes | handed
    inside = {inner for top in body for inner in ast.walk(top)}
    region = set(ast.walk(within)) if within is not None else None
    for node in (inner for top in body for inner in ast.walk(top)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            bindings = [item for item in script.bindings(node.id, node) if item.node not in inside]
            rebound = any(_rebinds(script, item, region) for item in bindings)
            if rebound or _filled(script, node.id, inside):
                yield Offence(
                    f"it reads `{node.id}`, which changes from step to step outside of it", node
                )
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and _reset(script, node, inside)
        ):
            yield Offence(
                f"it reads `{script.source(node)}`, which changes from step to step", node
            )


def _rebinds(script: Script, binding: Binding, region: set[ast.AST] | None) -> bool:
    """Whether a binding is made again and again."""
    node = binding.node
    if binding.is_import:
        return False
    if region is not None:
        return node in region
    if isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor) or script.loops_around(node):
        return True
    function = script.function_of(node)
    remote = function is not None and isinstance(node, ast.Assign) and _declares(function, node)
    return remote and function is not None and called_in_loop(script, function)


def _declares(function: NamedFunction, node: ast.Assign) -> bool:
    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return any(
        isinstance(inner, ast.Global | ast.Nonlocal) and names & set(inner.names)
        for inner in ast.walk(function)
    )


def called_in_loop(script: Script, function: NamedFunction) -> bool:
    """Whether the script calls a function from inside a loop, or from one that it calls so."""
    todo, seen = [function], set[ast.AST]()
    while todo:
        callee = todo.pop()
        if callee in seen:
            continue
        seen.add(callee)
        for call in call_sites(script, callee):
            if script.loops_around(call):
                return True
            caller = script.function_of(call)
            if caller is not None:
                todo.append(caller)
    return False


def call_sites(script: Script, function: NamedFunction) -> list[ast.Call]:
    """The script's own calls of a function: on an object if it is a method, else by its plain name."""
    wanted = ast.Attribute if isinstance(script.parents[function], ast.ClassDef) else ast.Name
    return [
        call
        for call in script.every(ast.Call)
        if isinstance(call.func, wanted) and last_name(call.func) == function.name
    ]


def _filled(script: Script, name: str, inside: set[ast.AST]) -> bool:
    """Whether a container of Python's is filled in a loop somewhere else."""
    for node in script.nodes:
        filled: ast.expr | None = None
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _FILLS
        ):
            filled = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            filled = node.value
        if (
            isinstance(filled, ast.Name)
            and filled.id == name
            and node not in inside
            and script.loops_around(node)
        ):
            return True
    return False


def _reset(script: Script, node: ast.Attribute, inside: set[ast.AST]) -> bool:
    """Whether an attribute is set in a loop or counted up somewhere else."""
    return any(
        isinstance(other, ast.Attribute)
        and other.attr == node.attr
        and not isinstance(other.ctx, ast.Load)
        and other not in inside
        and ast.dump(other.value) == ast.dump(node.value)
        and (isinstance(script.parents[other], ast.AugAssign) or bool(script.loops_around(other)))
        for other in script.nodes
    )


def reset_objects(
    script: Script, body: Sequence[ast.stmt], loops: Iterable[StatementLoop]
) -> Offence | None:
    """An attribute of what the step uses that its loops set: which weights are trained, a rate of a layer."""
    inside = {inner for top in body for inner in ast.walk(top)}
    called, used = objects(body)
    for loop in loops:
        for node in (inner for top in loop.body for inner in ast.walk(top)):
            if (
                not isinstance(node, ast.Attribute)
                or isinstance(node.ctx, ast.Load)
                or node in inside
            ):
                continue
            root = (dotted(node) or "").partition(".")[0]
            ours = (
                root in called | used
                and root not in ("self", "cls")
                and node.attr not in _VARIABLES
            )
            if ours or node.attr == "trainable":
                return Offence(
                    f"the loop sets `{script.source(node)}`, which a compiled step would not notice",
                    node,
                )
    return None
