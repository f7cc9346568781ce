"""What the moves look for in a script: uses of a name, calls, the code around a node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from unslow.fix.edit.script import CannotEdit, Script
from unslow.syntax.nodes import (
    DEFINITIONS,
    NAMED_FUNCTIONS,
    NamedFunction,
    StatementLoop,
    inside,
    is_stored,
    of_type,
)
from unslow.syntax.scopes import Binding

Item = TypeVar("Item")
Code = ast.AST | Iterable[ast.AST]
# Functions of TensorFlow that draw random numbers.
DRAWS = ("tf.random.", "tf.image.random_", "tf.nn.dropout")


def only(items: Sequence[Item]) -> Item | None:
    """The item of a sequence of one."""
    return items[0] if len(items) == 1 else None


# Names


def mentions(code: Code, name: str | None) -> list[ast.Name]:
    """Where code reads, sets or deletes a name."""
    return [node for node in inside(code, ast.Name) if node.id == name]


def reads(code: Code, name: str) -> list[ast.Name]:
    return [node for node in mentions(code, name) if not is_stored(node)]


def stores(code: Code, name: str) -> list[ast.Name]:
    return [node for node in mentions(code, name) if is_stored(node)]


def names_in(code: Code) -> set[str]:
    return {node.id for node in inside(code, ast.Name)}


def only_binding(script: Script, name: ast.Name) -> Binding | None:
    """What gives a name its value, where one place does."""
    return only(script.bindings(name.id, name))


# Expressions and calls


def is_arithmetic(node: ast.AST) -> bool:
    """Whether a value is made of sums, differences and products of names and numbers."""
    allowed = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Name, ast.Attribute, ast.Constant)
    return all(isinstance(inner, (*allowed, ast.Load)) for inner in ast.walk(node))


def is_call(script: Script, node: ast.AST | None, *names: str) -> bool:
    """Whether a node calls one of some functions, by their canonical names."""
    return isinstance(node, ast.Call) and script.name(node.func) in names


def calls_of(script: Script, nodes: Iterable[ast.AST | None], *names: str) -> list[ast.Call]:
    """Those of some nodes that call one of some functions."""
    calls = of_type(nodes, ast.Call)
    return [call for call in calls if script.name(call.func) in names]


def call_by(script: Script, function: ast.expr) -> ast.Call | None:
    """The call that an expression is the function of."""
    match script.parents[function]:
        case ast.Call(func=called) as call if called is function:
            return call
    return None


# Around a node


def outermost_definition(script: Script, node: ast.AST) -> ast.stmt | None:
    """The function or class of the module's level that a node is part of."""
    owners = [owner for owner in script.ancestors(node) if isinstance(owner, DEFINITIONS)]
    return owners[-1] if owners else None


def outermost_loop(
    script: Script, node: ast.AST, obstacle: Callable[[StatementLoop], CannotEdit | None]
) -> StatementLoop | None:
    """The outermost loop that code can leave, from the inside out; None where it is in none.

    Raises the obstacle where it cannot leave the innermost one.
    """
    left: StatementLoop | None = None
    for loop in script.loops_around(node):
        problem = obstacle(loop)
        if problem is None:
            left = loop
        elif left is None:
            raise problem
        else:
            break
    return left


def statement_above(script: Script, node: ast.stmt) -> ast.stmt | None:
    """The statement in front of another one in its block."""
    block, index = script.block(node)
    return block[index - 1] if index else None


# Statements and definitions


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant that does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def method_named(owner: ast.ClassDef, name: str) -> NamedFunction | None:
    """The first method of a name in the body of a class."""
    methods = [node for node in owner.body if isinstance(node, NAMED_FUNCTIONS)]
    return next((node for node in methods if node.name == name), None)
