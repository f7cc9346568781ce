"""What functions return, and what calls give to them, by the names of functions alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from unslow.syntax.names import Named
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    Function,
    NamedFunction,
    argument,
    has_starred,
    last_name,
    own_nodes,
    positional_names,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_Mention: TypeAlias = type[ast.Name] | type[ast.Attribute]


class Given(Named):
    """A tree that knows what the parameters of its functions are given."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._given: dict[ast.arg, list[tuple[Self, ast.expr]] | None] = {}
        self._is_elsewhere = False  # another file asked: no question leads further

    def returned(self, function: Function | ast.ClassDef) -> Iterator[ast.expr | None]:
        """What a function may return; nothing for a generator, whose results come one by one."""
        if isinstance(function, ast.Lambda):
            yield function.body
            return
        nodes = list(own_nodes(function))
        if not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
            yield from (node.value for node in nodes if isinstance(node, ast.Return))

    def possible_calls(self, function: NamedFunction) -> list[ast.Call]:
        """Calls in this file that may lead to a function, by name or as a method of anything."""
        wanted = self._mention_type(function)
        calls = [call for call in self.every(ast.Call) if isinstance(call.func, wanted)]
        return [call for call in calls if last_name(call.func) == function.name]

    def _mention_type(self, function: NamedFunction) -> _Mention:
        return ast.Attribute if self.class_of_method(function) is not None else ast.Name

    def arguments_given(self, function: NamedFunction) -> Iterator[tuple[str, ast.expr, ast.Call]]:
        """What the calls in this file give to which parameter of a function."""
        for call in self.possible_calls(function):
            yield from ((name, value, call) for name, value in self.arguments_of(function, call))

    def arguments_of(
        self, function: NamedFunction, call: ast.Call
    ) -> Iterator[tuple[str, ast.expr]]:
        """The parameters of a function with what a call spells out for them.

        A call of a class gives them to its `__init__`.
        """
        names = positional_names(function)
        is_made = function.name == "__init__" and last_name(call.func) != "__init__"
        is_bound = not isinstance(call.func, ast.Name)
        if self.class_of_method(function) is not None and (is_made or is_bound):
            names = names[1:]
        for name, value in zip(names, call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            yield name, value
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value

    def values_given(self, parameter: ast.arg) -> list[ast.expr]:
        """All that a parameter may hold, its default included; nothing if it may be more."""
        given = self.given_anywhere(parameter) or []
        is_own = all(source is self for source, _ in given)
        return [value for _, value in given] if is_own else []

    def given_anywhere(self, parameter: ast.arg) -> list[tuple[Self, ast.expr]] | None:
        """What all calls in the program give to a parameter, by file; None if it may be more."""
        if parameter not in self._given:
            self._given[parameter] = None  # of a call inside of another file: not known
            self._given[parameter] = self._gather_given(parameter)
        return self._given[parameter]

    def _gather_given(self, parameter: ast.arg) -> list[tuple[Self, ast.expr]] | None:
        function = self.parents[self.parents[parameter]]
        if not isinstance(function, NAMED_FUNCTIONS) or function.decorator_list:
            return None
        if parameter in (function.args.vararg, function.args.kwarg):
            return None
        owner, names = self.class_of_method(function), positional_names(function)
        called: list[tuple[str, _Mention]] = [(function.name, self._mention_type(function))]
        if owner is not None:
            names = names[1:]
            called += [(owner.name, ast.Name)] if function.name == "__init__" else []
        position = names.index(parameter.arg) if parameter.arg in names else None
        default = default_of(function, parameter)
        found = [] if default is None else [(self, default)]
        for name, mention in called:
            for source in (self, *self.other_files(name)):
                calls = self._calls_in(source, name, mention)
                if calls is None:
                    return None
                given = [argument(call, parameter.arg, position) for call in calls]
                found += [(source, value) for value in given if value is not None]
        return found

    def _calls_in(self, source: Self, name: str, mention: _Mention) -> list[ast.Call] | None:
        """The calls in a file; None where one is not sure, or that file was asked by another."""
        if source is self:
            return self._calls_of_name(self.every(mention), name)
        if self._is_elsewhere:
            return None
        source._is_elsewhere = True
        mentions = [*source.every(ast.Name), *source.every(ast.Attribute)]
        return source._calls_of_name(mentions, name)

    def _calls_of_name(self, mentions: Sequence[ast.expr], name: str) -> list[ast.Call] | None:
        """All calls of functions of a name; None where it is used in any other way."""
        calls = []
        for node in mentions:
            if last_name(node) != name:
                continue
            match self.parents[node]:
                case ast.Call(func=function) as call if function is node and is_spelled_out(call):
                    calls.append(call)
                case _:
                    return None
        return calls


def is_spelled_out(call: ast.Call) -> bool:
    """Whether every argument of a call is written out: nothing is unpacked."""
    return not has_starred(call.args) and all(keyword.arg for keyword in call.keywords)


def default_of(function: NamedFunction, parameter: ast.arg) -> ast.expr | None:
    """The default value of a parameter."""
    signature = function.args
    positional = [*signature.posonlyargs, *signature.args]
    with_default = positional[len(positional) - len(signature.defaults) :]
    defaults = [
        *zip(with_default, signature.defaults, strict=True),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    ]
    return next((value for name, value in defaults if name is parameter), None)
