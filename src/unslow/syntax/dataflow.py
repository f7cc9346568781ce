"""Which names code needs from before it, and which of its names are needed after."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from unslow.syntax.nodes import DEFINITIONS, STATEMENT_LOOPS, Comprehension
from unslow.syntax.uses import uses


@dataclass
class Flow:
    """`exposed`: names read before they are surely bound; `definite`: names surely bound."""

    exposed: set[str] = field(default_factory=set)
    definite: set[str] = field(default_factory=set)


def flow(body: Iterable[ast.stmt]) -> Flow:
    walker = _Walker()
    falls_through = walker.block(body, set())
    return Flow(walker.exposed, falls_through if falls_through is not None else set())


class _Walker:
    """Each method takes the names surely bound so far; None after code that never goes on."""

    def __init__(self) -> None:
        self.exposed: set[str] = set()

    def block(self, body: Iterable[ast.stmt], bound: set[str]) -> set[str] | None:
        now: set[str] = set(bound)
        for statement in body:
            after = self.statement(statement, now)
            if after is None:
                return None
            now = after
        return now

    def statement(self, node: ast.stmt, bound: set[str]) -> set[str] | None:
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is not None:
            result: set[str] | None = handler(node, bound)
            return result
        if isinstance(node, DEFINITIONS):
            self.exposed |= uses([node]).reads - bound
            return bound | {node.name}
        self._expression(node, bound)
        bound |= uses([node]).writes if isinstance(node, ast.Import | ast.ImportFrom) else set()
        return (
            None if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue) else bound
        )

    def _expression(self, node: ast.AST, bound: set[str]) -> None:
        """Reads in the order of evaluation; what is surely bound on the way is added to `bound`."""
        read = getattr(self, f"_read_{type(node).__name__.lower()}", self._read_parts)
        read(node, bound)

    def _read_parts(self, node: ast.AST, bound: set[str]) -> None:
        for child in ast.iter_child_nodes(node):
            self._expression(child, bound)

    def _read_name(self, node: ast.Name, bound: set[str]) -> None:
        self.exposed |= {node.id} - bound if isinstance(node.ctx, ast.Load) else set()

    def _read_closure(self, node: ast.Lambda | Comprehension, bound: set[str]) -> None:
        self.exposed |= uses([node]).reads - bound

    _read_lambda = _read_closure
    _read_listcomp = _read_closure
    _read_setcomp = _read_closure
    _read_dictcomp = _read_closure
    _read_generatorexp = _read_closure

    def _read_namedexpr(self, node: ast.NamedExpr, bound: set[str]) -> None:
        self._expression(node.value, bound)
        bound.add(node.target.id)

    def _read_boolop(self, node: ast.BoolOp, bound: set[str]) -> None:
        self._expression(node.values[0], bound)
        for value in node.values[1:]:
            self._expression(value, set(bound))

    def _read_ifexp(self, node: ast.IfExp, bound: set[str]) -> None:
        self._expression(node.test, bound)
        self._expression(node.body, set(bound))
        self._expression(node.orelse, set(bound))

    def _bind(self, target: ast.AST, bound: set[str]) -> None:
        self._expression(target, bound)
        for node in _targets(target):
            bound.add(node.id)

    def _assign(self, node: ast.Assign, bound: set[str]) -> set[str]:
        self._expression(node.value, bound)
        for target in node.targets:
            self._bind(target, bound)
        return bound

    def _annassign(self, node: ast.AnnAssign, bound: set[str]) -> set[str]:
        self._expression(node.annotation, bound)
        if node.value is not None:
            self._expression(node.value, bound)
            self._bind(node.target, bound)
        return bound

    def _augassign(self, node: ast.AugAssign, bound: set[str]) -> set[str]:
        if isinstance(node.target, ast.Name) and node.target.id not in bound:
            self.exposed.add(node.target.id)
        self._expression(node.value, bound)
        self._bind(node.target, bound)
        return bound

    def _delete(self, node: ast.Delete, bound: set[str]) -> set[str]:
        gone = uses([node]).writes
        self.exposed |= gone - bound
        self._expression(node, bound)
        return bound - gone

    def _for(self, node: ast.For | ast.AsyncFor, bound: set[str]) -> set[str]:
        self._expression(node.iter, bound)
        inside = set(bound)
        self._bind(node.target, inside)
        self.block(node.body, inside)
        self.block(node.orelse, bound)
        return bound

    _asyncfor = _for

    def _while(self, node: ast.While, bound: set[str]) -> set[str]:
        self._expression(node.test, bound)
        self.block(node.body, bound)
        self.block(node.orelse, bound)
        return bound

    def _if(self, node: ast.If, bound: set[str]) -> set[str] | None:
        self._expression(node.test, bound)
        return _meet(self.block(node.body, bound), self.block(node.orelse, bound))

    def _with(self, node: ast.With | ast.AsyncWith, bound: set[str]) -> set[str] | None:
        for item in node.items:
            self._expression(item.context_expr, bound)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, bound)
        return self.block(node.body, bound)

    _asyncwith = _with

    def _try(self, node: ast.Try, bound: set[str]) -> set[str] | None:
        tried = self.block([*node.body, *node.orelse], bound)
        for handler in node.handlers:
            inside = set(bound)
            if handler.type is not None:
                self._expression(handler.type, inside)
            if handler.name:
                inside.add(handler.name)
            caught = self.block(handler.body, inside)
            tried = _meet(tried, caught if caught is None else caught - {handler.name or ""})
        final = self.block(node.finalbody, bound)
        return None if tried is None or final is None else tried | final

    _trystar = _try

    def _match(self, node: ast.Match, bound: set[str]) -> set[str] | None:
        self._expression(node.subject, bound)
        after: set[str] | None = bound  # no case need match
        for case in node.cases:
            inside = set(bound) | uses([case.pattern]).writes
            self._expression(case.pattern, inside)
            if case.guard is not None:
                self._expression(case.guard, inside)
            after = _meet(after, self.block(case.body, inside))
        return after


def _meet(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _targets(target: ast.AST) -> list[ast.Name]:
    """The names that an assignment target binds."""
    if isinstance(target, ast.Name):
        return [target]
    if isinstance(target, ast.Starred):
        return _targets(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in _targets(element)]
    return []


def live_after(
    path: Sequence[tuple[ast.AST, Sequence[ast.stmt], int]], whenever: set[str]
) -> set[str]:
    """Names whose value may still be read once a statement is done.

    `path` leads outwards from the statement: the node that owns a block, the block, and the place
    in it. `whenever` are names that others may read at any time (closures, other functions).
    """
    live = set(whenever)
    bound: set[str] = set()
    for owner, block, index in path:
        rest = block[index + 1 :]
        here = flow(rest)
        live |= here.exposed - bound
        jumping = any(
            isinstance(node, ast.Break | ast.Continue) for item in rest for node in ast.walk(item)
        )
        bound = set() if jumping else bound | here.definite
        if isinstance(owner, STATEMENT_LOOPS) and block is owner.body:
            live |= flow([owner]).exposed - bound
            live |= flow(owner.orelse).exposed - bound
        elif isinstance(owner, ast.Try):
            handlers = [statement for handler in owner.handlers for statement in handler.body]
            live |= (
                flow(handlers).exposed | flow(owner.finalbody).exposed | flow(owner.orelse).exposed
            )
            bound = set()
    return live
