"""Names for ops that are made once, and for the placeholders that they are fed through."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Sequence

from unslow.fix.edit.script import Script
from unslow.fix.moves.op_expressions import Piece
from unslow.fix.moves.op_order import Place
from unslow.fix.moves.session_feeds import Fed, assigned, op_name
from unslow.syntax.nodes import NamedFunction, inside, last_name


class Naming:
    """Names for ops and placeholders that nothing else uses."""

    def __init__(
        self,
        script: Script,
        function: NamedFunction,
        pieces: Sequence[Piece],
        place: Place,
        kept: Collection[Piece],
    ) -> None:
        self._script, self._function, self._pieces = script, function, pieces
        self._own = f"{place.own}." if place.own else ""
        self._kept = kept  # read by the rest of the function
        self._taken: set[str] = set()

    def name_all(self) -> None:
        outside = _names_outside(self._script, self._function)
        for piece in self._pieces:
            for item in piece.fed:
                item.name = self._attribute(f"{_word(self._script, item)}_placeholder")
            if piece.local is None:
                piece.name = self._attribute(self._inline_name(piece))
            elif self._own and piece in self._kept:
                piece.name = self._attribute(_as_op(piece.local))
            elif piece.local in outside | self._taken:
                piece.name = self._fresh(_as_op(piece.local))
            else:
                piece.name = piece.local
                self._taken.add(piece.local)

    def _inline_name(self, piece: Piece) -> str:
        wanted = op_name(piece.value) or "op"
        alone = [other.local for other in self._pieces].count(None) == 1
        if alone and wanted.endswith("op"):
            return f"{self._function.name.strip('_')}_op"
        return wanted

    def _attribute(self, wanted: str) -> str:
        return self._own + self._fresh(wanted)

    def _fresh(self, wanted: str) -> str:
        name, number = self._script.fresh(wanted), 2
        while name in self._taken:
            name, number = self._script.fresh(f"{wanted}_{number}"), number + 1
        self._taken.add(name)
        return name


def _as_op(name: str) -> str:
    return name if name.endswith(("op", "ops")) else f"{name}_op"


def _names_outside(script: Script, function: NamedFunction) -> set[str]:
    """Every name used outside of a function, and the builtins."""
    found: set[object] = set(dir(builtins))
    own = set(inside(function, ast.AST))
    for node in script.nodes:
        if node not in own:
            found |= {getattr(node, key, None) for key in ("id", "arg", "name", "asname", "attr")}
    return {name for name in found if isinstance(name, str)}


def _word(script: Script, item: Fed) -> str:
    """A word for a placeholder: the variable it is assigned to, or the value's name."""
    call = script.parents[item.value]
    call = script.parents[call] if isinstance(call, ast.keyword) else call
    target = assigned(script, call, item.value) if isinstance(call, ast.Call) else None
    return (last_name(target or item.value) or "value").strip("_")
