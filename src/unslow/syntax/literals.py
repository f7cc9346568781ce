"""Follows a flag or a number to its literal, through the usual forms of configuration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from unslow.syntax.given import default_of
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    argument,
    dotted,
    has_decorator,
    has_starred,
    is_constant,
    is_stored,
    last_name,
    method_of,
    of_type,
    receiver_of,
)
from unslow.syntax.scopes import Binding, How

if TYPE_CHECKING:
    from unslow.syntax import Source

_DEEPEST = 20  # names that lead to names; a configuration that is longer is a puzzle
_CONVERSIONS = ("bool", "int", "float", "str")
_FIELDS = ("dataclasses.field", "attrs.field", "attr.ib")
_NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
_REPLACES = ("dataclasses.replace", "copy.replace")
_PROPERTIES = ("property", "cached_property")
_FLAGS = ("flags.FLAGS", "flags.FLAGS.value")
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


def without_not(flag: ast.expr, wanted: bool) -> tuple[ast.expr, bool]:
    """`fast` and True, for `not fast` and False."""
    while isinstance(flag, ast.UnaryOp) and isinstance(flag.op, ast.Not):
        flag, wanted = flag.operand, not wanted
    return flag, wanted


def find_literal(source: Model, expression: ast.expr) -> Literal[Model]:
    """The literal that gives an expression its value; Obstacle where there is none."""
    found = _follow(source, expression, _DEEPEST)
    try:
        ast.literal_eval(found.node)
    except ValueError:
        what = ast.unparse(found.node)
        raise Obstacle(f"its value is computed by `{what}`", found.source, found.node) from None
    return found


def find_parts(source: Model, whole: ast.expr) -> tuple[Model, dict[object, ast.expr]]:
    """The parts of a dictionary, tuple or plain object that is written out, and their file."""
    held = _follow(source, whole, _DEEPEST)
    parts: dict[object, ast.expr] = {}
    match held.node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = dict(enumerate(elements))
        case ast.Dict():
            parts = dict(_parts(held))
        case ast.Call() as call:
            made = held.source.callee(call)
            names = _tuple_fields(held.source, call)
            if made is not None and isinstance(made.node, ast.ClassDef):
                fields = of_type(made.node.body, ast.AnnAssign)
                names = [last_name(field.target) for field in fields]
            given = {name: argument(call, name, place) for place, name in enumerate(names)}
            parts = {name: value for name, value in given.items() if value is not None}
    if not parts or None in parts:
        reason = f"`{ast.unparse(held.node)}` does not spell its parts out"
        raise Obstacle(reason, held.source, held.node)
    return held.source, parts


def _follow(source: Model, expression: ast.expr, depth: int) -> Literal[Model]:
    """The expression that a name, attribute or item stands for, in whichever file it is."""
    if depth == 0:
        raise Obstacle("its value leads through too many names", source, expression)
    made_here = Literal(source, expression)
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
        case ast.Call():
            returned = _returned(source, expression)
            return _follow(returned.source, returned.node, depth - 1) if returned else made_here
        case ast.IfExp():
            return _chosen(source, expression, depth)
    return made_here


def _returned(source: Model, call: ast.Call) -> Literal[Model] | None:
    """What a call of a function of the program gives, where only one `return` does."""
    made = source.callee(call)
    if made is None or isinstance(made.node, ast.ClassDef):
        return None
    match list(made.source.returned(made.node)):
        case [ast.expr() as value]:
            return Literal(made.source, value)
    return None


def _chosen(source: Model, choice: ast.IfExp, depth: int) -> Literal[Model]:
    """`default if given is None else given`, where it is known whether it is None."""
    match choice.test:
        case ast.Compare(left=tested, ops=[ast.Is() | ast.IsNot() as how], comparators=[other]):
            if is_constant(other, None):
                is_none = is_constant(_follow(source, tested, depth - 1).node, None)
                taken = choice.body if is_none == isinstance(how, ast.Is) else choice.orelse
                return _follow(source, taken, depth - 1)
    return Literal(source, choice)


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
    if isinstance(binding.node, NAMED_FUNCTIONS) and has_decorator(binding.node, *_PROPERTIES):
        match list(source.returned(binding.node)):
            case [ast.expr() as value]:
                return _follow(source, value, depth - 1)
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
    calls = list(program_calls(source, function))
    given = [_given(source, function, parameter, call, depth) for call in calls]
    written = [value for value in given if value is not None]
    default = default_of(function, parameter)
    if len(written) == len(calls) == 1:
        return _follow(written[0].source, written[0].node, depth - 1)
    if not written and default is not None:
        return _follow(source, default, depth - 1)
    if written:
        reason = f"the calls of `{function.name}` give different values for `{parameter.arg}`"
        raise Obstacle(reason, calls[-1].source, calls[-1].node)
    reason = f"no call in this file gives `{parameter.arg}` of `{function.name}` a value"
    raise Obstacle(reason, source, function)


def program_calls(source: Model, function: NamedFunction) -> Iterator[Literal[Model]]:
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
    source: Source, function: NamedFunction, parameter: ast.arg, call: Literal[Model], depth: int
) -> Literal[Model] | None:
    """The argument that a call gives to a parameter, also where it makes an object."""
    node = call.node
    assert isinstance(node, ast.Call)
    unpacked = f"the arguments of `{ast.unparse(node.func)}` are unpacked here"
    if has_starred(node.args):
        raise Obstacle(unpacked, call.source, node)
    value = dict(source.arguments_of(function, node)).get(parameter.arg)
    if value is not None:
        return Literal(call.source, value)
    try:
        return _keyword(call.source, node, parameter.arg, depth)
    except Obstacle:
        raise Obstacle(unpacked, call.source, node) from None


# Items of dictionaries


def _from_item(
    source: Model, holder: ast.expr, key: str, default: ast.expr | None, depth: int
) -> Literal[Model]:
    value = _item(source, holder, key, depth - 1)
    if value is not None:
        return _follow(value.source, value.node, depth - 1)
    if default is None:
        held = _follow(source, holder, depth - 1)
        raise Obstacle(f"`{ast.unparse(holder)}` has no {key!r} here", held.source, held.node)
    return _follow(source, default, depth - 1)


def _name_of(held: Literal[Model]) -> str | None:
    """The name that an expression is assigned to."""
    match held.source.parents.get(held.node):
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return dotted(target)
    return None


def _item(source: Model, holder: ast.expr, key: str, depth: int) -> Literal[Model] | None:
    """The value of a key in a dictionary that is written out, or joined of such."""
    held = _follow(source, holder, depth)
    for origin, path in ((source, dotted(holder)), (held.source, _name_of(held))):
        for store in _item_stores(origin, path, key):
            raise Obstacle(f"`{path}[{key!r}]` is set again here", origin, store)
    for name, part in reversed(_parts(held)):
        if name == key:
            return Literal(held.source, part)
        inner = _item(held.source, part, key, depth - 1) if name is None else None
        if inner is not None:
            return inner
    return None


def _parts(held: Literal[Model]) -> list[tuple[object, ast.expr]]:
    """The keys and values of a dictionary, in their order; None for a dictionary within it."""
    match held.node:
        case ast.Dict(keys=keys, values=values):
            names = [_key(held.source, key) for key in keys]
            return list(zip(names, values, strict=True))
        case ast.Call(args=args) if held.source.name(held.node.func) == "dict" and len(args) < 2:
            given = [(word.arg, word.value) for word in held.node.keywords]
            return [*((None, value) for value in args), *given]
        case ast.Call(func=ast.Attribute(value=copied, attr="copy"), args=[]):
            return [(None, copied)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [(None, left), (None, right)]
    what = ast.unparse(held.node)
    raise Obstacle(f"`{what}` is no dictionary that is written out", held.source, held.node)


def _key(source: Source, key: ast.expr | None) -> object:
    """A key that is written out; None for a dictionary that is unpacked in its place."""
    if key is None or isinstance(key, ast.Constant):
        return key if key is None else key.value
    raise Obstacle(f"the key `{ast.unparse(key)}` is not written out", source, key)


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
    if module.endswith(_FLAGS):
        return _follow(source, _flag_default(source, expression), depth - 1)
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
    for store in source.attribute_stores(expression):
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
    if source.name(call.func) in (*_NAMESPACES, *_REPLACES):
        value = _keyword(source, call, name, depth)
        if value is not None:
            return _follow(value.source, value.node, depth - 1)
    if source.name(call.func) in _REPLACES and call.args:
        return _from_object(_follow(source, call.args[0], depth - 1), expression, depth - 1)
    fields = _tuple_fields(source, call)
    if name in fields:
        given = argument(call, name, fields.index(name))
        if given is not None:
            return _follow(source, given, depth - 1)
    made = source.callee(call)
    if made is None or not isinstance(made.node, ast.ClassDef):
        raise Obstacle(f"`{ast.unparse(call.func)}` gives its value", source, call)
    return _field(made.source, made.node, Literal(source, call), name, depth)


def _keyword(source: Model, call: ast.Call, name: str, depth: int) -> Literal[Model] | None:
    """What a call gives for a keyword, also in a dictionary that it unpacks."""
    for word in call.keywords:
        if word.arg == name:
            return Literal(source, word.value)
    unpacked = (word.value for word in call.keywords if word.arg is None)
    found = (_item(source, value, name, depth - 1) for value in unpacked)
    return next((value for value in found if value is not None), None)


def _tuple_fields(source: Source, call: ast.Call) -> list[str]:
    """The fields of `namedtuple("C", "eager steps")`, of which a call makes one."""
    match source.only_value(call.func):
        case ast.Call(func=made, args=[_, fields]):
            if source.name(made) == "collections.namedtuple":
                return _field_names(fields)
    return []


def _field_names(fields: ast.expr) -> list[str]:
    match fields:
        case ast.Constant(value=str(text)):
            return text.replace(",", " ").split()
        case ast.List(elts=names) | ast.Tuple(elts=names):
            return [str(name.value) for name in of_type(names, ast.Constant)]
    return []


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


def _flag_default(source: Source, flag: ast.Attribute) -> ast.expr:
    """The default of a flag of absl: `flags.DEFINE_boolean("eager", True, "help")`."""
    for call in source.every(ast.Call):
        defines = last_name(call.func).startswith("DEFINE_")
        default = argument(call, "default", 1)
        if defines and default is not None and is_constant(call.args[0], flag.attr):
            return default
    raise Obstacle(f"no flag of this file is called `{flag.attr}`", source, flag)


def _option_names(option: ast.Call) -> list[str]:
    given = [*option.args, argument(option, "dest")]
    texts = [part.value for part in of_type(given, ast.Constant)]
    return [str(text).lstrip("-").replace("-", "_") for text in texts]
