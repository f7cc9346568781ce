"""Makes an iterator once, where its dataset is known, instead of at every step."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import at_end, extent, indent
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replace_expression
from unslow.fix.moves.hoist import hoist_expression
from unslow.fix.moves.shapes import method_named
from unslow.model import Fix, Safety
from unslow.syntax.nodes import last_name, method_of
from unslow.syntax.scopes import Binding, How


def iterator_once(script: Script, line: int, endless: bool, shuffled: bool) -> Fix:
    """`next(iter(data))` becomes `next(batches)`, with `batches` made before the loop.

    In a function or method that the loop calls, it is made where its dataset is.
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
    """For an iterator that a function makes at each of its calls."""
    data, function = node.args[0], script.function_of(node)
    if function is None:
        raise script.refuse("the expression is not in a loop", node)
    if isinstance(data, ast.Attribute):
        return _in_init(script, node, data, endless)
    if not isinstance(data, ast.Name):
        raise script.refuse(f"`{function.name}` makes the dataset at each call", data)
    bindings = script.reaching(data)
    own = [item for item in bindings if script.function_of(item.node) is function]
    if own:
        comes = "is given" if own[0].how is How.PARAMETER else "makes"
        raise script.refuse(f"`{function.name}` {comes} `{data.id}` at each call", own[0].node)
    last = _last_binding(script, data, bindings)
    return _kept(script, node, last, script.fresh("batches"), endless)


def _kept(script: Script, node: ast.Call, after: ast.stmt, name: str, endless: bool) -> Script:
    """The iterator under a name, made right behind the statement that completes its dataset."""
    row = f"{indent(script, after)}{name} = {_made(script, node.args[0], endless)}"
    place = extent(script, [after])[1]
    insertion = at_end(script, place, f"{row}{script.lines.newline}")
    return script.edit([insertion, Splice(*script.span(node), name)])


def _last_binding(script: Script, data: ast.Name, bindings: Sequence[Binding]) -> ast.stmt:
    """The last of the plain assignments that give a name of an outer scope its dataset."""
    every = script.bindings(data.id, bindings[0].node) if bindings else []
    for item in every:
        if item.assigned is None or item.remote or script.loops_around(item.node):
            raise script.refuse(f"`{data.id}` is not surely the same at each call", item.node)
    script.refuse_if(not every, f"nothing in this file gives `{data.id}` a value", data)
    statements = [script.statement_of(item.node) for item in every]
    block, _ = script.block(statements[0])
    if any(statement not in block for statement in statements):
        raise script.refuse(f"`{data.id}` gets its value in more than one place", statements[-1])
    return max(statements, key=block.index)


# Attributes


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
    reason = f"`{what}` may be set by another file"
    script.refuse_if(_is_set_elsewhere(script, data.attr), reason, stores[-1])
    last = max((script.statement_of(store) for store in stores), key=init.body.index)
    return _kept(script, node, last, f"{holder}.{script.fresh('batches')}", endless)


def _is_set_elsewhere(script: Script, attribute: str) -> bool:
    """Whether another file sets an attribute of this name on what is not its own object."""
    stores = [
        store
        for other in script.other_files(attribute)
        for store in other.attribute_stores(attribute)
    ]
    return any(last_name(store.value) != "self" for store in stores)
