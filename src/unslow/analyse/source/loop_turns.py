"""How often a loop in a source file runs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unslow.syntax import Source


def turns_of(source: Source, loop: ast.AST) -> int | None:
    """Turns of a `for` over a written list or over `range`; None where they are not known."""
    match loop:
        case ast.For(iter=ast.List(elts=items) | ast.Tuple(elts=items)):
            return len(items)
        case ast.For(iter=ast.Call(func=function, args=args)) if source.name(function) == "range":
            bounds = [source.number_of(argument) for argument in args]
            known = [int(bound) for bound in bounds if bound is not None]
            return len(range(*known)) if args and len(known) == len(args) else None
    return None
