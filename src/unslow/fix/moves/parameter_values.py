"""Follows a parameter to the one thing that every call gives to it, and hands something new along the same calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_order import Home, home_of
from unslow.fix.moves.captured_values import call_sites
from unslow.fix.moves.feedable_values import handed
from unslow.syntax.nodes import NamedFunction, dotted, parameters

Calls = tuple[tuple[NamedFunction, ast.Call], ...]


@dataclass(frozen=True)
class Given:
    """What a parameter always is, where that is known by name, and the calls in between, innermost first."""

    value: ast.expr
    home: Home
    calls: Calls


def always_given(script: Script, function: NamedFunction, parameter: ast.arg) -> Given | None:
    """What a parameter is at every call, if there is only one call and it gives a name; None where that is not sure."""
    calls: list[tuple[NamedFunction, ast.Call]] = []
    while all(function is not other for other, _ in calls):
        sites, values = call_sites(script, function), handed(script, parameter)
        if len(sites) != 1 or len(values) != 1 or not dotted(values[0]):
            return None
        calls.append((function, sites[0]))
        root = next(node for node in ast.walk(values[0]) if isinstance(node, ast.Name))
        bindings = [item.node for item in script.bindings(root.id, root)]
        caller = script.function_of(sites[0])
        if len(bindings) != 1:
            return None
        if not isinstance(bindings[0], ast.arg):
            home = home_of(script, bindings[0])
            return Given(values[0], home, tuple(calls)) if home in (caller, script.tree) else None
        if (
            caller is None
            or bindings[0] not in parameters(caller)
            or not isinstance(values[0], ast.Name)
        ):
            return None
        function, parameter = caller, bindings[0]
    return None


def hand_in(script: Script, calls: Calls, names: Sequence[str]) -> Iterator[Splice]:
    """The functions take some more parameters, and their calls give them."""
    for function, call in calls:
        signature = function.args
        if signature.defaults or signature.vararg or signature.kwonlyargs or signature.kwarg:
            raise script.refuse(
                f"`{function.name}` must be given its ops, and its parameters leave no room",
                function,
            )
        end = script.span([*signature.posonlyargs, *signature.args][-1])[1]
        yield Splice(end, end, "".join(f", {name}" for name in names))
        end = max(script.span(part)[1] for part in (*call.args, *call.keywords))
        yield Splice(
            end,
            end,
            "".join(f", {name}={name}" if call.keywords else f", {name}" for name in names),
        )
