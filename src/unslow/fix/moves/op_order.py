"""What must be true of a place where ops are made earlier than before."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.session_feeds import tf_name
from unslow.syntax.call_order import Home, Users, calls_reached, first_use, surely_before
from unslow.syntax.nodes import DEFINITIONS, inside, of_type

_SEEDS = ("set_random_seed", "random.set_random_seed", "random.set_seed")
DRAWING_OPS = (
    *("random", "truncated_normal", "get_variable", "layers.", "keras.", "contrib."),
    *("nn.dropout", "set_random"),
)


@dataclass(frozen=True)
class Place:
    """Where lines go in, how deep, and whether what they make is kept as attributes of `own`."""

    offset: int
    margin: str
    own: str | None = None
    gap: bool = False  # two blank lines to a definition that follows


def exists(script: Script, home: Home, node: ast.AST, place: ast.stmt) -> bool:
    """Whether a binding is surely made before a place in a function or module is reached."""
    scope = script.home(node)
    definition = script.statement_of(node)
    if scope is home:
        return isinstance(node, ast.arg) or surely_before(script, definition, place)
    if not isinstance(scope, ast.Module) or isinstance(home, ast.Module):
        return False
    first = first_use(scope, Users(script, home))
    early = surely_before(script, definition, home)
    return early or (first is not None and surely_before(script, definition, first))


def withs_around(script: Script, node: ast.stmt | None) -> list[ast.With]:
    around = [node, *script.ancestors(node)] if node is not None else []
    owners = itertools.takewhile(lambda owner: not isinstance(owner, DEFINITIONS), around)
    return of_type(owners, ast.With)


def shifted_seed(script: Script, later: Sequence[ast.stmt]) -> CannotEdit | None:
    """With a graph seed, an op's seed is its number: earlier ops would shift later ones."""
    seeds = [call for call in script.every(ast.Call) if tf_name(script, call.func) in _SEEDS]
    draws = calls_reached(script, later) if seeds else ()
    for call in draws:
        if tf_name(script, call.func).startswith(DRAWING_OPS) or _draws_elsewhere(script, call):
            what = script.source(call.func)
            return script.refuse(f"`{what}` is made later, and would get another seed", call)
    return None


def _draws_elsewhere(script: Script, call: ast.Call) -> bool:
    """Whether a function or class of another file of the program makes random ops."""
    made = script.callee(call)
    if made is None or made.source is script:
        return False
    calls = inside(made.node, ast.Call)
    return any(tf_name(made.source, inner.func).startswith(DRAWING_OPS) for inner in calls)
