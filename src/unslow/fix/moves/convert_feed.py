"""The move that converts fed data once, in front of the loop, instead of every batch of it."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import put_above
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.call_arguments import call as call_named
from unslow.fix.moves.hoist import dependence
from unslow.fix.moves.shapes import only_binding, outermost_loop, reads
from unslow.syntax.nodes import (
    StatementLoop,
    argument,
    dotted,
    given_values,
    inside,
    method_of,
    receiver_of,
    words,
)
from unslow.syntax.uses import changed

# What reads arrays from a file when they are sliced.
_LAZY = ("h5py", "memmap", "mmap_mode", "zarr")
_READING = words("run eval append extend info debug fit partial_fit train_on_batch")


def converted_once(script: Script, line: int, position: int, dtype: str, order: bool) -> Script:
    """`{x: rows[i:j]}` becomes `{x: rows_float32[i:j]}`, converted before the loop."""
    base = _array(script, line, position)
    path = script.needed(
        dotted(base), f"`{script.source(base)}` makes what is fed in every step", base
    )
    name = path.rpartition(".")[2]
    if name.endswith(("_ordered", f"_{dtype}")):
        return script  # converted before
    loop = _outermost(script, base)
    _require_unchanged(script, loop, base, path)
    numpy, imports = spelling(script, "numpy", loop)
    new = script.fresh(f"{name.lstrip('_')}_{'ordered' if order else dtype}")
    made = f"{numpy}.asarray({path}, dtype={numpy}.{dtype})"
    if order:
        made = f"{numpy}.ascontiguousarray({path})"
    row = put_above(script, loop, f"{new} = {made}")
    return script.edit([*imports, row, Splice(*script.span(base), new)])


def _require_unchanged(script: Script, loop: StatementLoop, base: ast.expr, path: str) -> None:
    """Raises where what the loop does may change the data, or where it is read piece by piece."""
    lazy = next((word for word in _LAZY if word in script.text), None)
    script.refuse_if(lazy, f"`{path}` may be read from a file piece by piece (`{lazy}`)", base)
    for dropped in inside(loop.body, ast.Expr):
        match dropped.value:
            case ast.Call() as made if not script.own_function(made):
                is_given = path in map(dotted, given_values(made)) and not _only_reads(script, made)
                is_holder = path.startswith(f"{dotted(receiver_of(made))}.")
                what = script.source(made.func)
                script.refuse_if(is_given or is_holder, f"`{what}` may change `{path}`", made)
    changes = changed([loop]) | {dotted(each.target) for each in inside(loop, ast.AugAssign)}
    for assigned in inside(script.home(base), ast.Assign):
        part = assigned.value
        whole = part.value if isinstance(part, ast.Subscript) else part
        names = changes.intersection(map(dotted, assigned.targets)) - {None}
        if dotted(whole) == path and names:
            raise script.refuse(f"`{names.pop()}` shows it, and is changed in place", assigned)


def _only_reads(script: Script, made: ast.Call) -> bool:
    name = script.name(made.func)
    return name == "print" or name.startswith("tf.") or method_of(made) in _READING


def _array(script: Script, line: int, position: int) -> ast.expr:
    """The array that is fed: `rows` of `rows[i:j]`, also by way of a name in the loop."""
    value = _fed(script, line, position)
    if isinstance(value, ast.Name) and _bound_in_loop(script, value):
        value = _assigned(script, value)
    return value.value if isinstance(value, ast.Subscript) else value


def _fed(script: Script, line: int, position: int) -> ast.expr:
    """The expression that a run is fed with, by its position in the dictionary."""
    method = "run" if script.call_at(line, "run") is not None else "eval"
    if script.call_at(line, method) is None:
        raise CannotEdit(f"no run of a session is on line {line}", line)
    call = call_named(script, line, method)
    feed = argument(call, "feed_dict", 1 if method_of(call) == "run" else 0)
    if isinstance(feed, ast.Name):
        feed = _only_assigned(script, feed)
    if not isinstance(feed, ast.Dict) or position >= len(feed.values) or None in feed.keys:
        raise script.refuse("the feed is not a dictionary that is written out", call)
    return feed.values[position]


def _bound_in_loop(script: Script, name: ast.Name) -> bool:
    return any(script.loops_around(item.node) for item in script.bindings(name.id, name))


def _only_assigned(script: Script, name: ast.Name) -> ast.expr:
    binding = only_binding(script, name)
    value = binding.assigned if binding is not None else None
    return script.needed(value, f"`{name.id}` gets its value in more than one way", name)


def _assigned(script: Script, name: ast.Name) -> ast.expr:
    """What a name is assigned that is read for feeding only."""
    value = _only_assigned(script, name)
    bound = script.bindings(name.id, name)
    named = reads(script.tree, name.id)
    same = [node for node in named if script.bindings(node.id, node) == bound]
    others = [node for node in same if not isinstance(script.parents[node], ast.Dict)]
    if others:
        used = script.source(script.parents[others[0]])
        reason = f"`{name.id}` is used for more than feeding, and an array may not do in `{used}`"
        raise script.refuse(reason, others[0])
    return value


def _outermost(script: Script, base: ast.expr) -> StatementLoop:
    """The outermost loop in which the data stays the same object."""

    def obstacle(loop: StatementLoop) -> CannotEdit | None:
        name = dependence(script, loop, [base])
        return script.refuse(f"`{name}` changes in the loop", base) if name is not None else None

    found = outermost_loop(script, base, obstacle)
    if found is None:
        raise script.refuse("what is fed is not in a loop of this function", base)
    return found
