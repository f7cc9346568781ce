"""The move for a Python loop that reads tensors element by element: fetch each tensor once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.running_numbers import (
    feeds_gradient,
    running_numbers,
    stacked_types,
    starting_values,
)
from unslow.fix.moves.shapes import call_by, is_call, mentions, names_in, reads
from unslow.syntax.library import TENSOR_LIKE, Kind
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import StatementLoop, inside, is_stored, last_name, method_of, words
from unslow.syntax.python_types import STATIC_ATTRIBUTES
from unslow.syntax.uses import bound_in

_TO_PYTHON = ("float", "int", "bool")  # `str` of a tensor also tells its shape
_HARMLESS = words("numpy append insert extend item format")
_WRAPPERS = ("zip", "enumerate", "reversed")


class Fetched(NamedTuple):
    script: Script
    is_exact: bool  # else NumPy may compute with more digits before the result is stored


def fetch_once(script: Script, line: int) -> Fetched:
    """`float(x[i])` in a loop becomes `float(x_values[i])`, with one `x.numpy()` before the loop.

    A comprehension takes the array where it stands: `for v in x.numpy()`. Only values are read so:
    what the loop does with an element may not need a tensor.
    """
    node = script.needed(script.statement_at(line), "there is no statement on this line", line)
    in_place = [
        edit for part in inside(node, ast.comprehension) for edit in _in_place(script, part)
    ]
    if in_place:
        return Fetched(script.edit(in_place), is_exact=True)
    loop = _loop(script, line)
    tensors = _tensors(script, loop)
    _require_unchanged(script, loop, tensors)
    numbers = running_numbers(script, loop, set(tensors))
    computed = {name for number in numbers for name in number.statements}
    found = [_Read(script, loop, name, computed) for name in tensors]
    is_exact = not numbers and not any(read.is_computed_with() for read in found)
    splices = [splice for read in found for splice in read.splices()]
    splices += starting_values(script, numbers)
    splices += stacked_types(script, numbers, {read.name: read.fetched for read in found})
    before = script.recorded(loop)
    # Two tensors of one zip() share their loop's targets.
    script = script.edit(list(dict.fromkeys(splices)))
    for read in found:
        script = insert_before(script, before, f"{read.fetched} = {read.name}.numpy()\n")
    return Fetched(script, is_exact)


def _in_place(script: Script, part: ast.comprehension) -> Iterator[Splice]:
    """The edits that let a comprehension iterate over the array of a tensor."""
    is_named = isinstance(part.iter, ast.Name) and isinstance(part.target, ast.Name)
    if not is_named or script.kind(part.iter) not in TENSOR_LIKE:
        return
    yield Splice(*script.span(part.iter), f"{script.source(part.iter)}.numpy()")
    for use in reads(script.parents[part], last_name(part.target)):
        yield from _as_value(script, use)


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


def _require_unchanged(script: Script, loop: StatementLoop, names: list[str]) -> None:
    """Raises where the loop may set a variable, or where no tensor has its values yet."""
    function = script.function_of(loop)
    is_traced = function is not None and script.traces.get(function) is not None
    script.refuse_if(is_traced, "the function is traced, and a graph has no values to fetch", loop)
    read = [node for node in inside(loop, ast.Name) if node.id in names]
    if not any(script.kind(node) is Kind.VARIABLE for node in read):
        return
    for call in inside(loop, ast.Call):
        name = script.name(call.func)
        known = is_builtin(name) or name.startswith(("tf.", "numpy.", "math."))
        if not known and method_of(call) not in _HARMLESS:
            what = script.source(call.func)
            raise script.refuse(f"`{what}` may set a variable that the loop reads", call)


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
            if element is None and iteration is None:
                if _is_about_shape(self.script, node):
                    continue
                reason = f"the loop also uses `{self.name}` as a whole"
                raise self.script.refuse(reason, node)
            if element is not None:
                yield self._indexed(node, element)
            elif iteration is not None:
                yield Splice(*self.script.span(node), self.fetched)
                for use in self._targets(iteration):
                    if not self._is_computed(use):
                        yield from _as_value(self.script, use)

    def _indexed(self, name: ast.Name, element: ast.Subscript) -> Splice:
        own = _own_fetch(self.script, element)
        if own is not None:
            index = self.script.source(element).removeprefix(self.name)
            return Splice(*self.script.span(own), f"{self.fetched}{index}")
        if not self._is_computed(element):
            _check_value(self.script, element)
        return Splice(*self.script.span(name), self.fetched)

    def _is_computed(self, element: ast.expr) -> bool:
        return self.script.statement_of(element) in self.computed

    def is_computed_with(self) -> bool:
        """Whether an element is computed with, where NumPy may keep more digits."""
        values = (part for node in mentions(self.loop, self.name) for part in self._values(node))
        return any(isinstance(self.script.parents[value], ast.BinOp) for value in values)

    def _values(self, node: ast.Name) -> list[ast.expr]:
        """The elements that one mention of the tensor gives: itself indexed, or loop targets."""
        element, iteration = _element(self.script, node), _iterated(self.script, node)
        if element is not None:
            return [element]
        return list(self._targets(iteration)) if iteration is not None else []

    def _targets(self, loop: ast.For) -> list[ast.Name]:
        """Where the elements of an iterated tensor are used."""
        names = names_in(loop.target)
        used = [node for node in inside(loop.body, ast.Name) if node.id in names]
        return [node for node in used if not is_stored(node)]


def _as_value(script: Script, use: ast.Name) -> Iterator[Splice]:
    """Check that only the value of an element is asked for; takes out its own `.numpy()`."""
    own = _own_fetch(script, use)
    if own is not None:
        yield Splice(*script.span(own), use.id)
    else:
        _check_value(script, use)


def _own_fetch(script: Script, element: ast.expr) -> ast.Call | None:
    match script.parents[element]:
        case ast.Attribute(attr="numpy") as method:
            return call_by(script, method)
    return None


def _check_value(script: Script, element: ast.expr) -> None:
    """Refuse where an element may have to be a tensor."""
    whole = _computed_from(script, element)
    match script.parents[whole]:
        case ast.Compare() | ast.If() | ast.While() | ast.UnaryOp(op=ast.Not()):
            return
        case ast.Call() as taker if _takes_values(script, taker, whole):
            return
        case ast.Attribute() if _is_about_shape(script, whole):
            return
    if _is_index(script, whole) or _stored_in_array(script, element) is not None:
        return
    raise script.refuse(f"`{script.source(element)}` may have to be a tensor here", element)


def _is_index(script: Script, node: ast.expr) -> bool:
    """Whether something is indexed by a value; tensors are no keys of dictionaries."""
    parent = script.parents[node]
    if isinstance(parent, ast.Tuple):
        return _is_index(script, parent)
    return isinstance(parent, ast.Subscript) and parent.slice is node


def _stored_in_array(script: Script, element: ast.expr) -> ast.expr | None:
    """The value around an element that an array takes in its own type, whatever it is made of."""
    whole = element
    while isinstance(parent := script.parents[whole], ast.BinOp):
        whole = parent
    match parent:
        case ast.Assign(targets=[ast.Subscript(value=filled)]):
            return whole if script.kind(filled) is Kind.ARRAY else None
        case ast.AugAssign(target=ast.Subscript(value=filled)):
            return whole if script.kind(filled) is Kind.ARRAY else None
    return None


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


def _takes_values(script: Script, call: ast.Call, value: ast.expr) -> bool:
    """Whether a call takes a number or an array as it takes a tensor.

    TensorFlow's functions give a result through which a gradient may flow, and take the type of
    what they are given first, or of a tensor.
    """
    name = script.name(call.func)
    if not name.startswith("tf."):
        return name in _TO_PYTHON or name.startswith("numpy.")
    others = [other for other in call.args if other is not value]
    is_leading = call.args[:1] == [value] or any(script.kind(x) in TENSOR_LIKE for x in others)
    return is_leading and not feeds_gradient(script, call, set())
