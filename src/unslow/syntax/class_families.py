"""Whether one object may be of two classes of the program, by the names of their bases."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from unslow.syntax.nodes import inside

if TYPE_CHECKING:
    from unslow.syntax.callees import Called


def share_objects(source: Called, first: str, second: str) -> bool:
    """Whether some class of the program is, or derives from, both of two classes."""
    return bool(_descendants(source, first) & _descendants(source, second))


def _descendants(source: Called, name: str) -> set[str]:
    """A class and all that derive from it, in every file of the program."""
    found, waiting = {name}, [name]
    while waiting:
        base = waiting.pop()
        for file in (source, *source.other_files(base)):
            derived = {node.name for node in file.every(ast.ClassDef) if base in _bases(file, node)}
            waiting += derived - found
            found |= derived
    return found


def _bases(source: Called, owner: ast.ClassDef) -> set[str]:
    """The names that a class statement gives as bases, also those behind an alias."""
    return {name for base in owner.bases for name in _names(source, base)}


def _names(source: Called, base: ast.expr) -> Iterator[str]:
    for name in inside([base], ast.Name):
        yield name.id
        yield source.full_name(name).rpartition(".")[2]
        definition = source.definition(name)
        if definition is not None and isinstance(definition.node, ast.ClassDef):
            yield definition.node.name
    for attribute in inside([base], ast.Attribute):
        yield attribute.attr
