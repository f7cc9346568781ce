"""Which names and attributes code reads, binds and changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from unslow.syntax.nodes import (
    FUNCTIONS,
    STATEMENT_LOOPS,
    Comprehension,
    NamedFunction,
    StatementLoop,
    argument,
    dotted,
    inside,
    is_stored,
    last_name,
    method_of,
    own_nodes,
    parameter_names,
    words,
)

# Methods that change the object they are called on, of Python's containers and of TensorFlow's
# variables.
MUTATORS = words(
    "append extend insert add update pop popitem remove discard clear setdefault sort reverse"
    " appendleft extendleft popleft put write writelines assign assign_add assign_sub fill itemset"
)
# Functions that change what they are given first, where their result is dropped: `shuffle` of a
# dataset gives another one.
_FILLERS = words("shuffle copyto place putmask fill_diagonal at readinto heappush heapify insort")
_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


@dataclass
class Uses:
    """What code does to names; `remote` are names that a nested function binds outside itself."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)

    @property
    def changes(self) -> set[str]:
        """The names that may have another value afterwards."""
        return self.writes | self.remote


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.uses = Uses()
        self.declared: set[str] = set()  # global and nonlocal

    def visit_Name(self, node: ast.Name) -> None:
        (self.uses.writes if is_stored(node) else self.uses.reads).add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.uses.reads.add(node.target.id)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.declared.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_alias(self, node: ast.alias) -> None:
        self._bind(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_ExceptHandler
    visit_MatchStar = visit_ExceptHandler

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)

    def _bind(self, name: str | None) -> None:
        self.uses.writes |= {name} - {None, "*"} if name else set()

    def visit_FunctionDef(self, node: NamedFunction) -> None:
        self._bind(node.name)
        for outer in (*node.decorator_list, *_outer_parts(node)):
            self.visit(outer)
        self._nest(node.body, parameter_names(node))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for outer in _outer_parts(node):
            self.visit(outer)
        self._nest([node.body], parameter_names(node))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
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

    def visit_ListComp(self, node: Comprehension) -> None:
        inner = _Visitor()
        inner.generic_visit(node)
        targets = uses(generator.target for generator in node.generators).writes
        self.uses.reads |= inner.uses.reads - targets
        # A walrus binds outside of the comprehension.
        self.uses.writes |= inner.uses.writes - targets
        self.uses.remote |= inner.uses.remote

    visit_SetComp = visit_ListComp
    visit_DictComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp


def _outer_parts(function: NamedFunction | ast.Lambda) -> Iterator[ast.expr]:
    """What of a signature is evaluated outside of its function."""
    signature = function.args
    yield from signature.defaults
    yield from (default for default in signature.kw_defaults if default is not None)
    annotations = [part.annotation for part in inside(signature, ast.arg)]
    annotations.append(getattr(function, "returns", None))
    yield from (annotation for annotation in annotations if annotation is not None)


def uses(nodes: Iterable[ast.AST]) -> Uses:
    visitor = _Visitor()
    for node in nodes:
        visitor.visit(node)
    return visitor.uses


def bound_in(loop: StatementLoop) -> set[str]:
    """Names that may have another value in each turn of a loop."""
    return uses([*loop.body, *loop_target(loop)]).changes


def loop_target(loop: StatementLoop) -> list[ast.expr]:
    return [] if isinstance(loop, ast.While) else [loop.target]


def loop_condition(loop: StatementLoop) -> ast.expr:
    """What a loop evaluates in its first line."""
    return loop.test if isinstance(loop, ast.While) else loop.iter


def declared(scope: ast.AST) -> set[str]:
    """Names that `global` or `nonlocal` hands to an outer scope."""
    found: set[str] = set()
    for node in own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return found


def changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Paths whose objects are changed in place: attributes, items, containers, variables."""
    nodes = list(nodes)
    paths = [_changed_path(node) for node in inside(nodes, ast.expr)]
    paths += [_filled_path(node.value) for node in inside(nodes, ast.Expr)]
    return {path for path in paths if path}


def _changed_path(node: ast.expr) -> str | None:
    match node:
        case ast.Attribute() if is_stored(node):
            return _holder(node)
        case ast.Subscript(value=value) if is_stored(node):
            return _holder(value)
        case ast.Call() if (out := argument(node, "out")) is not None:
            return _holder(out)
        case ast.Call(func=ast.Attribute(value=value)) if method_of(node) in MUTATORS:
            return _holder(value)
    return None


def _filled_path(node: ast.expr) -> str | None:
    """What a call whose result is dropped changes: the `x` of `np.random.shuffle(x)`."""
    match node:
        case ast.Call(func=function, args=[first, *_]) if last_name(function) in _FILLERS:
            return _holder(first)
    return None


def _holder(node: ast.expr) -> str | None:
    """The longest plain path that an expression goes through: `a.b` of `a.b[0].c`."""
    while dotted(node) is None and isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return dotted(node)


def paths_read(nodes: Iterable[ast.AST]) -> set[str]:
    """Paths that are read, the longest of each: `self.model(x)` gives `self.model` and `x`."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        path = dotted(node)
        if path is not None:
            found.add(path)
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def overlap(path: str, other: str) -> bool:
    """Whether one path leads through the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def overlapping(paths: Iterable[str], others: Iterable[str]) -> str | None:
    """The first of some paths that overlaps with one of the others."""
    others = list(others)
    for path in sorted(paths):
        if any(overlap(path, other) for other in others):
            return path
    return None


def jumps(nodes: Iterable[ast.AST], in_loop: bool = False) -> ast.stmt | ast.expr | None:
    """The first statement or expression that would leave the code it stands in."""
    for node in nodes:
        found = _jump(node, in_loop)
        if found is not None:
            return found
    return None


def _jump(node: ast.AST, in_loop: bool) -> ast.stmt | ast.expr | None:
    if isinstance(node, _LEAVING):
        return node
    if isinstance(node, ast.Break | ast.Continue):
        return None if in_loop else node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return None
    if isinstance(node, STATEMENT_LOOPS):
        rest = [loop_condition(node), *node.orelse]
        return jumps(rest, in_loop) or jumps(node.body, in_loop=True)
    return jumps(ast.iter_child_nodes(node), in_loop)
