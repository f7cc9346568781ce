"""Outside values that change between steps: a compiled step would keep the traced ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.script import Script
from unslow.fix.moves.graph_rules import Offence
from unslow.syntax.nodes import (
    NamedFunction,
    StatementLoop,
    dotted,
    inside,
    is_stored,
    method_of,
    receiver_of,
    root_name,
    values_taken,
    words,
)
from unslow.syntax.python_types import STATIC_ATTRIBUTES
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import declared, uses

# Attributes that Keras keeps as variables: a compiled step reads what they hold.
_VARIABLES = words("learning_rate lr iterations")
_FILLS = words("append extend pop popleft appendleft insert clear")


def captured(
    script: Script,
    body: Sequence[ast.stmt],
    taken: set[str],
    function: NamedFunction | None = None,
    within: StatementLoop | None = None,
) -> Offence | None:
    """The first such value that the code, or a function of the script's that it calls, reads.

    `taken` are the names that the code is given; `function` is the one that it is the body of. With
    `within`, only what changes in that loop counts for the code itself: it is compiled in front of
    it.
    """
    found = _Code(script, body, taken, within).first()
    seen: set[ast.AST | None] = {function}
    waiting = _called(script, body)
    while waiting and found is None:
        callee = waiting.pop()
        if callee not in seen:
            seen.add(callee)
            found = _Code(script, callee.body, values_taken(callee)).first()
            waiting += _called(script, callee.body)
    return found


def _called(script: Script, body: Sequence[ast.stmt]) -> list[NamedFunction]:
    functions = [script.own_function(call) for call in inside(body, ast.Call)]
    return [function for function in functions if function is not None]


@dataclass
class _Code:
    """A piece of code, and what it reads of names and attributes that change outside of it."""

    script: Script
    body: Sequence[ast.stmt]
    taken: set[str]
    within: StatementLoop | None = None

    def __post_init__(self) -> None:
        self.own = set(inside(self.body, ast.AST))
        self.local = uses(self.body).writes | self.taken

    def first(self) -> Offence | None:
        return next(self._names(), None) or next(self._attributes(), None)

    def _names(self) -> Iterator[Offence]:
        for node in inside(self.body, ast.Name):
            known = is_stored(node) or node.id in self.local
            if not known and (self._is_rebound(node) or self._is_filled(node.id)):
                reason = f"it reads `{node.id}`, which changes from step to step outside of it"
                yield Offence(reason, node)

    def _attributes(self) -> Iterator[Offence]:
        for node in inside(self.body, ast.Attribute):
            if not is_stored(node) and self._is_set_in_loop(node):
                path = self.script.source(node)
                yield Offence(f"it reads `{path}`, which changes from step to step", node)

    def _is_rebound(self, node: ast.Name) -> bool:
        bindings = self.script.bindings(node.id, node)
        outside = [item for item in bindings if item.node not in self.own and not item.is_import]
        if self.within is None:
            return any(_is_repeated(self.script, item) for item in outside)
        loop = self.within
        return any(self.script.within(item.node, loop) for item in outside)

    def _is_filled(self, name: str) -> bool:
        """Whether a container of Python's is filled in a loop somewhere else."""
        filled = [node for node in _filled(self.script, name) if node not in self.own]
        return any(self.script.loops_around(node) for node in filled)

    def _is_set_in_loop(self, read: ast.Attribute) -> bool:
        """Whether an attribute is set in a loop or counted up somewhere else."""
        stores = self.script.attribute_stores(read)
        holder = ast.dump(read.value)
        same = [s for s in stores if s not in self.own and ast.dump(s.value) == holder]
        return any(_is_stored_again(self.script, store) for store in same)


def _is_stored_again(script: Script, store: ast.Attribute) -> bool:
    counted = isinstance(script.parents[store], ast.AugAssign)
    return counted or bool(script.loops_around(store))


def _filled(script: Script, name: str) -> Iterator[ast.expr]:
    """Where items are put into, or taken out of, a container of this name."""
    for call in script.every(ast.Call):
        is_method = method_of(call) in _FILLS and not script.name(call.func)  # not `np.append`
        if is_method and dotted(receiver_of(call)) == name:
            yield call
    for item in script.every(ast.Subscript):
        if is_stored(item) and dotted(item.value) == name:
            yield item


def _is_repeated(script: Script, binding: Binding) -> bool:
    """Whether a binding is made in every step."""
    node = binding.node
    counts = isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor)
    if counts or script.loops_around(node):
        return True
    function = script.function_of(node)
    if function is None or binding.name not in declared(function):
        return False
    return called_in_loop(script, function)


def called_in_loop(script: Script, function: NamedFunction) -> bool:
    """Whether the script calls a function from inside a loop, or from one that it calls so."""
    waiting, seen = [function], set[ast.AST]()
    while waiting:
        callee = waiting.pop()
        if callee in seen:
            continue
        seen.add(callee)
        calls = script.possible_calls(callee)
        if any(script.loops_around(call) for call in calls):
            return True
        callers = [script.function_of(call) for call in calls]
        waiting += [caller for caller in callers if caller is not None]
    return False


def reset_objects(
    script: Script, body: Sequence[ast.stmt], loops: Iterable[StatementLoop]
) -> Offence | None:
    """An attribute that the loops set on what the step uses, such as `trainable`."""
    own = set(inside(body, ast.Attribute))
    called, used = called_objects(body)
    objects = (called | used) - {"self", "cls"}
    for loop in loops:
        for node in inside(loop.body, ast.Attribute):
            ours = root_name(node) in objects and node.attr not in _VARIABLES
            sets = is_stored(node) and node not in own
            if sets and (ours or node.attr == "trainable"):
                path = script.source(node)
                reason = f"the loop sets `{path}`, which a compiled step would not notice"
                return Offence(reason, node)
        for function in _called_from(script, loop.body):
            for node in inside(function.body, ast.Attribute):
                if is_stored(node) and node.attr == "trainable" and node not in own:
                    path = script.source(node)
                    reason = f"the loop calls what sets `{path}`, which a compiled step would not "
                    return Offence(f"{reason}notice", node)
    return None


def _called_from(script: Script, body: Sequence[ast.stmt]) -> list[NamedFunction]:
    """The script's functions that code calls, itself or through others of them."""
    found: dict[NamedFunction, None] = {}
    waiting = _called(script, body)
    while waiting:
        function = waiting.pop()
        if function not in found:
            found[function] = None
            waiting += _called(script, function.body)
    return list(found)


def called_objects(statements: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """Names that code calls or updates weights with, and others whose attributes it uses."""
    called: set[str] = set()
    used: set[str] = set()
    statements = list(statements)
    for call in inside(statements, ast.Call):
        called |= {call.func.id} if isinstance(call.func, ast.Name) else set()
    for node in inside(statements, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.attr not in STATIC_ATTRIBUTES:
            (called if _is_of_a_model(node.attr) else used).add(node.value.id)
    return called, used - called


def _is_of_a_model(attribute: str) -> bool:
    updates = attribute in ("apply_gradients", "apply", "minimize")
    return updates or attribute.startswith("trainable_")
