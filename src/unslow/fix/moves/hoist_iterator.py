"""Makes an iterator once, where its dataset is known, instead of at every step."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import at_end, extent, in_place, indent, put_above, reindented
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replace_expression, replaced
from unslow.fix.moves.hoist import dependence, hoist_expression
from unslow.fix.moves.shapes import method_named, outermost_loop, reads
from unslow.model import Fix, Safety
from unslow.syntax.nodes import NamedFunction, StatementLoop, last_name, method_of, receiver_of
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import jumps

_OF_ARRAYS = "as_numpy_iterator"


def iterator_once(script: Script, line: int, endless: bool, shuffled: bool) -> Fix:
    """`next(iter(data))` becomes `next(batches)`, with `batches` made before the loop.

    In a function or method that the loop calls, it is made where its dataset is.
    """
    script = _with_plain_iterator(script, line)
    node = _made_at(script, line)
    if node is None:
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


def _with_plain_iterator(script: Script, line: int) -> Script:
    """`for x in ds.take(1):` becomes `x = next(iter(ds))`, and `iter(ds.take(1))` `iter(ds)`."""
    node = script.statement_at(line)
    match node:
        case ast.For(iter=ast.Call() as taken, orelse=[]) if data := _of_first(taken):
            left = jumps(node.body) or jumps(node.body, in_loop=True)
            script.refuse_if(left, "the loop over the one batch is left by a jump", left)
            made = f"{script.source(node.target)} = next(iter({script.source(data)}))"
            first = f"{indent(script, node)}{made}{script.lines.newline}"
            body = reindented(script, node.body, indent(script, node))
            return script.edit([in_place(script, [node], first + body)])
    call = _made_at(script, line)
    whole = call.args[0] if call is not None and call.args else None
    inner = _of_first(whole) if whole is not None else None
    if whole is None or inner is None:
        return script
    return script.edit([replaced(script, whole, script.source(inner))])


def _of_first(node: ast.expr) -> ast.expr | None:
    """The dataset of `ds.take(1)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=data, attr="take"), args=[ast.Constant(value=1)]):
            return data
    return None


def _made_at(script: Script, line: int) -> ast.Call | None:
    """The call at a line that makes an iterator: `iter(ds)`, or `ds.as_numpy_iterator()`."""
    node = script.call_at(line, "iter")
    if node is not None and len(node.args) == 1 and script.name(node.func) == "iter":
        return node
    return script.call_at(line, _OF_ARRAYS)


def _data_of(node: ast.Call) -> ast.expr:
    data = receiver_of(node)
    return data if data is not None else node.args[0]


def _made(script: Script, node: ast.Call, data: ast.expr, endless: bool) -> str:
    """The call that makes the iterator of some data, which goes on after the last element."""
    text = script.source(data)
    simple = isinstance(data, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    text = text if simple else f"({text})"
    text = text if endless else f"{text}.repeat()"
    return f"{text}.{_OF_ARRAYS}()" if method_of(node) else f"iter({text})"


def _before_loop(script: Script, line: int, node: ast.Call, endless: bool) -> Script:
    new = _made(script, node, _data_of(node), endless)
    script = replace_expression(script, line, script.source(node), new)
    return hoist_expression(script, line, new, "batches")


def _with_its_dataset(script: Script, node: ast.Call, endless: bool) -> Script:
    """For an iterator that a function makes at each of its calls."""
    data, function = _data_of(node), script.function_of(node)
    if function is None:
        raise script.refuse("the expression is not in a loop", node)
    if isinstance(data, ast.Attribute):
        return _in_init(script, node, data, endless)
    if not isinstance(data, ast.Name):
        raise script.refuse(f"`{function.name}` makes the dataset at each call", data)
    bindings = script.reaching(data)
    own = [item for item in bindings if script.function_of(item.node) is function]
    if own:
        match [item.node for item in own]:
            case [ast.arg() as parameter]:
                return _given(script, node, function, parameter, endless)
        raise script.refuse(f"`{function.name}` makes `{data.id}` at each call", own[0].node)
    last = _last_binding(script, data, bindings)
    return _kept(script, node, last, script.fresh("batches"), endless)


def _given(
    script: Script, node: ast.Call, function: NamedFunction, parameter: ast.arg, endless: bool
) -> Script:
    """The calls hand in an iterator, which is made before their loops, in place of the dataset."""
    name = parameter.arg
    given = script.values_given(parameter)
    reason = f"`{function.name}` is given `{name}` at each call, in ways that are not known"
    unknown = not given or len(reads(function.body, name)) > 1
    elsewhere = any(script.other_files(function.name))
    script.refuse_if(unknown or elsewhere, reason, parameter)
    edits = [Splice(*script.span(node), name)]
    for value in given:

        def obstacle(loop: StatementLoop, value: ast.expr = value) -> CannotEdit | None:
            changing = dependence(script, loop, [value])
            reason = f"`{changing}` changes in the loop"
            return None if changing is None else script.refuse(reason, value)

        loop = outermost_loop(script, value, obstacle)
        made = _made(script, node, value, endless or loop is None)
        if loop is None:
            edits.append(replaced(script, value, made))
            continue
        batches = script.fresh("batches" if len(given) == 1 else f"{last_name(value)}_batches")
        edits.append(put_above(script, loop, f"{batches} = {made}"))
        edits.append(replaced(script, value, batches))
    return script.edit(edits)


def _kept(script: Script, node: ast.Call, after: ast.stmt, name: str, endless: bool) -> Script:
    """The iterator under a name, made right behind the statement that completes its dataset."""
    row = f"{indent(script, after)}{name} = {_made(script, node, _data_of(node), endless)}"
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
    last = _last_store(script, data)
    batches = f"{script.source(data.value)}.{script.fresh('batches')}"
    return _kept(script, node, last, batches, endless)


def _last_store(script: Script, data: ast.Attribute) -> ast.stmt:
    """The statement of `__init__` behind which an attribute never changes; raises if none is."""
    owner = script.enclosing_class(data)
    holder = data.value.id if isinstance(data.value, ast.Name) else ""
    what = script.source(data)
    if owner is None or script.class_of_self(holder, script.scope_at(data)) is not owner:
        raise script.refuse(f"`{what}` is not an attribute of the object that reads it", data)
    init = method_named(owner, "__init__")
    stores = script.attribute_stores(data)
    if init is None or not stores:
        raise script.refuse(f"`{owner.name}` has no `__init__` that sets `{what}`", owner)
    for store in stores:
        if script.statement_of(store) not in init.body or script.source(store) != what:
            raise script.refuse(f"`{what}` may be set again here", store)
    reason = f"`{what}` may be set by another file"
    script.refuse_if(any(script.stores_elsewhere(data)), reason, stores[-1])
    return max((script.statement_of(store) for store in stores), key=init.body.index)
