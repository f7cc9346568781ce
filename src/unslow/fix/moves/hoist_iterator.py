"""Makes an iterator once, where its dataset is known, instead of at every step."""

from __future__ import annotations

import ast
import re

from unslow.fix.edit.blocks import at_end, extent, indent
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replace_expression
from unslow.fix.moves.hoist import hoist_expression
from unslow.fix.moves.shapes import method_named
from unslow.model import Fix, Safety
from unslow.syntax.nodes import method_of


def iterator_once(script: Script, line: int, endless: bool, shuffled: bool) -> Fix:
    """`next(iter(data))` becomes `next(batches)`, with `batches` made before the loop.

    In a method that the loop calls, it is made where `__init__` sets the dataset.
    """
    node = script.call_at(line, "iter")
    if node is None or len(node.args) != 1 or script.name(node.func) != "iter":
        raise script.refuse(
            "the iterator is not made by a plain `iter(…)` on this line", script.now(line)
        )
    if script.loops_around(node):
        edited = _before_loop(script, line, node, endless)
    else:
        edited = _with_its_dataset(script, node, endless)
    mixes = any(method_of(call) == "shuffle" for call in script.every(ast.Call))
    note = (
        "The steps go through all of the data in turn; before, each took a batch from the start of "
        "a fresh shuffle."
        if shuffled or mixes
        else "The steps go through all of the data in turn; before, each of them took the same "
        "first batch."
    )
    return Fix("make the iterator once", Safety.REVIEW, {script.path: edited.text}, note)


def _made(script: Script, data: ast.expr, endless: bool) -> str:
    """The call that makes the iterator, which goes on after the last element."""
    text = script.source(data)
    if endless:
        return f"iter({text})"
    simple = isinstance(data, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"iter({text if simple else f'({text})'}.repeat())"


def _before_loop(script: Script, line: int, node: ast.Call, endless: bool) -> Script:
    new = _made(script, node.args[0], endless)
    script = replace_expression(script, line, script.source(node), new)
    return hoist_expression(script, line, new, "batches")


def _with_its_dataset(script: Script, node: ast.Call, endless: bool) -> Script:
    """For an iterator that a method makes of its object's dataset at each of its calls."""
    function = script.function_of(node)
    if function is None:
        raise script.refuse("the expression is not in a loop", node)
    match node.args[0]:
        case ast.Attribute() as data:
            return _in_init(script, node, data, endless)
    reason = f"`{function.name}` makes it at each call: hand in an iterator made before the loop"
    raise script.refuse(reason, node)


# A dataset that an object keeps


def _in_init(script: Script, node: ast.Call, data: ast.Attribute, endless: bool) -> Script:
    """`next(iter(self.data))` in a method: `self.batches` is made behind `self.data`."""
    owner = script.enclosing_class(node)
    holder = data.value.id if isinstance(data.value, ast.Name) else ""
    what = script.source(data)
    if owner is None or script.class_of_self(holder, script.scope_at(data)) is not owner:
        raise script.refuse(f"`{what}` is not an attribute of the object that reads it", data)
    init = method_named(owner, "__init__")
    stores = script.attribute_stores(data.attr)
    if init is None or not stores:
        raise script.refuse(f"`{owner.name}` has no `__init__` that sets `{what}`", owner)
    for store in stores:
        if script.statement_of(store) not in init.body or script.source(store) != what:
            raise script.refuse(f"`{what}` may be set again here", store)
    if any(_sets_elsewhere(script, path, data.attr) for path in script.modules):
        raise script.refuse(f"`{what}` may be set by another file", stores[-1])
    last = max((script.statement_of(store) for store in stores), key=init.body.index)
    name = f"{holder}.{_fresh_attribute(script, 'batches')}"
    row = f"{indent(script, last)}{name} = {_made(script, data, endless)}"
    insertion = at_end(script, extent(script, [last])[1], f"{row}{script.lines.newline}")
    return script.edit([insertion, Splice(*script.span(node), name)])


def _sets_elsewhere(script: Script, path: str, attribute: str) -> bool:
    """Whether another file sets an attribute of this name on what is not its own object."""
    if path == script.path:
        return False
    pattern = rf"(?<!\bself)\.{re.escape(attribute)}\s*(?:[-+*/|&]?=(?!=)|,[^\n()]*=(?!=))"
    return re.search(pattern, script.modules[path]) is not None


def _fresh_attribute(script: Script, wanted: str) -> str:
    """A name that is neither an attribute nor a method of anything in the file."""
    taken = {each.attr for each in script.every(ast.Attribute)}
    taken |= {each.name for each in script.functions}
    numbered = (f"{wanted}_{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (wanted, *numbered) if name not in taken)
