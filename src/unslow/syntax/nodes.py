"""Questions about nodes of Python's syntax tree that need no model of the file they stand in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

NamedFunction: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Function: TypeAlias = NamedFunction | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
StatementLoop: TypeAlias = ast.For | ast.AsyncFor | ast.While
Loop: TypeAlias = StatementLoop | Comprehension
NAMED_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONS = (*NAMED_FUNCTIONS, ast.Lambda)
DEFINITIONS = (*NAMED_FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STATEMENT_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Fields that hold no nodes, or nodes without a place of their own, which the whole tree shares.
_PLACELESS = words(
    "arg asname attr conversion ctx id is_async kind kwd_attrs level module name op ops simple tag"
    " type_comment type_ignores"
)
_NODE_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}

Node = TypeVar("Node", bound=ast.AST)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in the order of the text."""
    kind = type(node)
    if kind not in _NODE_FIELDS:
        _NODE_FIELDS[kind] = tuple(field for field in kind._fields if field not in _PLACELESS)
    found: list[ast.AST] = []
    for field in _NODE_FIELDS[kind]:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def inside(nodes: ast.AST | Iterable[ast.AST], kind: type[Node]) -> Iterator[Node]:
    """Every node of one type in some code, that of nested functions included."""
    tops = [nodes] if isinstance(nodes, ast.AST) else nodes
    for top in tops:
        for node in ast.walk(top):
            if isinstance(node, kind):
                yield node


def of_type(nodes: Iterable[ast.AST | None], kind: type[Node]) -> list[Node]:
    """Those of some nodes that are of one type."""
    return [node for node in nodes if isinstance(node, kind)]


def has_starred(values: Iterable[ast.expr]) -> bool:
    """Whether one of some written values is unpacked: the places of the others are not known."""
    return any(isinstance(value, ast.Starred) for value in values)


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """What runs when a body runs, without functions and classes that it only defines."""
    stack = _body(root) if isinstance(root, (*FUNCTIONS, ast.ClassDef)) else children(root)
    stack = stack[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, DEFINITIONS):
            stack.extend(reversed(node.decorator_list))
        elif not isinstance(node, ast.Lambda):
            stack.extend(reversed(children(node)))


def own_calls(root: ast.AST) -> list[ast.Call]:
    """The calls that run when a body runs."""
    return of_type(own_nodes(root), ast.Call)


def _body(root: ast.AST) -> list[ast.AST]:
    body = getattr(root, "body", [])
    return list(body) if isinstance(body, list) else [body]


def header(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's own nodes: those of the statements in its body are left out."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from header(child)


def header_calls(node: ast.AST) -> list[ast.Call]:
    """The calls in a statement itself, the outer before the inner."""
    return of_type(header(node), ast.Call)


def first_line(node: ast.AST) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([int(getattr(node, "lineno", 1)), *(item.lineno for item in decorators)])


def lines_of(node: ast.stmt | ast.expr) -> range:
    """The lines of a statement or expression, without its decorators."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def last_header_line(node: ast.stmt) -> int:
    """The last line of a statement, of its header if it has a body."""
    if isinstance(node, ast.Match):
        return node.subject.end_lineno or node.lineno
    body = getattr(node, "body", None)
    if not body:
        return node.end_lineno or node.lineno
    return max(node.lineno, first_line(body[0]) - 1)


def last_name(node: ast.AST | None) -> str:
    """The last part of a dotted name, `fit` of `self.model.fit`; nothing for other expressions."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` as it is written, None for anything that is not a plain path."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            base = dotted(value)
            return f"{base}.{attribute}" if base else None
    return None


def root_name(node: ast.AST) -> str | None:
    """The name that a path of attributes, items and calls begins with."""
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Starred(value=inner) | ast.Call(func=inner):
                node = inner
            case ast.Name(id=name):
                return name
            case _:
                return None


def method_of(node: ast.AST) -> str:
    """The method that a call calls on an object; nothing for other nodes."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
    return ""


def receiver_of(node: ast.AST | None) -> ast.expr | None:
    """The object that a call calls a method of; None for other nodes."""
    match node:
        case ast.Call(func=ast.Attribute(value=receiver)):
            return receiver
    return None


def is_stored(node: ast.AST) -> bool:
    """Whether a name, attribute or item is set or deleted rather than read."""
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def parameters(function: ast.AST) -> Iterator[ast.arg]:
    """The parameters of a function, those by position first."""
    if isinstance(function, FUNCTIONS):
        arguments = function.args
        yield from (*arguments.posonlyargs, *arguments.args)
        if arguments.vararg:
            yield arguments.vararg
        yield from arguments.kwonlyargs
        if arguments.kwarg:
            yield arguments.kwarg


def parameter_names(function: ast.AST) -> set[str]:
    return {parameter.arg for parameter in parameters(function)}


def positional_names(function: NamedFunction) -> list[str]:
    """The names of the parameters that a call may give by position."""
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]


def has_decorator(function: ast.AST, *names: str) -> bool:
    decorators = getattr(function, "decorator_list", [])
    return any(last_name(item) in names for item in decorators)


def argument(call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
    """An argument by keyword or by position; nothing after a `*`, where positions are not known."""
    for item in call.keywords:
        if item.arg == keyword:
            return item.value
    if position is None or len(call.args) <= position:
        return None
    return None if has_starred(call.args[: position + 1]) else call.args[position]


def given_values(call: ast.Call) -> list[ast.expr]:
    """Everything that a call is given, by position or by keyword."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def is_constant(value: ast.AST | None, constant: object) -> bool:
    """Whether an expression is this very literal: `True` is not 1."""
    return (
        isinstance(value, ast.Constant)
        and type(value.value) is type(constant)
        and value.value == constant
    )


def values_taken(function: ast.AST) -> set[str]:
    """The parameters of a function but `self`: what it does with them, it does with values."""
    return parameter_names(function) - {"self", "cls"}
