"""Lift a part of a block into a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from unslow.fix.edit.blocks import above, in_place, indent, reindented, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.syntax.dataflow import flow, live_after
from unslow.syntax.nodes import DEFINITIONS, FUNCTIONS, NamedFunction, inside, own_nodes, words
from unslow.syntax.uses import declared, jumps, uses

_SCOPE_BOUND = words("super locals vars eval exec __class__")


@dataclass(frozen=True)
class Part:
    """Neighbouring statements, what they need, and what is needed of them afterwards."""

    statements: Sequence[ast.stmt]
    needs: set[str]  # read before they are bound here
    gives: set[str]  # bound here, read afterwards


@dataclass(frozen=True)
class NewFunction:
    """How a part becomes a function: its head, and how it is called."""

    name: str
    inputs: Sequence[str]
    before: ast.stmt  # the statement that it goes in front of
    decorator: str | None = None  # as it is written
    given: Mapping[str, str] = field(
        default_factory=dict
    )  # how an input is given, if not by its name
    method_of: str | None = None  # the name of the instance if it becomes a method


def part_of(script: Script, statements: Sequence[ast.stmt]) -> Part:
    """The part, or CannotEdit where it cannot be a function of its own."""
    left = jumps(statements)
    if left is not None:
        raise script.refuse("the code leaves the block that is to become a function", left)
    if script.scope_at(statements[0]).is_class:
        raise script.refuse("names in a class body cannot be seen from a function", statements[0])
    for node in inside(statements, ast.AST):
        reason = _scope_obstacle(node)
        script.refuse_if(reason, reason, node)
    here = flow(statements)
    gives = uses(statements).writes & read_afterwards(script, statements)
    for name in sorted(gives - here.definite):
        reason = f"`{name}` is not bound on every path, but is read afterwards"
        raise script.refuse(reason, statements[0])
    return Part(statements, here.exposed, gives)


def _scope_obstacle(node: ast.AST) -> str:
    """What means something else inside a function of its own."""
    match node:
        case ast.Global() | ast.Nonlocal():
            return "the code binds names of an outer scope"
        case ast.Name(id=name) if name in _SCOPE_BOUND:
            return f"`{name}` means something else inside a function"
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return "`import *` cannot stand inside a function"
    return ""


def read_afterwards(script: Script, statements: Sequence[ast.stmt]) -> set[str]:
    """Names whose value may still be read once neighbouring statements are done."""
    function = script.function_of(statements[0])
    return live_after(
        _path_out(script, statements[-1]), _read_by_others(script, statements, function)
    )


def _path_out(script: Script, last: ast.stmt) -> list[tuple[ast.AST, Sequence[ast.stmt], int]]:
    """The blocks around a statement up to its function, as `live_after` wants them."""
    found: list[tuple[ast.AST, Sequence[ast.stmt], int]] = []
    for node in (last, *script.ancestors(last)):
        if node is not last and isinstance(node, (*DEFINITIONS, ast.Module)):
            break
        if isinstance(node, ast.stmt):
            found.append((script.parents[node], *script.block(node)))
    return found


def _read_by_others(
    script: Script, statements: Sequence[ast.stmt], function: NamedFunction | None
) -> set[str]:
    """Names that other functions may read at any time, or of another scope."""
    scope: NamedFunction | ast.Module = function or script.tree
    own = set(inside(statements, ast.AST))
    nested = [node for node in own_nodes(scope) if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    return declared(scope) | uses(node for node in nested if node not in own).reads


def lifted(script: Script, part: Part, new: NewFunction) -> list[Splice]:
    """The function in front of a statement, and its call in the part's place."""
    outputs = ", ".join(in_order(part.statements, part.gives))
    given = ", ".join(new.given.get(item, item) for item in new.inputs)
    call = f"{new.name}({given})"
    if new.method_of:
        call = f"{new.method_of}.{call}"
    row = f"{outputs} = {call}" if outputs else call
    row = f"{indent(script, part.statements[0])}{row}{script.lines.newline}"
    return [_definition(script, part, new, outputs), in_place(script, part.statements, row)]


def _definition(script: Script, part: Part, new: NewFunction, outputs: str) -> Splice:
    margin, newline = indent(script, new.before), script.lines.newline
    inner = margin + unit(script, new.before)
    parameters = [new.method_of, *new.inputs] if new.method_of else new.inputs
    head = f"{margin}def {new.name}({', '.join(parameters)}):{newline}"
    if new.decorator:
        head = f"{margin}@{new.decorator}{newline}{head}"
    body = reindented(script, part.statements, inner)
    if outputs:
        body += f"{inner}return {outputs}{newline}"
    place, blank_lines = above(script, new.before), 1 if margin else 2
    gap = _blank_lines(script, place, blank_lines)
    return Splice(place, place, f"{gap}{head}{body}{newline * blank_lines}")


def _blank_lines(script: Script, position: int, wanted: int) -> str:
    """Blank lines still missing above a definition; none where a file or block starts."""
    line = script.lines.at(position) - 1
    present = 0
    while line > 0 and not script.lines.content(line).strip():
        line, present = line - 1, present + 1
    opens = present == 0 and line > 0 and script.lines.content(line).strip().endswith(":")
    return "" if line == 0 or opens else script.lines.newline * max(0, wanted - present)


def in_order(statements: Sequence[ast.stmt], names: Iterable[str]) -> list[str]:
    """Names in the order in which the statements first mention them."""
    places: dict[str, tuple[int, int]] = {}
    mentions: list[ast.Name | ast.arg] = [*inside(statements, ast.Name)]
    mentions += inside(statements, ast.arg)
    for node in mentions:
        name = node.id if isinstance(node, ast.Name) else node.arg
        place = (node.lineno, node.col_offset)
        places[name] = min(place, places.get(name, place))
    return sorted(names, key=lambda name: (places.get(name, (0, 0)), name))
