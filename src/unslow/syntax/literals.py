"""Follows a flag or a number to its literal, through the usual forms of configuration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from unslow.syntax.callees import default_of, is_spelled_out
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    argument,
    dotted,
    is_stored,
    last_name,
    method_of,
    of_type,
    positional_names,
    receiver_of,
)
from unslow.syntax.scopes import Binding, How

if TYPE_CHECKING:
    from unslow.syntax import Source

_DEEPEST = 20  # names that lead to names; a configuration that is longer is a puzzle
_CONVERSIONS = ("bool", "int", "float", "str")
_FIELDS = ("dataclasses.field", "attrs.field", "attr.ib")
_NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
Model = TypeVar("Model", bound="Source")


@dataclass(frozen=True)
class Literal(Generic[Model]):
    """Where the value is written: an expression, and the file that it stands in."""

    source: Model
    node: ast.expr

    @property
    def value(self) -> object:
        """The value of the literal, or of an expression of literals such as a list."""
        return ast.literal_eval(self.node)


class Obstacle(Exception):
    """Why the value cannot be followed further, and the place that stands in the way."""

    def __init__(self, reason: str, source: Source, node: ast.AST) -> None:
        super().__init__(reason)
        self.reason = reason
        self.source = source
        self.node = node

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 1))


class FromCommandLine(Obstacle):
    """The value is what the user typed: no text of the program gives it."""


def find_literal(source: Model, expression: ast.expr) -> Literal[Model]:
    """The literal that gives an expression its value; Obstacle where there is none."""
    found = _follow(source, expression, _DEEPEST)
    try:
        ast.literal_eval(found.node)
    except ValueError:
        what = ast.unparse(found.node)
        raise Obstacle(f"its value is computed by `{what}`", found.source, found.node) from None
    return found


def _follow(source: Model, expression: ast.expr, depth: int) -> Literal[Model]:
    """The expression that a name, attribute or item stands for, in whichever file it is."""
    if depth == 0:
        raise Obstacle("its value leads through too many names", source, expression)
    match expression:
        case ast.Name():
            return _from_bindings(source, expression, source.reaching(expression), depth)
        case ast.Attribute():
            return _from_attribute(source, expression, depth)
        case ast.Subscript(value=holder, slice=ast.Constant(value=str(key))):
            return _from_item(source, holder, key, None, depth)
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(), *_]):
            key = str(ast.literal_eval(expression.args[0]))
            return _from_item(source, holder, key, argument(expression, "default", 1), depth)
        case ast.Call(args=[inner]) if source.name(expression.func) in _CONVERSIONS:
            return _follow(source, inner, depth - 1)
    return Literal(source, expression)


# Names


def _from_bindings(
    source: Model, use: ast.expr, bindings: list[Binding], depth: int
) -> Literal[Model]:
    name = ast.unparse(use)
    if not bindings:
        raise Obstacle(f"nothing in this file gives `{name}` a value", source, use)
    if len(bindings) > 1:
        reason = f"`{name}` gets its value in more than one place"
        last = max((item.node for item in bindings), key=lambda node: getattr(node, "lineno", 0))
        raise Obstacle(reason, source, last)
    binding = bindings[0]
    if binding.is_import:
        return _imported(source, binding.target, binding.node, depth)
    if isinstance(binding.node, ast.arg):
        return _from_parameter(source, binding.node, depth)
    if binding.assigned is None:
        repeated = binding.how in (How.LOOP, How.AUGMENT)
        reason = f"`{name}` changes here" if repeated else f"`{name}` is no plain value"
        raise Obstacle(reason, source, binding.node)
    return _follow(source, binding.assigned, depth - 1)


def _imported(source: Model, target: str, node: ast.AST, depth: int) -> Literal[Model]:
    """What a name of another module of the program stands for there."""

    def ask(other: Model, name: str) -> Literal[Model]:
        use = ast.Name(name, ast.Load())
        ast.copy_location(use, other.tree.body[0])
        return _from_bindings(other, use, other.module.bindings.get(name, []), depth - 1)

    found = source.follow("literal", target, ask, None)
    if found is None:
        raise Obstacle(f"`{target}` is not a module of this program", source, node)
    return found


def _from_parameter(source: Model, parameter: ast.arg, depth: int) -> Literal[Model]:
    """What the calls of a function give, or its default where none of them gives it."""
    function = source.parents[source.parents[parameter]]
    if not isinstance(function, NAMED_FUNCTIONS):
        raise Obstacle(f"`{parameter.arg}` is the parameter of a lambda", source, parameter)
    calls = list(_calls_of(source, function))
    given = [_given(source, function, parameter, call) for call in calls]
    written = [value for value in given if value is not None]
    default = default_of(function, parameter)
    if len(written) == len(calls) == 1:
        return _follow(calls[0].source, written[0], depth - 1)
    if not written and default is not None:
        return _follow(source, default, depth - 1)
    if written:
        reason = f"the calls of `{function.name}` give different values for `{parameter.arg}`"
        raise Obstacle(reason, calls[-1].source, calls[-1].node)
    reason = f"no call in this file gives `{parameter.arg}` of `{function.name}` a value"
    raise Obstacle(reason, source, function)


def _calls_of(source: Model, function: NamedFunction) -> Iterator[Literal[Model]]:
    """The calls of a function in every file of the program; of `__init__`, what makes objects."""
    owner = source.class_of_method(function) if function.name == "__init__" else None
    calls = source.possible_calls(function)
    if owner is not None:
        inherited = [call for call in calls if _is_in_subclass(source, call, owner)]
        calls = [*source.callers(owner), *inherited]
    yield from (Literal(source, call) for call in calls)
    wanted = owner or function
    for other in source.other_files(wanted.name):
        calls = [call for call in other.every(ast.Call) if other.is_call_of(call, source, wanted)]
        yield from (Literal(other, call) for call in calls)


def _is_in_subclass(source: Source, call: ast.Call, owner: ast.ClassDef) -> bool:
    classes = of_type(source.ancestors(call), ast.ClassDef)
    return bool(classes) and owner.name in map(last_name, classes[0].bases)


def _given(
    source: Source, function: NamedFunction, parameter: ast.arg, call: Literal[Model]
) -> ast.expr | None:
    """The argument that a call gives to a parameter, also where it makes an object."""
    node = call.node
    assert isinstance(node, ast.Call)
    if not is_spelled_out(node):
        reason = f"the arguments of `{ast.unparse(node.func)}` are unpacked here"
        raise Obstacle(reason, call.source, node)
    if function.name == "__init__" and last_name(node.func) != "__init__":
        names = positional_names(function)[1:]
        position = names.index(parameter.arg) if parameter.arg in names else None
        return argument(node, parameter.arg, position)
    return source.argument_for(node, function, parameter)


# Items of dictionaries


def _from_item(
    source: Model, holder: ast.expr, key: str, default: ast.expr | None, depth: int
) -> Literal[Model]:
    held = _follow(source, holder, depth - 1)
    for origin, path in ((source, dotted(holder)), (held.source, _name_of(held))):
        for store in _item_stores(origin, path, key):
            raise Obstacle(f"`{path}[{key!r}]` is set again here", origin, store)
    value = _item(held, key)
    if value is not None:
        return _follow(held.source, value, depth - 1)
    if default is None:
        raise Obstacle(f"`{ast.unparse(holder)}` has no {key!r} here", held.source, held.node)
    return _follow(source, default, depth - 1)


def _name_of(held: Literal[Model]) -> str | None:
    """The name that an expression is assigned to."""
    match held.source.parents.get(held.node):
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return dotted(target)
    return None


def _item(held: Literal[Model], key: str) -> ast.expr | None:
    """The value of a key in a dictionary that is written out."""
    match held.node:
        case ast.Dict(keys=keys, values=values) if None not in keys:
            names = [item.value if isinstance(item, ast.Constant) else None for item in keys]
            return values[len(names) - 1 - names[::-1].index(key)] if key in names else None
        case ast.Call(args=[]) if held.source.name(held.node.func) == "dict":
            return argument(held.node, key)
    what = ast.unparse(held.node)
    raise Obstacle(f"`{what}` is no dictionary that is written out", held.source, held.node)


def _item_stores(source: Source, path: str | None, key: str) -> Iterator[ast.AST]:
    for item in source.every(ast.Subscript):
        same_key = isinstance(item.slice, ast.Constant) and item.slice.value == key
        if is_stored(item) and same_key and dotted(item.value) == path:
            yield item
    for call in source.every(ast.Call):
        updates = method_of(call) in ("update", "setdefault", "pop")
        if updates and dotted(receiver_of(call)) == path:
            yield call


# Attributes of modules, objects and namespaces


def _from_attribute(source: Model, expression: ast.Attribute, depth: int) -> Literal[Model]:
    module = source.full_name(expression.value)
    if module and source.neighbour(module) is not None:
        return _imported(source, f"{module}.{expression.attr}", expression, depth)
    own = source.attribute_bindings(expression)
    if own:
        return _from_bindings(source, expression, own, depth)
    made = source.definition(expression.value)
    if made is not None and isinstance(made.node, ast.ClassDef):
        bindings = made.source.class_attribute(made.node, expression.attr)
        return _from_bindings(made.source, expression, bindings, depth)
    held = _follow(source, expression.value, depth - 1)
    for store in source.attribute_stores(expression.attr):
        if dotted(store.value) == dotted(expression.value):
            raise Obstacle(f"`{ast.unparse(store)}` is set again here", source, store)
    return _from_object(held, expression, depth)


def _from_object(held: Literal[Model], expression: ast.Attribute, depth: int) -> Literal[Model]:
    """An attribute of the object that a call makes."""
    source, call, name = held.source, held.node, expression.attr
    if not isinstance(call, ast.Call):
        reason = f"`{ast.unparse(call)}` has no attribute that is written out"
        raise Obstacle(reason, source, call)
    if method_of(call) == "parse_args":
        return _follow(source, _argparse_default(source, call, name), depth - 1)
    value = argument(call, name) if source.name(call.func) in _NAMESPACES else None
    if value is not None:
        return _follow(source, value, depth - 1)
    made = source.callee(call)
    if made is None or not isinstance(made.node, ast.ClassDef):
        raise Obstacle(f"`{ast.unparse(call.func)}` gives its value", source, call)
    return _field(made.source, made.node, Literal(source, call), name, depth)


def _field(
    source: Model, owner: ast.ClassDef, made: Literal[Model], name: str, depth: int
) -> Literal[Model]:
    """A field of a dataclass: as the call that makes the object gives it, or its default."""
    assert isinstance(made.node, ast.Call)
    fields = of_type(owner.body, ast.AnnAssign)
    names = [last_name(node.target) for node in fields]
    position = names.index(name) if name in names else None
    given = argument(made.node, name, position)
    if given is not None:
        return _follow(made.source, given, depth - 1)
    bindings = source.class_attribute(owner, name)
    use = ast.copy_location(ast.Name(name, ast.Load()), owner)
    default = bindings[0].assigned if len(bindings) == 1 else None
    if isinstance(default, ast.Call) and source.name(default.func) in _FIELDS:
        return _follow(source, _default_of_field(source, default), depth - 1)
    return _from_bindings(source, use, bindings, depth)


def _default_of_field(source: Source, field: ast.Call) -> ast.expr:
    """The value that `dataclasses.field` gives where an object is made without one."""
    default, factory = argument(field, "default"), argument(field, "default_factory")
    if default is not None:
        return default
    if factory is None:
        raise Obstacle(f"`{ast.unparse(field)}` gives no default", source, field)
    if isinstance(factory, ast.Lambda):
        return factory.body
    return ast.copy_location(ast.Call(factory, [], []), factory)


def _argparse_default(source: Source, call: ast.Call, name: str) -> ast.expr:
    """The default of an option of a command-line parser."""
    for option in source.every(ast.Call):
        if method_of(option) == "add_argument" and name in _option_names(option):
            action = argument(option, "action")
            default = argument(option, "default")
            if default is not None:
                return default
            what = ast.unparse(action) if action is not None else "no default"
            reason = f"`{name}` comes from the command line ({what})"
            raise FromCommandLine(reason, source, option)
    raise Obstacle(f"no option of the parser is called `{name}`", source, call)


def _option_names(option: ast.Call) -> list[str]:
    given = [*option.args, argument(option, "dest")]
    texts = [part.value for part in of_type(given, ast.Constant)]
    return [str(text).lstrip("-").replace("-", "_") for text in texts]
