"""Sum up the probabilities of `np.random.choice` once, not in each call."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_after, replaced
from unslow.fix.moves.call_invariance import own_name, stays_the_same
from unslow.fix.moves.hoist_iterator import last_store
from unslow.fix.moves.shapes import calls_of
from unslow.syntax.nodes import argument, dotted, inside, is_constant, is_stored, last_name
from unslow.syntax.python_types import PythonType, python_type

_CHOICE = "numpy.random.choice"


def choice_from_sums(script: Script, line: int) -> Script | None:
    """`np.random.choice(n, k, p=self.odds)` looks up the same numbers in sums that are kept.

    That is what it does itself, once it has checked and summed up all of the probabilities.
    None where nothing is drawn.
    """
    draw = next(iter(calls_of(script, script.calls_at(line), _CHOICE)), None)
    odds = argument(draw, "p", 3) if draw is not None else None
    if draw is None or odds is None:
        return None
    count, size = argument(draw, "a", 0), argument(draw, "size", 1)
    numpy = script.alias("numpy", draw)
    replace = argument(draw, "replace", 2)
    again = replace is None or is_constant(replace, True)
    if not isinstance(odds, ast.Attribute) or size is None or not again or numpy is None:
        raise script.refuse("it is not drawn by probabilities that an object keeps", draw)
    script.refuse_if(is_constant(size, None), "a single number is drawn", draw)
    known = count is not None and _is_count(script, count)
    script.refuse_if(not known, "it may draw from an array rather than from numbers", draw)
    last = last_store(script, odds)
    function = script.function_of(draw)
    own = own_name(script, function) if function is not None else None
    fresh = isinstance(getattr(last, "value", None), ast.BinOp)  # no other name for the array
    changing = not fresh or not stays_the_same(script, own, odds) or _is_set_elsewhere(script, odds)
    script.refuse_if(changing, f"`{script.source(odds)}` may be changed in place", last)
    sums = f"{script.source(odds.value)}.{script.fresh(f'{odds.attr}_sums')}"
    drawn = f"{numpy}.random.random({script.source(size)})"
    found = f'{numpy}.searchsorted({sums}, {drawn}, side="right")'
    place = script.recorded(last)
    made = f"{sums} = {numpy}.cumsum({script.source(odds)}, dtype=float)\n{sums} /= {sums}[-1]\n"
    return insert_after(script.edit([replaced(script, draw, found)]), place, made)


def _is_count(script: Script, node: ast.expr) -> bool:
    """Whether a value is one whole number: an int, or what its maker counts up to."""
    if python_type(script, node) is PythonType.INT:
        return True
    value = script.only_value(node)
    function = script.function_of(value) if value is not None else None
    counted = calls_of(script, inside(function or [], ast.Call), "range")
    path = dotted(value)
    return path is not None and any([*map(dotted, call.args)] == [path] for call in counted)


def _is_set_elsewhere(script: Script, array: ast.Attribute) -> bool:
    """Whether another file may set an item of an array."""
    items = [
        item for other in script.other_files(array.attr) for item in other.every(ast.Subscript)
    ]
    return any(is_stored(item) and last_name(item.value) == array.attr for item in items)
