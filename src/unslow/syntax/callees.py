"""Which function or class of the user's a call leads to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

from unslow.syntax.class_families import share_objects
from unslow.syntax.given import Given
from unslow.syntax.names import is_none, sole_value
from unslow.syntax.nodes import (
    FUNCTIONS,
    NAMED_FUNCTIONS,
    Function,
    NamedFunction,
    argument,
    has_starred,
    is_stored,
    last_name,
    parameters,
)
from unslow.syntax.scopes import Binding, How

if TYPE_CHECKING:
    from typing_extensions import Self

_COMPILER = "tf.function"
_PARTIAL = "functools.partial"
Owner = TypeVar("Owner")


@dataclass(frozen=True)
class Definition(Generic[Owner]):
    """A function or class of the user's, and the file that it is in."""

    source: Owner
    node: Function | ast.ClassDef


@dataclass(frozen=True)
class Instance(Generic[Owner]):
    """An object of a class of the user's."""

    source: Owner
    node: ast.ClassDef


class Called(Given):
    """A tree whose calls know what they call."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._defined: dict[ast.expr, Definition[Self] | None] = {}
        self._stores: dict[ast.Attribute, list[Binding]] = {}
        self._asked_classes: set[ast.AST] = set()

    def callee(self, call: ast.Call) -> Definition[Self] | None:
        return self.definition(call.func)

    def own_function(self, call: ast.Call) -> NamedFunction | None:
        """The function of this file that a call runs, also the `call` of a model or layer."""
        found = self.callee(call)
        if found is None:
            made = self.class_of(call.func)
            if made is not None:
                found = self._attribute_of(made, "call") or self._attribute_of(made, "__call__")
        if found is None or found.source is not self:
            return None
        return found.node if isinstance(found.node, NAMED_FUNCTIONS) else None

    def _attribute_of(self, owner: Instance[Self], name: str) -> Definition[Self] | None:
        return owner.source._only(owner.source.class_attribute(owner.node, name))

    def definition(self, expression: ast.expr) -> Definition[Self] | None:
        """The function or class that an expression stands for; None if there may be several."""
        if expression not in self._defined:
            self._defined[expression] = None  # stands for itself: nothing
            self._defined[expression] = self._define(expression)
        return self._defined[expression]

    def _define(self, expression: ast.expr) -> Definition[Self] | None:
        match expression:
            case ast.Lambda():
                return Definition(self, expression)
            case ast.Name():
                return self._only(self.reaching(expression))
            case ast.Call(func=function):
                wraps = self.name(function) in (_COMPILER, _PARTIAL)
                wrapped = argument(expression, "func", 0) if wraps else None
                return self.definition(wrapped) if wrapped is not None else None
            case ast.Attribute(value=holder, attr=name):
                outside = self._defined_elsewhere(self.full_name(expression))
                owner = None if outside is not None else self.class_of(holder)
                return self._attribute_of(owner, name) if owner is not None else outside
        return None

    def _only(self, bindings: list[Binding]) -> Definition[Self] | None:
        found = [self._bound(binding) for binding in bindings if not is_none(binding)]
        nodes = {item and item.node for item in found}
        return found[0] if len(nodes) == 1 else None

    def _bound(self, binding: Binding) -> Definition[Self] | None:
        if isinstance(binding.node, (*FUNCTIONS, ast.ClassDef)):
            return Definition(self, binding.node)
        if binding.assigned is not None:
            return self.definition(binding.assigned)
        return self._defined_elsewhere(binding.target) if binding.is_import else None

    def _defined_elsewhere(self, target: str) -> Definition[Self] | None:
        return self.follow(
            "definition",
            target,
            lambda source, name: source._only(source.module.bindings.get(name, [])),
            None,
        )

    # Classes

    def class_of(self, expression: ast.expr) -> Instance[Self] | None:
        """The user's class of an expression: `self`, or what a call of the class makes."""
        match expression:
            case ast.Call(func=function):
                made = self.definition(function)
                if made is not None and isinstance(made.node, ast.ClassDef):
                    return Instance(made.source, made.node)
            case ast.Name(id=name):
                own = self.class_of_self(name, self.scope_at(expression))
                if own is not None:
                    return Instance(self, own)
                return self._class_bound(self.reaching(expression))
            case ast.Attribute():
                return self._class_bound(self.attribute_bindings(expression))
        return None

    def _class_bound(self, bindings: list[Binding]) -> Instance[Self] | None:
        match [binding.node for binding in bindings if not is_none(binding)]:
            case [ast.arg() as parameter]:
                return self._class_given(parameter)
        value = sole_value(bindings)
        return self.class_of(value) if isinstance(value, ast.Call) else None

    def _class_given(self, parameter: ast.arg) -> Instance[Self] | None:
        """The class of what all calls give to a parameter."""
        if parameter in self._asked_classes:
            return None
        self._asked_classes.add(parameter)
        try:
            found = [self.class_of(value) for value in self.values_given(parameter)]
        finally:
            self._asked_classes.discard(parameter)
        return found[0] if len({item and item.node for item in found}) == 1 else None

    def inherits(self, owner: ast.ClassDef, *names: str) -> bool:
        """Whether a class derives from one of some library classes, at any distance."""
        for candidate in self.lineage(owner):
            for base in candidate.bases:
                if self.name(base) in names:
                    return True
                found = self.definition(base)
                if found and found.source is not self and isinstance(found.node, ast.ClassDef):
                    return found.source.inherits(found.node, *names)
        return False

    def attribute_stores(self, read: ast.Attribute) -> list[ast.Attribute]:
        """Where this file sets an attribute of what may be the object that it is read from."""
        return self._stores_of(read.attr, self._owner_of(read))

    def stores_elsewhere(self, read: ast.Attribute) -> Iterator[ast.Attribute]:
        """As `attribute_stores`, in the program's other files."""
        for other in self.other_files(read.attr):
            yield from other._stores_of(read.attr, self._owner_of(read))

    def _stores_of(self, name: str, reader: str | None) -> list[ast.Attribute]:
        """Where an attribute is set, except on objects that are of no class of the reader's."""
        found = []
        for node in self.every(ast.Attribute):
            if node.attr == name and is_stored(node):
                owner = self._owner_of(node)
                if reader is None or owner is None or share_objects(self, owner, reader):
                    found.append(node)
        return found

    def _owner_of(self, attribute: ast.Attribute) -> str | None:
        """The name of the class whose `self` has an attribute."""
        if not isinstance(attribute.value, ast.Name) or attribute not in self.parents:
            return None
        owner = self.class_of_self(attribute.value.id, self.scope_at(attribute))
        return owner.name if owner is not None else None

    def store_bindings(self, store: ast.Attribute) -> list[Binding]:
        """How an attribute is set at one place; nothing where that is not known."""
        if store not in self._stores:
            match self.parents[store]:
                case ast.Assign(value=value) as node if store in node.targets:
                    found = [Binding(store.attr, How.ASSIGN, node, value)]
                case ast.AugAssign(value=value) as node:
                    found = [Binding(store.attr, How.AUGMENT, node, value)]
                case ast.Tuple(elts=targets) as unpacked:
                    found = self._unpacked(store, unpacked, targets.index(store))
                case _:
                    found = []
            self._stores[store] = found
        return self._stores[store]

    def _unpacked(self, store: ast.Attribute, targets: ast.Tuple, place: int) -> list[Binding]:
        """`self.a, self.b = a, b`, where both sides are written out."""
        match self.parents[targets]:
            case ast.Assign(value=ast.Tuple(elts=values)) as node if targets in node.targets:
                whole = not has_starred(values) and not has_starred(targets.elts)
                if whole and len(values) == len(targets.elts):
                    return [Binding(store.attr, How.ASSIGN, node, values[place])]
        return []

    def assignments(self, expression: ast.AST) -> list[Binding]:
        """All that gives a name, or an attribute of what may be the same object, its value."""
        if isinstance(expression, ast.Name):
            return self.bindings(expression.id, expression)
        found: list[Binding] = []
        if isinstance(expression, ast.Attribute):
            for store in self.attribute_stores(expression):
                found += self.store_bindings(store) or [Binding(store.attr, How.OPAQUE, store)]
        return found

    def possible_values(self, expression: ast.AST) -> list[ast.expr | None]:
        """What a name or attribute may hold; None for what is not known."""
        found: list[ast.expr | None] = []
        for binding in self.assignments(expression):
            if isinstance(binding.node, ast.arg):
                found += self.values_given(binding.node)
            else:
                found.append(binding.assigned)
        return found

    # Compiled functions

    def compiler(self, function: ast.AST) -> ast.expr | None:
        """The decorator that makes a function a `tf.function`, with or without arguments."""
        decorators: list[ast.expr] = getattr(function, "decorator_list", [])
        return next((item for item in decorators if self.is_compiler(item)), None)

    def is_compiler(self, decorator: ast.expr) -> bool:
        match decorator:
            case ast.Call(func=function, args=[wrapped, *_]) if self.name(function) == _PARTIAL:
                decorator = wrapped
            case ast.Call(func=function):
                decorator = function
        return self.name(decorator) == _COMPILER

    # Callers

    @cached_property
    def _callers(self) -> dict[ast.AST, list[ast.Call]]:
        found: dict[ast.AST, list[ast.Call]] = {}
        for call in self.every(ast.Call):
            definition = self.callee(call)
            if definition is not None and definition.source is self:
                found.setdefault(definition.node, []).append(call)
        return found

    def callers(self, function: ast.AST) -> list[ast.Call]:
        """The calls in this file that surely lead to a function."""
        return self._callers.get(function, [])

    def is_call_of(
        self, call: ast.Call, other: Self, definition: NamedFunction | ast.ClassDef
    ) -> bool:
        """Whether a call leads to a definition in another file of the program.

        A package may hand the name on in an `__init__.py` that is not known: then the name and the
        folder tell.
        """
        if last_name(call.func) != definition.name:
            return False
        found = self.callee(call)
        if found is not None:
            # This file parsed the other one for itself: the same definition is on the same line.
            return (found.source.path, found.node.lineno) == (other.path, definition.lineno)
        package, _, name = self.full_name(call.func).rpartition(".")
        folders = PurePath(other.path).parts[:-1]
        return name == definition.name and package.partition(".")[0] in folders

    def argument_for(
        self, call: ast.Call, function: ast.AST, parameter: ast.arg
    ) -> ast.expr | None:
        """The argument that a call gives to a parameter."""
        names = list(parameters(function))
        bound = isinstance(call.func, ast.Attribute) and self.class_of_method(function) is not None
        return argument(call, parameter.arg, names.index(parameter) - (1 if bound else 0))
