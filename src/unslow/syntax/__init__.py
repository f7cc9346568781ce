"""A Python file as causes see it without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, takewhile

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
    inside,
    last_header_line,
    last_name,
    method_of,
    of_type,
    own_nodes,
    parameters,
    receiver_of,
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

    Each layer adds one question: scopes, names, arguments, callees, kinds, traces, texts, training.
    """

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._ignores: Ignores | None = None

    def spot(self, node: ast.AST, text: str, instead: str) -> Spot:
        """A cause seen at a node; at its last name where it is an attribute or the call of one."""
        match node:
            case (ast.Attribute() as named) | ast.Call(func=ast.Attribute() as named):
                line = named.end_lineno or named.lineno
                offset = (named.end_col_offset or 0) - len(named.attr.encode())
            case _:
                line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Spot(line, self.column(line, offset), text, instead)

    def ignored(self, spot: Spot, cause: str) -> bool:
        """Whether a comment on any line of the statement silences a cause."""
        if self._ignores is None:
            self._ignores = Ignores(self.text)
        statements = of_type(self.nodes, ast.stmt)
        heads = [range(node.lineno, last_header_line(node) + 1) for node in statements]
        around = [lines for lines in heads if spot.line in lines]
        only = range(spot.line, spot.line + 1)
        return self._ignores.covers(cause, min(around, key=len, default=only))

    def methods(self, kind: Kind, *names: str) -> Iterator[ast.Call]:
        """Calls of a method on values of one kind: `methods(Kind.SESSION, "run")`."""
        for call in self.every(ast.Call):
            if method_of(call) in names and self.kind(receiver_of(call)) is kind:
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
        match method_of(node):
            case "minimize" | "apply_gradients" | "compute_gradients":
                return self.kind(receiver_of(node)) is Kind.OPTIMIZER
            case "get_next" | "assign" | "assign_add" | "assign_sub":
                return self.kind(node) is Kind.TENSOR
        return False

    def varies(self, node: ast.expr, loop: Loop) -> bool:
        """Whether an expression reads a name that the loop rebinds."""
        bindings = chain.from_iterable(map(self.reaching, inside(node, ast.Name)))
        return any(self.within(binding.node, loop) for binding in bindings)

    def bound_outside(self, node: ast.expr, loop: Loop) -> bool:
        """Whether a name or `self.x` is bound before the loop and kept through its turns."""
        bindings = self.seen_bindings(node)
        return bool(bindings) and not any(self.within(binding.node, loop) for binding in bindings)

    def guarded(self, node: ast.AST) -> bool:
        """Whether the code handles versions: under a test for one, or in a `try`."""
        if any(map(_asks_version, inside(self.conditions(node), ast.expr))):
            return True
        around = takewhile(lambda pair: not isinstance(pair[1], FUNCTIONS), self.upwards(node))
        return any(_handles_errors(parent, child) for child, parent in around)


def _asks_version(node: ast.expr) -> bool:
    is_hasattr = isinstance(node, ast.Name) and node.id == "hasattr"
    return is_hasattr or "version" in last_name(node).lower()


def _handles_errors(block: ast.AST, child: ast.AST) -> bool:
    """Whether a block around a node handles its errors, or expects them."""
    match block:
        case ast.Try(body=body, handlers=[_, *_]):
            return child in body
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(map(_expects_error, items))
    return False


def _expects_error(item: ast.withitem) -> bool:
    """`with pytest.raises(…)`, `with self.assertRaises(…)`, `with contextlib.suppress(…)`."""
    name = last_name(getattr(item.context_expr, "func", None))
    return name in ("raises", "suppress") or name.startswith("assertRaises")
