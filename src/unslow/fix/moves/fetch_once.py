"""The move for a Python loop that reads tensors element by element: fetch each tensor once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before, spelling
from unslow.fix.moves.running_numbers import running_numbers
from unslow.fix.moves.shapes import is_call, mentions, names_in, reads
from unslow.syntax.library import TENSOR_LIKE
from unslow.syntax.nodes import StatementLoop, inside, is_stored, last_name
from unslow.syntax.python_types import STATIC_ATTRIBUTES
from unslow.syntax.uses import bound_in

_TO_PYTHON = ("float", "int", "bool", "str")
_NUMBER = "numpy.float32"
_WRAPPERS = ("zip", "enumerate", "reversed")


def fetch_once(script: Script, line: int) -> Script:
    """`float(x[i])` in a loop becomes `float(x_values[i])`, with one `x.numpy()` before the loop.

    A comprehension takes the array where it stands: `for v in x.numpy()`. Only values are read so:
    what the loop does with an element may not need a tensor.
    """
    node = script.needed(script.statement_at(line), "there is no statement on this line", line)
    in_place = [
        edit for part in inside(node, ast.comprehension) for edit in _in_place(script, part)
    ]
    if in_place:
        return script.edit(in_place)
    loop = _loop(script, line)
    tensors = _tensors(script, loop)
    numbers = running_numbers(script, loop, set(tensors))
    computed = {name for number in numbers for name in number.statements}
    found = [_Read(script, loop, name, computed) for name in tensors]
    splices = [splice for read in found for splice in read.splices()]
    starts = [start for number in numbers for start in number.starts]
    for start in starts:
        real, imports = spelling(script, _NUMBER, start)
        splices += [*imports, Splice(*script.span(start.func), real)]
    # Two tensors of one zip() share their loop's targets.
    ordered = sorted(dict.fromkeys(splices), key=lambda splice: splice.start)
    if any(one.end > other.start for one, other in pairwise(ordered)):
        raise script.refuse("an element of one tensor is read by an element of another", line)
    before = script.recorded(loop)
    script = script.edit(ordered)
    for read in found:
        script = insert_before(script, before, f"{read.fetched} = {read.name}.numpy()\n")
    return script


def _in_place(script: Script, part: ast.comprehension) -> Iterator[Splice]:
    """The edits that let a comprehension iterate over the array of a tensor."""
    is_named = isinstance(part.iter, ast.Name) and isinstance(part.target, ast.Name)
    if not is_named or script.kind(part.iter) not in TENSOR_LIKE:
        return
    yield Splice(*script.span(part.iter), f"{script.source(part.iter)}.numpy()")
    for use in reads(script.parents[part], last_name(part.target)):
        yield _as_value(script, use, last_name(part.target))


def _loop(script: Script, line: int) -> StatementLoop:
    """The outermost loop around a line that takes a tensor from outside of it apart."""
    loops = script.loops_around(script.statement_at(line) or script.tree)
    statements = [loop for loop in loops if isinstance(loop, ast.For | ast.While)]
    script.refuse_if(not statements, "the line is not in a loop", line)
    found = [loop for loop in statements if _tensors(script, loop)]
    if not found:
        raise script.refuse("no tensor from outside of the loop is read element by element", line)
    return found[-1]


def _tensors(script: Script, loop: StatementLoop) -> list[str]:
    """Names of tensors from outside of a loop that it indexes or iterates over."""
    bound = bound_in(loop)
    names: dict[str, None] = {}
    for node in inside(loop, ast.Name):
        taken_apart = _element(script, node) is not None or _iterated(script, node) is not None
        known = script.kind(node) in TENSOR_LIKE
        if taken_apart and known and node.id not in bound and not is_stored(node):
            names[node.id] = None
    return list(names)


def _element(script: Script, node: ast.Name) -> ast.Subscript | None:
    match script.parents.get(node):
        case ast.Subscript(value=indexed) as parent if indexed is node:
            return parent
    return None


def _iterated(script: Script, node: ast.AST) -> ast.For | None:
    """The `for` that a name is iterated by, itself or through zip() and the like."""
    match script.parents.get(node):
        case ast.For(iter=iterated) as parent if iterated is node:
            return parent
        case ast.Call() as call if is_call(script, call, *_WRAPPERS):
            return _iterated(script, call)
    return None


def _is_about_shape(script: Script, node: ast.expr) -> bool:
    """Whether only the length, shape or type of a tensor is asked for, which costs nothing."""
    parent = script.parents[node]
    asks = isinstance(parent, ast.Attribute) and parent.attr in STATIC_ATTRIBUTES
    return asks or is_call(script, parent, "len")


@dataclass(frozen=True)
class _Read:
    """One tensor that a loop takes apart."""

    script: Script
    loop: StatementLoop
    name: str
    computed: set[ast.AST]  # statements that compute with numbers only

    @property
    def fetched(self) -> str:
        return self.script.fresh(f"{self.name}_values")

    def splices(self) -> Iterator[Splice]:
        """The array in the place of the tensor, wherever the loop reads an element."""
        for node in mentions(self.loop, self.name):
            element, iteration = _element(self.script, node), _iterated(self.script, node)
            if element is not None:
                index = self.script.source(element).removeprefix(self.name)
                yield self._value(element, f"{self.fetched}{index}")
            elif iteration is not None:
                yield Splice(*self.script.span(node), self.fetched)
                for use in self._targets(iteration):
                    yield self._value(use, use.id)
            elif not _is_about_shape(self.script, node):
                reason = f"the loop also uses `{self.name}` as a whole"
                raise self.script.refuse(reason, node)

    def _targets(self, loop: ast.For) -> list[ast.Name]:
        """Where the elements of an iterated tensor are used."""
        names = names_in(loop.target)
        used = [node for node in inside(loop.body, ast.Name) if node.id in names]
        return [node for node in used if not is_stored(node)]

    def _value(self, element: ast.expr, new: str) -> Splice:
        if self.script.statement_of(element) in self.computed:
            return Splice(*self.script.span(element), new)
        return _as_value(self.script, element, new)


def _as_value(script: Script, element: ast.expr, new: str) -> Splice:
    """Another text for an element whose value alone is asked for; with its own `.numpy()`."""
    whole = _computed_from(script, element)
    parent = script.parents[whole]
    match parent:
        case ast.Compare() | ast.If() | ast.While() | ast.UnaryOp(op=ast.Not()):
            return Splice(*script.span(element), new)
        case ast.Call(func=function) if _takes_values(script, function):
            return Splice(*script.span(element), new)
        case ast.Attribute(attr="numpy") if whole is element:
            return Splice(*script.span(script.parents[parent]), new)
        case ast.Attribute() if _is_about_shape(script, whole):
            return Splice(*script.span(element), new)
    reason = f"`{script.source(element)}` may have to be a tensor here"
    raise script.refuse(reason, element)


def _computed_from(script: Script, element: ast.expr) -> ast.expr:
    """The largest expression around an element that NumPy computes just as TensorFlow does."""
    parent = script.parents[element]
    match parent:
        case ast.Subscript(value=value) if value is element:
            return _computed_from(script, parent)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            other = right if left is element else left
            number = isinstance(other, ast.Constant) and isinstance(other.value, int | float)
            if number or script.kind(other) in TENSOR_LIKE:
                return _computed_from(script, parent)
    return element


def _takes_values(script: Script, function: ast.expr) -> bool:
    """Whether a function takes a number or an array as it takes a tensor."""
    name = script.name(function)
    return name in _TO_PYTHON or name.startswith(("tf.", "numpy."))
