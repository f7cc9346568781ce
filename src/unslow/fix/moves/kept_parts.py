"""Keep only those parts of what a container gets that are read later."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.container_uses import (
    fills,
    held_by_key,
    parsed,
    parts_read,
    stored_value,
    uses_of,
)
from unslow.fix.moves.extract_function import read_afterwards
from unslow.fix.moves.shapes import is_call, names_in
from unslow.syntax.nodes import DEFINITIONS, inside, is_stored, last_name
from unslow.syntax.uses import bound_in, changed


def keep_parts(script: Script, line: int, path: str) -> tuple[Script, list[str]] | None:
    """`results.append(out)` becomes `results.append({"score": out["score"]})`.

    Where elements are only read by these keys; None where they are read in another way.
    """
    value = stored_value(script, line, path)
    elsewhere = any(uses_of(other, path) for other in script.other_files(last_name(parsed(path))))
    if held_by_key(path) is not None or elsewhere or not isinstance(value, ast.Name):
        return None
    reads = _reads(script, path)
    if not reads or _is_set_later(script, value):
        return None
    keys = list(dict.fromkeys(key for key, _ in reads))
    parts = ", ".join(f"{key}: {value.id}[{key}]" for key in keys)
    if any(_is_conditional(script, element) for _, element in reads):
        # An element may lack what is not read of each.
        name, comma = script.fresh("key"), "," if len(keys) == 1 else ""
        among = f"({', '.join(keys)}{comma})"
        parts = f"{name}: {value.id}[{name}] for {name} in {among} if {name} in {value.id}"
    return script.edit([replaced(script, value, f"{{{parts}}}")]), keys


def _reads(script: Script, path: str) -> list[tuple[str, ast.expr]]:
    """The keys by which elements are read, and where; nothing if more may be read of any."""
    found: list[tuple[str, ast.expr]] = []
    for use in uses_of(script, path):
        counts = is_call(script, script.parents[use], "len")
        if is_stored(use) or fills(script, use) or counts:
            continue
        elements = list(parts_read(script, use))
        keys = [_key_read(script, element) for element in elements]
        known = [key for key in keys if key is not None]
        if not known or len(known) < len(keys) or _is_kept_on(script, use):
            return []
        found += zip(known, elements, strict=True)
    return found


def _is_set_later(script: Script, value: ast.Name) -> bool:
    """Whether a part of what a container gets may be set once it is in there."""
    here, loops = script.statement_of(value), script.loops_around(value)
    home = script.home(value)
    for node in inside(home, ast.stmt):
        if hasattr(node, "body") or value.id not in changed([node]):
            continue
        if node.lineno >= here.lineno:
            return True
        is_new = bool(loops) and value.id in bound_in(loops[0])
        if not is_new and any(script.within(here, loop) for loop in script.loops_around(node)):
            return True
    return False


def _is_kept_on(script: Script, use: ast.expr) -> bool:
    """Whether an element keeps its name behind the loop over a container, and is read there."""
    match script.parents[use]:
        case ast.For(target=target, iter=value) as loop if value is use:
            return bool(names_in(target) & read_afterwards(script, [loop]))
    return False


def _is_conditional(script: Script, element: ast.expr) -> bool:
    """Whether only some elements are read at a place, be it by a condition on the element."""
    for parent in script.ancestors(element):
        if isinstance(parent, ast.If | ast.IfExp | ast.BoolOp | ast.Try | ast.While):
            return True
        if any(each.ifs for each in getattr(parent, "generators", [])):
            return True
        if isinstance(parent, DEFINITIONS):
            return False
    return False


def _key_read(script: Script, element: ast.expr) -> str | None:
    """The source of the key by which an element is read."""
    match script.parents[element]:
        case ast.Subscript(value=read, slice=ast.Constant(value=str()) as key, ctx=ast.Load()) if (
            read is element
        ):
            return script.source(key)
    return None
