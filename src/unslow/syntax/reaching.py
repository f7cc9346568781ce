"""Which of a name's bindings a use may see; never too few."""

from __future__ import annotations

import ast
import bisect
import builtins
from collections.abc import Sequence

from unslow.syntax.nodes import FUNCTIONS, STATEMENT_LOOPS
from unslow.syntax.scopes import Binding, How, Scope, Scoped
from unslow.syntax.tree import Tree

Place = tuple[int, int]
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))  # Python 3.10 has no TryStar


class _Bindings:
    """The bindings of one name in one scope, found by where they stand in the text."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        self.sorted = sorted(bindings, key=lambda binding: _start(binding.node))
        self.places = [_start(binding.node) for binding in self.sorted]

    def inside(self, block: Sequence[ast.AST]) -> list[Binding]:
        """Those in a block of statements."""
        if not block:
            return []
        low = bisect.bisect_left(self.places, _start(block[0]))
        high = bisect.bisect_right(self.places, _end(block[-1]))
        return self.sorted[low:high]

    def at(self, node: ast.AST) -> list[Binding]:
        """Those that a node makes itself; a parameter stands at its own node."""
        return [binding for binding in self.sorted if binding.node is node]


class Reached(Scoped):
    """A tree that knows which values a name may hold at a place."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._reaching: dict[tuple[ast.AST, str], list[Binding]] = {}
        self._sorted: dict[tuple[Scope, str], _Bindings] = {}

    def owner(self, use: ast.Name) -> Scope | None:
        """The scope that a name belongs to, or None: built in, star-imported or never bound."""
        return self._owner(use.id, self.scope_at(use))

    def reaching(self, use: ast.Name) -> list[Binding]:
        """The bindings that a use may see. A closure may run at any time and sees them all."""
        owner = self.owner(use)
        bindings = owner.bindings.get(use.id, []) if owner is not None else []
        statement = self.statement(use)
        if owner is None or statement is None or not self._has_order(use, owner, bindings):
            return bindings
        key = (statement, use.id)
        if key not in self._reaching:
            names = self._sorted.setdefault((owner, use.id), _Bindings(bindings))
            self._reaching[key] = _Backwards(self, names, owner).walk(statement)
        return self._reaching[key]

    def _has_order(self, use: ast.Name, owner: Scope, bindings: Sequence[Binding]) -> bool:
        """Whether what runs before a use is known, and matters."""
        if self.scope_at(use).outside_comprehensions is not owner:
            return False
        remote = any(binding.remote for binding in bindings)
        return len(bindings) > 1 and not remote and self.statement(use) is not owner.node

    def never_bound(self, use: ast.Name) -> bool:
        """Whether reading a name must fail: nothing binds it, seen or unseen."""
        unseen = self.star_imports or hasattr(builtins, use.id)
        return self.owner(use) is None and not unseen


class _Backwards:
    """One walk from a statement to the start of its scope."""

    def __init__(self, tree: Tree, names: _Bindings, owner: Scope) -> None:
        self.tree, self.names, self.owner = tree, names, owner
        self.found: list[Binding] = []

    def walk(self, statement: ast.AST) -> list[Binding]:
        if isinstance(statement, ast.While):
            self._take(self.names.inside(statement.body))
        current: ast.AST = statement
        while current is not self.owner.node:
            parent = self.tree.parents[current]
            if self._before_in_block(current, parent) or self._from_parent(current, parent):
                return self.found
            current = parent
        self._take([binding for binding in self.names.sorted if binding.how is How.PARAMETER])
        return self.found

    def _take(self, bindings: Sequence[Binding]) -> None:
        self.found.extend(binding for binding in bindings if binding not in self.found)

    def _before_in_block(self, current: ast.AST, parent: ast.AST) -> bool:
        """Take the bindings of the statements before; True when one of them always binds."""
        for statement in reversed(_earlier(current, parent)):
            self._take(self.names.inside([statement]))
            if self._always(statement):
                return True
        return False

    def _from_parent(self, current: ast.AST, parent: ast.AST) -> bool:
        """Take what the enclosing statement binds, and what comes round again in a loop."""
        if isinstance(parent, STATEMENT_LOOPS) and current in parent.body:
            self._take(self.names.inside(parent.body))
        if isinstance(parent, _TRIES) and current not in parent.body:
            self._take(self.names.inside(parent.body))
            if current in parent.finalbody:
                self._take(self.names.inside([parent, current]))
        if isinstance(parent, FUNCTIONS):
            return False
        own = self.names.at(parent)
        self._take(own)
        return bool(own) and current in getattr(parent, "body", ())

    def _always(self, statement: ast.stmt) -> bool:
        """Whether the name is bound whenever a statement has run to its end."""
        if not self.names.inside([statement]):
            return False
        match statement:
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return bool(self.names.at(statement)) or self._block(body)
            case ast.If(body=body, orelse=orelse):
                return self._block(body) and self._block(orelse)
        if isinstance(statement, _TRIES):
            tried = self._block(statement.body) or self._block(statement.orelse)
            handled = all(self._block(handler.body) for handler in statement.handlers)
            return self._block(statement.finalbody) or (tried and handled)
        # What is left are simple statements, and three kinds that may skip it.
        return not isinstance(statement, (*STATEMENT_LOOPS, ast.Match))

    def _block(self, body: Sequence[ast.stmt]) -> bool:
        return any(isinstance(node, _LEAVES) or self._always(node) for node in body)


def _earlier(current: ast.AST, parent: ast.AST) -> list[ast.stmt]:
    """The statements that ran before, in the same block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and current in block:
            return block[: block.index(current)]
    return []


def _start(node: ast.AST) -> Place:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> Place:
    return getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0
