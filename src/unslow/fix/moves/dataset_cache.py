"""Cache a tf.data pipeline after what is the same in every pass, before the shuffle."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import extent, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.method_chain import add_link, chain_at, swap_links
from unslow.model import Fix, Location, Refusal, Safety

_METHODS = {"Map": "map", "Interleave": "interleave", "FlatMap": "flat_map", "Filter": "filter"}


def cache_fix(
    script: Script, where: Location, kind: str, *, fits: bool, rebuilt: bool, moved: bool
) -> Fix | Refusal | None:
    """A cache behind a stage, which is `moved` in front of a shuffle first."""
    if not fits:
        return Refusal(
            "the data does not fit into memory, and where a file for it may be is yours to say",
            where,
        )
    if rebuilt:
        return Refusal(
            "the pipeline is built again for each pass, and a cache would go with it", where
        )
    method = _METHODS.get(kind)
    if method is None:
        return None
    if moved:
        script = _before_shuffle(script, where.line, method)
    edited = add_link(script, where.line, "cache()", after=method)
    return Fix("keep what is the same in every pass", Safety.EXACT, {script.path: edited.text})


def _before_shuffle(script: Script, line: int, method: str) -> Script:
    """Move the map before the shuffle: the order does not change an element."""
    names = [link.name for link in chain_at(script, line)]
    if "shuffle" in names:
        return swap_links(script, line, "shuffle", method)
    node = statement(script, line)
    block, index = script.block(node)
    above = block[index - 1] if index else None
    if (
        above is None
        or not _shuffles(above)
        or _target(above) is None
        or _target(above) != _target(node)
    ):
        raise script.refuse(f"the shuffle that must come after `{method}` is built elsewhere", node)
    first, second = extent(script, [above]), extent(script, [node])
    text = script.lines.text
    between = text[first[1] : second[0]]
    swapped = text[second[0] : second[1]] + between + text[first[0] : first[1]]
    return script.edit([Splice(first[0], second[1], swapped)])


def _target(node: ast.stmt) -> str | None:
    """The name of `data = data.method(…)`."""
    if not (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ):
        return None
    root = node.value
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
        root = root.func.value
    name = node.targets[0].id
    return name if isinstance(root, ast.Name) and root.id == name else None


def _shuffles(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Assign) else None
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "shuffle"
    )
