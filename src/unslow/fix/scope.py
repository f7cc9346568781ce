"""Which names and attributes a piece of code reads, binds and changes, seen from the scope it stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)

# Methods that change the object they are called on, of Python's containers and of TensorFlow's variables.
MUTATORS = frozenset(
    {
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "pop",
        "popitem",
        "remove",
        "discard",
        "clear",
        "setdefault",
    }
    | {"sort", "reverse", "appendleft", "extendleft", "popleft", "put", "write", "writelines"}
    | {"assign", "assign_add", "assign_sub"}
)


@dataclass
class Uses:
    """What code does to names: `remote` are names that a nested function binds outside of itself."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.uses = Uses()
        self.declared: set[str] = set()  # global and nonlocal

    def visit_Name(self, node: ast.Name) -> None:
        (self.uses.reads if isinstance(node.ctx, ast.Load) else self.uses.writes).add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.uses.reads.add(node.target.id)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.declared.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.declared.update(node.names)

    def visit_alias(self, node: ast.alias) -> None:
        if node.name != "*":
            self.uses.writes.add(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)

    def _bind(self, name: str | None) -> None:
        if name:
            self.uses.writes.add(name)

    def _visit_def(self, node: Function) -> None:
        self.uses.writes.add(node.name)
        for outer in (
            *node.decorator_list,
            *_outer_parts(node.args),
            *([node.returns] if node.returns else []),
        ):
            self.visit(outer)
        self._nest(node.body, parameters(node))

    visit_FunctionDef = _visit_def
    visit_AsyncFunctionDef = _visit_def

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for outer in _outer_parts(node.args):
            self.visit(outer)
        self._nest([node.body], parameters(node))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.uses.writes.add(node.name)
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        self._nest(node.body, set())

    def _nest(self, body: Iterable[ast.AST], parameters: set[str]) -> None:
        inner = _Visitor()
        for node in body:
            inner.visit(node)
        local = (inner.uses.writes | parameters) - inner.declared
        self.uses.reads |= inner.uses.reads - local
        self.uses.remote |= (inner.uses.writes & inner.declared) | (inner.uses.remote - local)

    def _visit_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        inner = _Visitor()
        inner.generic_visit(node)
        targets = uses(generator.target for generator in node.generators).writes
        self.uses.reads |= inner.uses.reads - targets
        self.uses.writes |= (
            inner.uses.writes - targets
        )  # a walrus binds outside of the comprehension
        self.uses.remote |= inner.uses.remote

    visit_ListComp = _visit_comprehension
    visit_SetComp = _visit_comprehension
    visit_DictComp = _visit_comprehension
    visit_GeneratorExp = _visit_comprehension


def _outer_parts(signature: ast.arguments) -> Iterator[ast.expr]:
    """What of a signature is evaluated outside of its function."""
    yield from signature.defaults
    yield from (default for default in signature.kw_defaults if default is not None)
    for argument in ast.walk(signature):
        if isinstance(argument, ast.arg) and argument.annotation is not None:
            yield argument.annotation


def parameters(node: Function | ast.Lambda) -> set[str]:
    return {argument.arg for argument in arguments(node)}


def arguments(node: Function | ast.Lambda) -> Iterator[ast.arg]:
    signature = node.args
    yield from (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
    yield from (extra for extra in (signature.vararg, signature.kwarg) if extra is not None)


def uses(nodes: Iterable[ast.AST]) -> Uses:
    visitor = _Visitor()
    for node in nodes:
        visitor.visit(node)
    return visitor.uses


def declared(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that `global` or `nonlocal` hands to an outer scope."""
    return {
        name
        for node in nodes
        for inner in own(node)
        if isinstance(inner, ast.Global | ast.Nonlocal)
        for name in inner.names
    }


def own(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it that run in its own scope: nested functions and classes are not entered."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield child
        else:
            yield from own(child)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` as it is written, None for anything that is not a plain path."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = dotted(node.value)
        return f"{value}.{node.attr}" if value else None
    return None


def changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Paths whose objects are changed in place: attributes and items set, containers and variables mutated."""
    found: set[str | None] = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.add(dotted(node))
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                found.add(dotted(node.value))
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in MUTATORS
            ):
                found.add(dotted(node.func.value))
    return {path for path in found if path}


def paths_read(nodes: Iterable[ast.AST]) -> set[str]:
    """Paths that are read, the longest of each: `self.model(x)` gives `self.model` and `x`."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        path = dotted(node)
        if path is not None:
            found.add(path)
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return found


def overlap(path: str, other: str) -> bool:
    """Whether one path leads through the other."""
    return path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.")


def jumps(nodes: Iterable[ast.AST]) -> ast.stmt | ast.expr | None:
    """The first statement or expression that would leave the code it stands in."""
    for top in nodes:
        found = _jump(top, in_loop=False)
        if found is not None:
            return found
    return None


def _jump(node: ast.AST, in_loop: bool) -> ast.stmt | ast.expr | None:
    if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await):
        return node
    if isinstance(node, ast.Break | ast.Continue):
        return None if in_loop else node
    if isinstance(node, ast.AsyncFor | ast.AsyncWith):
        return node
    if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
        return None
    bodies = node.body if isinstance(node, LOOPS) else []
    for child in ast.iter_child_nodes(node):
        found = _jump(child, in_loop or child in bodies)
        if found is not None:
            return found
    return None
