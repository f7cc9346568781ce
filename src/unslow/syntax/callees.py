"""Which function or class of the user's a call leads to, through aliases, methods and other files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from unslow.syntax.names import Named, is_none
from unslow.syntax.nodes import FUNCTIONS, Function, argument, own_nodes
from unslow.syntax.scopes import Binding, How

if TYPE_CHECKING:
    from typing_extensions import Self

_COMPILERS = ("tf.function",)
_PARTIALS = ("functools.partial",)
Owner = TypeVar("Owner")


@dataclass(frozen=True)
class Definition(Generic[Owner]):
    """A function or class of the user's, and the file that it is in."""

    source: Owner
    node: Function | ast.ClassDef


class Called(Named):
    """A tree whose calls know what they call."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._defined: dict[ast.expr, Definition[Self] | None] = {}

    def callee(self, call: ast.Call) -> Definition[Self] | None:
        return self.definition(call.func)

    def definition(self, expression: ast.expr) -> Definition[Self] | None:
        """The one function or class that an expression stands for; None where there may be several."""
        if expression not in self._defined:
            self._defined[expression] = None  # stands for itself: nothing
            self._defined[expression] = self._define(expression)
        return self._defined[expression]

    def _define(self, expression: ast.expr) -> Definition[Self] | None:
        if isinstance(expression, ast.Lambda):
            return Definition(self, expression)
        if isinstance(expression, ast.Call):
            name = self.name(expression.func)
            wrapped = argument(expression, "func", 0) if name in (*_COMPILERS, *_PARTIALS) else None
            return self.definition(wrapped) if wrapped is not None else None
        if isinstance(expression, ast.Name):
            return self._only(self.reaching(expression))
        if isinstance(expression, ast.Attribute):
            outside = self._defined_elsewhere(self.full_name(expression))
            if outside is not None:
                return outside
            owner = self.class_of(expression.value)
            return (
                owner.source._only(owner.source.class_attribute(owner.node, expression.attr))
                if owner
                else None
            )
        return None

    def _only(self, bindings: list[Binding]) -> Definition[Self] | None:
        found = [self._bound(binding) for binding in bindings if not is_none(binding)]
        return (
            found[0]
            if len(found) == 1 or len({item and item.node for item in found}) == 1
            else None
        )

    def _bound(self, binding: Binding) -> Definition[Self] | None:
        if isinstance(binding.node, (*FUNCTIONS, ast.ClassDef)):
            return Definition(self, binding.node)
        if binding.how is How.ASSIGN and binding.value is not None and not binding.path:
            return self.definition(binding.value)
        return self._defined_elsewhere(binding.target) if binding.how is How.IMPORT else None

    def _defined_elsewhere(self, target: str) -> Definition[Self] | None:
        return self.follow(
            "definition", target, lambda source, name: source._own_definition(name), None
        )

    def _own_definition(self, name: str) -> Definition[Self] | None:
        return self._only(self.module.bindings.get(name, []))

    def class_of(self, expression: ast.expr) -> Instance[Self] | None:
        """The user's class that an expression is an instance of: `self`, or made by calling the class."""
        if isinstance(expression, ast.Call):
            made = self.definition(expression.func)
            return (
                Instance(made.source, made.node)
                if made and isinstance(made.node, ast.ClassDef)
                else None
            )
        if isinstance(expression, ast.Name):
            own = self.class_of_self(expression.id, self.scope_at(expression))
            return (
                Instance(self, own)
                if own is not None
                else self._class_bound(self.reaching(expression))
            )
        if isinstance(expression, ast.Attribute):
            return self._class_bound(self.attribute_bindings(expression))
        return None

    def _class_bound(self, bindings: list[Binding]) -> Instance[Self] | None:
        values = [binding for binding in bindings if not is_none(binding)]
        if len(values) != 1 or values[0].path or values[0].how not in (How.ASSIGN, How.WITH):
            return None
        value = values[0].value
        return self.class_of(value) if isinstance(value, ast.Call) else None

    def inherits(self, owner: ast.ClassDef, *names: str) -> bool:
        """Whether a class comes from one of some library classes, also through the user's other classes."""
        for candidate in self.lineage(owner):
            for base in candidate.bases:
                if self.name(base) in names:
                    return True
                found = self.definition(base)
                if found and found.source is not self and isinstance(found.node, ast.ClassDef):
                    return found.source.inherits(found.node, *names)
        return False

    def compiler(self, function: ast.AST) -> ast.expr | None:
        """The decorator that makes a function a `tf.function`, with or without arguments."""
        for decorator in getattr(function, "decorator_list", ()):
            if self.is_compiler(decorator):
                return decorator  # type: ignore[no-any-return]
        return None

    def is_compiler(self, decorator: ast.expr) -> bool:
        if not isinstance(decorator, ast.Call):
            return self.name(decorator) in _COMPILERS
        if self.name(decorator.func) in _COMPILERS:
            return True
        first = decorator.args[0] if decorator.args else None
        return self.name(decorator.func) in _PARTIALS and self.name(first) in _COMPILERS

    def returned(self, function: Function | ast.ClassDef) -> Iterator[ast.expr | None]:
        """What a function may return; nothing for a generator, whose results come one by one."""
        if isinstance(function, ast.Lambda):
            yield function.body
            return
        nodes = list(own_nodes(function))
        if not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
            yield from (node.value for node in nodes if isinstance(node, ast.Return))


@dataclass(frozen=True)
class Instance(Generic[Owner]):
    """An object of a class of the user's."""

    source: Owner
    node: ast.ClassDef
