"""A Python file as causes see it without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.cause import Spot
from unslow.syntax.callees import Definition
from unslow.syntax.comments import Ignores
from unslow.syntax.library import TENSOR_LIKE, Kind, adds_to_graph, is_op
from unslow.syntax.names import canonical
from unslow.syntax.nodes import (
    FUNCTIONS,
    STATEMENT_LOOPS,
    Function,
    Loop,
    argument,
    own_nodes,
    parameters,
)
from unslow.syntax.scopes import Binding, How
from unslow.syntax.traced import Trace, label
from unslow.syntax.training import Trained

__all__ = [
    "FUNCTIONS",
    "STATEMENT_LOOPS",
    "TENSOR_LIKE",
    "Binding",
    "Definition",
    "Function",
    "How",
    "Kind",
    "Loop",
    "Source",
    "Trace",
    "argument",
    "canonical",
    "is_op",
    "label",
    "own_nodes",
    "parameters",
]


class Source(Trained):
    """One file.

    Each layer adds one question: scopes, names, callees, kinds, traces, values, training.
    """

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._ignores: Ignores | None = None

    def spot(self, node: ast.AST, text: str, instead: str) -> Spot:
        """A cause seen at a node; at its last name where it is an attribute or the call of one."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        if isinstance(node, ast.Attribute):
            line = node.end_lineno or node.lineno
            return Spot(
                line,
                self.column(line, (node.end_col_offset or 0) - len(node.attr.encode())),
                text,
                instead,
            )
        line = getattr(node, "lineno", 1)
        return Spot(line, self.column(line, getattr(node, "col_offset", 0)), text, instead)

    def ignored(self, spot: Spot, cause: str) -> bool:
        """Whether a comment on any line of the statement silences a cause."""
        if self._ignores is None:
            self._ignores = Ignores(self.text)
        first, last = self._lines_of_statement(spot.line)
        return self._ignores.covers(cause, first, last)

    def _lines_of_statement(self, line: int) -> tuple[int, int]:
        """The lines of the simple statement, or of the compound one's head, at a line."""
        best = (line, line)
        for kind, statements in self._by_type.items():
            if issubclass(kind, ast.stmt):
                for statement in statements:
                    first, last = _head(statement)
                    if first <= line <= last and (
                        best == (line, line) or last - first < best[1] - best[0]
                    ):
                        best = (first, last)
        return best

    def methods(self, kind: Kind, *names: str) -> Iterator[ast.Call]:
        """Calls of a method on values of one kind: `methods(Kind.SESSION, "run")`."""
        for call in self.every(ast.Call):
            function = call.func
            if (
                isinstance(function, ast.Attribute)
                and function.attr in names
                and self.kind(function.value) is kind
            ):
                yield call

    def session_runs(self) -> Iterator[ast.Call]:
        """Calls that run a TF1 graph, in the order of the text."""
        return (call for call in self.every(ast.Call) if self.is_session_run(call))

    def adds_ops(self, node: ast.AST) -> bool:
        """Whether a node adds ops to a TF1 graph when it runs."""
        if isinstance(node, ast.BinOp):
            return self.kind(node) is Kind.TENSOR
        if not isinstance(node, ast.Call):
            return False
        if adds_to_graph(self.name(node.func)):
            return True
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in ("minimize", "apply_gradients", "compute_gradients"):
            return self.kind(node.func.value) is Kind.OPTIMIZER  # type: ignore[attr-defined]
        if method in ("get_next", "assign", "assign_add", "assign_sub"):
            return self.kind(node) is Kind.TENSOR
        return False

    def varies(self, node: ast.expr, loop: Loop) -> bool:
        """Whether an expression reads a name that the loop binds anew."""
        for part in ast.walk(node):
            bindings = self.reaching(part) if isinstance(part, ast.Name) else []
            if any(self.within(binding.node, loop) for binding in bindings):
                return True
        return False

    def bound_outside(self, node: ast.expr, loop: Loop) -> bool:
        """Whether a name or `self.x` is bound before the loop and kept through its turns."""
        if isinstance(node, ast.Name):
            bindings = self.reaching(node)
        elif isinstance(node, ast.Attribute):
            bindings = self.attribute_bindings(node)
        else:
            return False
        return bool(bindings) and not any(self.within(binding.node, loop) for binding in bindings)

    def guarded(self, node: ast.AST) -> bool:
        """Whether the code handles versions: under a test for one, or in a `try`."""
        for test in self.conditions(node):
            for part in ast.walk(test):
                if isinstance(part, ast.Attribute) and "version" in part.attr.lower():
                    return True
                if isinstance(part, ast.Name) and (
                    part.id == "hasattr" or "version" in part.id.lower()
                ):
                    return True
        child: ast.AST = node
        for parent in self.ancestors(node):
            if isinstance(parent, ast.Try) and child in parent.body and parent.handlers:
                return True
            if isinstance(parent, (ast.With, ast.AsyncWith)) and any(
                map(_expects_error, parent.items)
            ):
                return True
            if isinstance(parent, FUNCTIONS):
                return False
            child = parent
        return False


def _expects_error(item: ast.withitem) -> bool:
    """`with pytest.raises(…)`, `with self.assertRaises(…)`, `with contextlib.suppress(…)`."""
    call = item.context_expr
    method = call.func if isinstance(call, ast.Call) else None
    name = method.attr if isinstance(method, ast.Attribute) else getattr(method, "id", "")
    return name in ("raises", "suppress") or name.startswith("assertRaises")


def _head(statement: ast.AST) -> tuple[int, int]:
    first = getattr(statement, "lineno", 1)
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return first, max(first, getattr(body[0], "lineno", first) - 1)
    return first, getattr(statement, "end_lineno", first) or first
