"""Lifts statements of a loop into a function, as compiling a step does, for any lines."""

from __future__ import annotations

from unslow.fix.edit.blocks import siblings
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import NewFunction, in_order, lifted, part_of
from unslow.syntax.uses import bound_in


def lift(script: Script, first: int, last: int, name: str) -> Script:
    """The statements from one line to another become a function in front of their loops.

    What changes in the loops is handed in, the rest is seen from where the function stands.
    """
    around = script.function_at(first)
    if around is not None and around.name == name and name not in script.origin.taken:
        return script  # lifted before
    part = part_of(script, siblings(script, first, last))
    loop = script.loops_around(part.statements[0])[-1]
    inputs = in_order([loop], part.needs & bound_in(loop))
    return script.edit(lifted(script, part, NewFunction(script.fresh(name), inputs, loop)))
