"""Make the ops that a loop of a function makes for each item once, and keep them in a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import at_end
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_invariance import Invariance, own_name, stays_the_same
from unslow.fix.moves.insertion_point import Frames, Place, find_place
from unslow.fix.moves.op_expressions import free_names
from unslow.fix.moves.session_feeds import (
    assigned,
    feeding,
    fetched,
    is_run,
    made_parts,
    op_name,
)
from unslow.syntax.nodes import (
    NamedFunction,
    dotted,
    given_values,
    header_calls,
    inside,
    of_type,
    parameter_names,
)
from unslow.syntax.python_types import is_plain, put_into


@dataclass
class _Item:
    """A name that a loop binds, the sequence it comes from, and what stands in for it."""

    name: str
    sequence: ast.expr
    is_fixed: bool  # the sequence is the same at every call
    dtype: str = ""  # the placeholder's arguments, where it is fed
    placeholder: str = ""


@dataclass(frozen=True)
class _Loop:
    """A loop of a function, one statement of which runs an op that is made of its items."""

    script: Script
    function: NamedFunction
    node: ast.For
    run: ast.Call
    part: ast.expr  # what makes the op
    items: Sequence[_Item]

    def used(self) -> list[_Item]:
        """The items that the op is made of."""
        names = {name.id for name in free_names(self.script, self.part)}
        return [item for item in self.items if item.name in names]


def ops_per_item(script: Script, line: int, frames: Frames) -> Script:
    """`for v in variables: sess.run(v.assign(0.9 * v))`, in a function that is called repeatedly.

    The ops are made once, in a list beside the sequence that the loop goes over; what changes
    between the calls is fed. `frames` lead to the function's calls, its own first.
    """
    loop = _found(script, line)
    if loop is None:
        return script  # an edit before made them once
    needs = _required(loop)
    place = find_place(script, loop.function, needs.needs, frames[1:])
    ops = _name_all(loop, place)
    placeholder = script.alias("tf.compat.v1.placeholder", loop.function)
    if placeholder is None:
        raise script.refuse("TensorFlow is not imported at the top", loop.part)
    rows = [*_placeholders(loop, placeholder), f"{ops} = {_comprehension(loop)}"]
    newline = script.lines.newline
    text = "".join(f"{place.margin}{row}{newline}" for row in rows)
    made = at_end(script, place.offset, text + newline * 2 if place.gap else text)
    return script.edit([made, *_rewritten_loop(loop, ops)])


# What the loop does


def _found(script: Script, line: int) -> _Loop | None:
    node = script.statement_at(line)
    function = script.function_of(node) if node is not None else None
    around = script.loops_around(node) if node is not None else []
    if node is None or function is None or not around:
        return None
    runs = filter(is_run, header_calls(node))
    parts = [(run, part) for run in runs for part in made_parts(run)]
    if not parts:
        return None
    loop = around[0]
    is_alone = len(parts) == len(around) == 1 and script.parents[node] is loop
    script.refuse_if(not is_alone, "the loop does more than run one op for each item", node)
    if not isinstance(loop, ast.For) or script.parents[loop] is not function:
        raise script.refuse("the loop does not always run when its function does", loop)
    run, part = parts[0]
    is_only = part in fetched(run)
    script.refuse_if(not is_only, "the op is one of several that are run together", part)
    items = list(_items(script, function, loop))
    return _Loop(script, function, loop, run, part, items)


def _items(script: Script, function: NamedFunction, loop: ast.For) -> Iterator[_Item]:
    """The names that the loop binds, each with the sequence that its values are from."""
    match loop:
        case ast.For(target=ast.Name(id=name), iter=sequence):
            pairs = [(name, sequence)]
        case ast.For(
            target=ast.Tuple(elts=targets),
            iter=ast.Call(func=ast.Name(id="zip"), args=sequences, keywords=[]),
        ) if len(targets) == len(sequences):
            names = [target.id for target in of_type(targets, ast.Name)]
            pairs = list(zip(names, sequences, strict=False))
            script.refuse_if(len(names) < len(targets), "the loop takes its items apart", loop)
        case _:
            raise script.refuse("the loop goes over more than plain sequences", loop)
    own = own_name(script, function)
    for name, sequence in pairs:
        is_fixed = stays_the_same(script, own, sequence)
        if dotted(sequence) is None and not is_fixed:
            raise script.refuse("the loop goes over something that is made for it", sequence)
        yield _Item(name, sequence, is_fixed)


def _required(loop: _Loop) -> Invariance:
    """What the ops need; raises where they are not the same at every call."""
    script = loop.script
    bound = {item.name for item in loop.items}
    own = own_name(script, loop.function)
    check = Invariance(script, own)
    free = list(free_names(script, loop.part))
    names = [name for name in free if name.id in bound]
    for name in free:
        is_given = name.id in parameter_names(loop.function) - bound - {own}
        called = loop.function.name
        reason = f"`{name.id}` is an argument of `{called}`: what changes there has to be fed"
        script.refuse_if(is_given, reason, name)
    check.require(loop.part, set(names))
    fixed = [item for item in loop.used() if item.is_fixed]
    script.refuse_if(not fixed, "the ops are made of nothing that stays the same", loop.part)
    for item in fixed:
        check.require(item.sequence, set())
    for item in loop.used():
        if not item.is_fixed:
            reads = [name for name in names if name.id == item.name]
            item.dtype = _fed_as(loop, item, reads)
    return check


def _fed_as(loop: _Loop, item: _Item, reads: Sequence[ast.Name]) -> str:
    """The placeholder's arguments for an item that changes; raises where they are not known."""
    script = loop.script
    if not _holds_arrays(script, item.sequence):
        what = script.source(item.sequence)
        reason = f"`{what}` changes between the calls, and may hold more than arrays and numbers"
        raise script.refuse(reason, item.sequence)
    variable = _variable(loop)
    if variable is None or len(reads) != 1:
        raise script.refuse(f"the type of `{item.name}` is not known: it cannot be fed", reads[0])
    owner = script.parents[reads[0]]
    if isinstance(owner, ast.Call) and assigned(script, owner, reads[0]) is not None:
        return f"{variable}.dtype.base_dtype, {variable}.shape"
    match owner:
        case ast.BinOp(left=left, right=right):
            other = right if left is reads[0] else left
            if isinstance(other, ast.Name) and other.id == variable:
                return f"{variable}.dtype.base_dtype"
    raise script.refuse(f"the type of `{item.name}` is not known: it cannot be fed", reads[0])


def _variable(loop: _Loop) -> str | None:
    """The item that the op assigns to, which is surely a variable."""
    if not isinstance(loop.part, ast.Call):
        return None
    given = given_values(loop.part)
    targets = [dotted(assigned(loop.script, loop.part, value)) for value in given]
    fixed = [item.name for item in loop.items if item.is_fixed]
    return next((name for name in targets if name in fixed), None)


def _holds_arrays(script: Script, sequence: ast.expr) -> bool:
    """Whether a sequence surely holds arrays or numbers, what is put into it later included."""
    values = (sequence, *put_into(script, dotted(sequence)))
    return all(is_plain(script, value) for value in values)


# Text


def _name_all(loop: _Loop, place: Place) -> str:
    """Names the placeholders; the name of the list of ops."""
    script, own = loop.script, f"{place.own}." if place.own else ""
    for item in loop.used():
        if not item.is_fixed:
            item.placeholder = own + script.fresh(f"{item.name}_placeholders")
    wanted = op_name(loop.part) or "op"
    return own + script.fresh(f"{wanted}s")


def _placeholders(loop: _Loop, placeholder: str) -> Iterator[str]:
    variable = _variable(loop)
    for item in loop.items:
        if item.placeholder:
            source = next(other for other in loop.items if other.name == variable)
            sequence = loop.script.source(source.sequence)
            made = f"{placeholder}({item.dtype})"
            yield f"{item.placeholder} = [{made} for {variable} in {sequence}]"


def _comprehension(loop: _Loop) -> str:
    names = [item.name for item in loop.used()]
    sequences = [item.placeholder or loop.script.source(item.sequence) for item in loop.used()]
    return f"[{loop.script.source(loop.part)} for {_header(names, sequences)}]"


def _header(names: Sequence[str], sequences: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} in {sequences[0]}"
    return f"{', '.join(names)} in zip({', '.join(sequences)})"


def _rewritten_loop(loop: _Loop, ops: str) -> Iterator[Splice]:
    """The loop goes over the ops, with the placeholders and the items that it still needs."""
    script = loop.script
    op = script.fresh(op_name(loop.part) or "op")
    made_of = set(inside(loop.part, ast.Name))
    still_read = {name.id for name in set(inside(loop.node.body, ast.Name)) - made_of}
    names, sequences, entries = [op], [ops], []
    for item in loop.items:
        if item.placeholder:
            fed = script.fresh(f"{item.name}_placeholder")
            names.append(fed)
            sequences.append(item.placeholder)
            entries.append(f"{fed}: {item.name}")
        if item.placeholder or item.name in still_read or not item.is_fixed:
            names.append(item.name)
            sequences.append(script.source(item.sequence))
    start, end = script.span(loop.node.target)[0], script.span(loop.node.iter)[1]
    yield Splice(start, end, _header(names, sequences))
    yield replaced(script, loop.part, op)
    if entries:
        yield feeding(script, loop.run, ", ".join(entries))
