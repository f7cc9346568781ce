"""The move that lifts a part of a block into a function: its inputs and outputs come from the scopes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, extent, indent, reindented, siblings, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.syntax.dataflow import Flow, flow, live_after
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, StatementLoop, own_nodes
from unslow.syntax.uses import declared, jumps, uses

_SCOPE_BOUND = frozenset({"super", "locals", "vars", "eval", "exec", "__class__"})


@dataclass(frozen=True)
class Part:
    """Neighbouring statements, what they need from around them and what is needed of them afterwards."""

    statements: Sequence[ast.stmt]
    needs: set[str]  # read before they are bound here
    gives: set[str]  # bound here, read afterwards
    flow: Flow


def part_of(script: Script, statements: Sequence[ast.stmt]) -> Part:
    """The part, or CannotEdit where it cannot be a function of its own."""
    left = jumps(statements)
    if left is not None:
        raise script.refuse("the code leaves the block that is to become a function", left)
    for node in (inner for top in statements for inner in ast.walk(top)):
        if isinstance(node, ast.Global | ast.Nonlocal):
            raise script.refuse("the code binds names of an outer scope", node)
        if isinstance(node, ast.Name) and node.id in _SCOPE_BOUND:
            raise script.refuse(f"`{node.id}` means something else inside a function", node)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            raise script.refuse("`import *` cannot stand inside a function", node)
    function = script.function_of(statements[0])
    if script.scope_at(statements[0]).is_class:
        raise script.refuse("names in a class body cannot be seen from a function", statements[0])
    here = flow(statements)
    path = path_out(script, statements)
    live = live_after(path, read_by_others(script, statements, function))
    gives = uses(statements).writes & live
    for name in sorted(gives - here.definite):
        raise script.refuse(
            f"`{name}` is not bound on every path, but is read afterwards", statements[0]
        )
    return Part(statements, here.exposed, gives, here)


def path_out(
    script: Script, statements: Sequence[ast.stmt]
) -> list[tuple[ast.AST, Sequence[ast.stmt], int]]:
    """The blocks around a part up to its function, as `live_after` wants them."""
    found: list[tuple[ast.AST, Sequence[ast.stmt], int]] = []
    node: ast.AST = statements[-1]
    while isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        parent = script.parents[node]
        if isinstance(node, ast.stmt):
            found.append((parent, *script.block(node)))
        if isinstance(parent, (*NAMED_FUNCTIONS, ast.ClassDef)):
            break
        node = parent
    return found


def read_by_others(
    script: Script, statements: Sequence[ast.stmt], function: NamedFunction | None
) -> set[str]:
    """Names that other functions may read at any time, or that are no names of this scope at all."""
    scope: NamedFunction | ast.Module = function or script.tree
    inside = {inner for top in statements for inner in ast.walk(top)}
    nested = (
        node
        for node in own_nodes(scope)
        if isinstance(node, (*NAMED_FUNCTIONS, ast.Lambda, ast.ClassDef))
    )
    return declared(scope) | uses(node for node in nested if node not in inside).reads


def lift(
    script: Script,
    first: int,
    last: int,
    name: str,
    decorator: str | None = None,
    out_of: StatementLoop | None = None,
) -> Script:
    """The statements from one line to another become a function in front of their loops, called in their place.

    What changes in the loops is handed in, the rest is seen from where the function stands. `decorator` is
    written as it is; `out_of` is the loop to stand in front of, the outermost one unless it is given.
    """
    around = script.function_at(first)
    if around is not None and around.name == name and name not in script.origin.taken:
        return script  # lifted before
    part = part_of(script, siblings(script, first, last))
    loops = script.loops_around(part.statements[0])
    if not loops:
        raise script.refuse("the code is not in a loop", part.statements[0])
    loop = out_of or loops[-1]
    target = loop if isinstance(loop, ast.While) else loop.target
    changing = uses([*loop.body, target]).writes | uses(loop.body).remote
    inputs = in_order([loop], part.needs & changing)
    new = script.fresh(name)
    return script.edit(lifted(script, part, new, inputs, loop, decorator))


def lifted(
    script: Script,
    part: Part,
    name: str,
    inputs: Sequence[str],
    before: ast.stmt,
    decorator: str | None,
    given: Mapping[str, str] | None = None,
    method_of: str | None = None,
) -> list[Splice]:
    """The function in front of a statement, and its call in the part's place.

    `given` says how an input is written in the call where not by its name; `method_of` is the name of
    the instance if the function becomes a method beside the one that is `before`'s.
    """
    margin, step, newline = indent(script, before), unit(script, before), script.lines.newline
    outputs = in_order(part.statements, part.gives)
    head = [f"{margin}@{decorator}"] if decorator else []
    head.append(f"{margin}def {name}({', '.join([method_of, *inputs] if method_of else inputs)}):")
    body = reindented(script, part.statements, margin + step)
    if outputs:
        body += f"{margin}{step}return {', '.join(outputs)}{newline}"
    place, wanted = above(script, before), 1 if margin else 2
    text = f"{_blank_lines(script, place, wanted)}{newline.join(head)}{newline}{body}{newline * wanted}"
    call = f"{name}({', '.join((given or {}).get(item, item) for item in inputs)})"
    call = f"{method_of}.{call}" if method_of else call
    row = f"{', '.join(outputs)} = {call}" if outputs else call
    start, end = extent(script, part.statements)
    ending = newline if script.lines.text[start:end].endswith(("\n", "\r")) else ""
    row = f"{indent(script, part.statements[0])}{row}{ending}"
    return [Splice(place, place, text), Splice(start, end, row)]


def _blank_lines(script: Script, position: int, wanted: int) -> str:
    """The blank lines that a definition still needs above it; none at the start of a file or of a block."""
    line = script.lines.at(position) - 1
    present = 0
    while line > 0 and not script.lines.content(line).strip():
        line, present = line - 1, present + 1
    if line == 0 or (present == 0 and script.lines.content(line).strip().endswith(":")):
        return ""
    return script.lines.newline * max(0, wanted - present)


def in_order(statements: Sequence[ast.stmt], names: Iterable[str]) -> list[str]:
    """Names in the order in which the statements first mention them, as parameters, targets or values."""
    places: dict[str, tuple[int, int]] = {}
    for node in (inner for top in statements for inner in ast.walk(top)):
        name = (
            node.id
            if isinstance(node, ast.Name)
            else node.arg
            if isinstance(node, ast.arg)
            else None
        )
        if name is not None:
            place = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
            places[name] = min(place, places.get(name, place))
    return sorted(names, key=lambda name: (places.get(name, (0, 0)), name))
