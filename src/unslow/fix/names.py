"""What a name in a script stands for: imports and plain aliases followed to a dotted name."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from unslow.fix.scope import COMPREHENSIONS, FUNCTIONS, arguments, dotted, own, uses

_BUILTINS = frozenset(dir(builtins))
# The old interfaces hold what the moves need (function, constant, data) under the same names.
_SAME_MODULE = {"tensorflow": ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2")}


@dataclass(frozen=True)
class Binding:
    """One place that binds a name: what was imported, or the expression that was assigned."""

    node: ast.AST
    imported: str | None = None
    value: ast.expr | None = None


@dataclass(frozen=True)
class Names:
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST] = field(repr=False)

    def scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The scopes around a node, innermost first; a function's own scope is around its body only."""
        child, parent = node, self.parents.get(node)
        while parent is not None:
            if not isinstance(parent, FUNCTIONS):
                around = isinstance(parent, (ast.Module, ast.Lambda, ast.ClassDef, *COMPREHENSIONS))
            else:
                around = child in parent.body
            if around:
                yield parent
            child, parent = parent, self.parents.get(parent)

    @cached_property
    def _known(self) -> dict[ast.AST, dict[str, list[Binding]]]:
        return {}

    @cached_property
    def _handed_out(self) -> dict[str, list[ast.AST]]:
        """Functions by the names that they bind in an outer scope, with `global` or `nonlocal`."""
        found: dict[str, list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Global | ast.Nonlocal):
                function = next(
                    (scope for scope in self.scopes(node) if isinstance(scope, FUNCTIONS)), None
                )
                for name in node.names if function is not None else ():
                    found.setdefault(name, []).append(function)  # type: ignore[arg-type]
        return found

    def _bound(self, scope: ast.AST) -> dict[str, list[Binding]]:
        """What a scope binds itself; each is looked through once, when it is first asked for."""
        if scope not in self._known:
            names: dict[str, list[Binding]] = {}
            for name, binding in _bound_in(scope):
                names.setdefault(name, []).append(binding)
            self._known[scope] = names
        return self._known[scope]

    def bindings(self, name: str, node: ast.AST) -> list[Binding]:
        """All that binds the name which is seen at a node."""
        outsiders = self._handed_out.get(name, [])
        remote = [
            binding for function in outsiders for binding in self._bound(function).get(name, ())
        ]
        for depth, scope in enumerate(self.scopes(node)):
            if (isinstance(scope, ast.ClassDef) and depth) or scope in outsiders:
                continue  # functions do not see the names of the class around them
            if name in self._bound(scope):
                return [*self._bound(scope)[name], *remote]
        return remote

    def resolve(self, node: ast.AST, depth: int = 0) -> str | None:
        """The dotted name behind a Name or Attribute, `builtins.x` for builtins, None where it is unclear."""
        if isinstance(node, ast.Attribute):
            value = self.resolve(node.value, depth)
            return f"{value}.{node.attr}" if value else None
        if not isinstance(node, ast.Name):
            return None
        found = self.bindings(node.id, node)
        if not found:
            return f"builtins.{node.id}" if node.id in _BUILTINS else None
        if all(binding.imported for binding in found):
            return found[0].imported
        value_node = found[0].value
        if len(found) == 1 and value_node is not None and dotted(value_node) and depth < 5:
            return self.resolve(value_node, depth + 1)
        return None

    def alias(self, name: str, node: ast.AST | None = None) -> str | None:
        """How a dotted name is spelled at a node (or at the top of the module); None if it is not imported."""
        around: list[ast.AST] = [self.tree]
        around += (
            (scope for scope in self.scopes(node) if isinstance(scope, FUNCTIONS))
            if node is not None
            else ()
        )
        line = getattr(node, "lineno", None)
        head, _, rest = name.partition(".")
        for module in _SAME_MODULE.get(head, (head,)):
            wanted = f"{module}.{rest}" if rest else module
            spellings: list[tuple[int, str]] = []
            for scope in around:
                for bound, (first, *_) in self._bound(scope).items():
                    if first.imported is None or not f"{wanted}.".startswith(f"{first.imported}."):
                        continue
                    if (
                        line is None
                        or scope is not self.tree
                        or getattr(first.node, "lineno", 0) < line
                    ):
                        spellings.append(
                            (len(first.imported), bound + wanted[len(first.imported) :])
                        )
            if spellings:
                return max(spellings)[1]
        return None

    def taken(self) -> set[str]:
        """Every name that the script uses anywhere, so that a fresh one can keep out of its way."""
        found = set(_BUILTINS)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            else:
                found.update(name for name, _ in _binds(node))
        return found

    def fresh(self, wanted: str) -> str:
        taken = self.taken()
        number = 2
        name = wanted
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name


def _bound_in(scope: ast.AST) -> Iterator[tuple[str, Binding]]:
    """The names that a scope binds itself."""
    if isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        yield from ((argument.arg, Binding(argument)) for argument in arguments(scope))
    if isinstance(scope, COMPREHENSIONS):
        targets = uses(generator.target for generator in scope.generators).writes
        yield from ((name, Binding(scope)) for name in targets)
        return
    body = scope.body if isinstance(getattr(scope, "body", None), list) else [scope.body]  # type: ignore[attr-defined]
    for statement in body:
        for node in own(statement):
            yield from _binds(node)


def _binds(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, Binding(node, imported=alias.name if alias.asname else top)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, Binding(node, imported=f"{module}.{alias.name}")
    elif (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ):
        yield node.targets[0].id, Binding(node, value=node.value)
    elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        yield node.name, Binding(node)
    elif isinstance(node, ast.stmt | ast.NamedExpr | ast.ExceptHandler | ast.match_case):
        yield from _other_targets(node)


def _other_targets(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Targets of loops, with, except, match, walrus and the less plain assignments."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        parts += node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor | ast.NamedExpr):
        parts.append(node.target)
    elif isinstance(node, ast.With | ast.AsyncWith):
        parts += (item.optional_vars for item in node.items if item.optional_vars is not None)
    elif isinstance(node, ast.match_case):
        parts.append(node.pattern)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, Binding(node)
    for name in uses(parts).writes:
        value = node.value if isinstance(node, ast.AnnAssign) else None
        yield name, Binding(node, value=value)
