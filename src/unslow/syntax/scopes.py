"""Who binds which name where: scopes, bindings, and the attributes that methods give to `self`."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from unslow.syntax.tree import COMPREHENSIONS, FUNCTIONS, Tree

Path = tuple[int, ...]
_OPENING = (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)
_BINDING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Global,
    ast.Nonlocal,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.NamedExpr,
    ast.For,
    ast.AsyncFor,
    ast.With,
    ast.AsyncWith,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
    ast.Delete,
)
REST = -1  # in a path: the starred part, whose elements are not told apart


class How(enum.Enum):
    ASSIGN = "assign"
    AUGMENT = "augment"
    LOOP = "loop"
    WITH = "with"
    IMPORT = "import"
    FUNCTION = "function"
    CLASS = "class"
    PARAMETER = "parameter"
    OPAQUE = "opaque"  # except … as, del, match: bound, but to what is not known


@dataclass(eq=False, slots=True)
class Binding:
    """One place where a name gets a value; `path` leads into the value when it is unpacked."""

    name: str
    how: How
    node: ast.AST
    value: ast.expr | None = None
    path: Path = ()
    target: str = ""  # imports: the dotted name, with its leading dots
    remote: bool = False  # through `global` or `nonlocal`: it happens whenever that function runs


@dataclass(eq=False, slots=True)
class Scope:
    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)  # names declared global or nonlocal

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_comprehension(self) -> bool:
        return isinstance(self.node, COMPREHENSIONS)


class Scoped(Tree):
    """A tree whose names know their scope."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self.module = Scope(self.tree, None)
        self.scopes: dict[ast.AST, Scope] = {
            self.tree: self.module
        }  # by function, class, comprehension
        self.attributes: dict[ast.ClassDef, dict[str, list[Binding]]] = {}
        self.star_imports: list[str] = []
        self._bind_all()

    def _bind_all(self) -> None:
        opening = [node for kind in _OPENING for node in self.every(kind)]
        for node in sorted(opening, key=_place):
            self._enter(node)
        binding: list[ast.AST] = [node for kind in _BINDING for node in self.every(kind)]
        for node in sorted(binding, key=_place):
            self._bind(node, self.scope_at(node))

    def _enter(self, node: ast.AST) -> None:
        """Open the scope of a function, class or comprehension, and bind its name and parameters."""
        outer = self.scope_at(node)
        inner = self.scopes[node] = Scope(node, outer)
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                self._bind_target(generator.target, generator.iter, How.LOOP, node, inner)
        elif isinstance(node, ast.ClassDef):
            self.attributes.setdefault(node, {})
        for argument in parameters(node):
            self._add(Binding(argument.arg, How.PARAMETER, argument), inner)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._add(Binding(node.name, How.FUNCTION, node), scope)
        elif isinstance(node, ast.ClassDef):
            self._add(Binding(node.name, How.CLASS, node), scope)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_target(target, node.value, How.ASSIGN, node, scope)
        elif isinstance(node, ast.AnnAssign):
            self._bind_target(
                node.target, node.value, How.ASSIGN if node.value else How.OPAQUE, node, scope
            )
        elif isinstance(node, ast.AugAssign):
            self._bind_target(node.target, node.value, How.AUGMENT, node, scope)
        elif isinstance(node, ast.NamedExpr):
            while scope.is_comprehension and scope.parent:
                scope = scope.parent
            self._bind_target(node.target, node.value, How.ASSIGN, node, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._bind_target(node.target, node.iter, How.LOOP, node, scope)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self._bind_target(item.optional_vars, item.context_expr, How.WITH, node, scope)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_imports(node, scope)
        else:
            self._bind_rare(node, scope)

    def _bind_rare(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Global):
            scope.elsewhere.update(dict.fromkeys(node.names, self.module))
        elif isinstance(node, ast.Nonlocal):
            for name in node.names:
                owner = self._owner(name, scope.parent)
                if owner is not None:
                    scope.elsewhere[name] = owner
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self._add(Binding(node.name, How.OPAQUE, node), scope)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._add(Binding(node.rest, How.OPAQUE, node), scope)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._bind_target(target, None, How.OPAQUE, node, scope)

    def _bind_imports(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self._add(Binding(alias.asname or whole, How.IMPORT, node, target=whole), scope)
            return
        origin = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(origin)
                continue
            joint = "" if origin.endswith(".") else "."
            target = f"{origin}{joint}{alias.name}"
            self._add(Binding(alias.asname or alias.name, How.IMPORT, node, target=target), scope)

    def _bind_target(
        self,
        target: ast.expr,
        value: ast.expr | None,
        how: How,
        node: ast.AST,
        scope: Scope,
        path: Path = (),
    ) -> None:
        if isinstance(target, ast.Name):
            self._add(Binding(target.id, how, node, value, path), scope)
        elif isinstance(target, ast.Attribute):
            owner = self._class_of_self(target, scope)
            if owner is not None:
                found = Binding(target.attr, how, node, value, path)
                self.attributes.setdefault(owner, {}).setdefault(target.attr, []).append(found)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, value, how, node, scope, (*path[:-1], REST))
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = next(
                (i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)), None
            )
            given = (
                value.elts
                if how is How.ASSIGN and isinstance(value, (ast.Tuple, ast.List)) and not path
                else []
            )
            if len(given) == len(target.elts) and not any(
                isinstance(item, ast.Starred) for item in (*given, *target.elts)
            ):
                for item, part in zip(target.elts, given, strict=True):
                    self._bind_target(item, part, how, node, scope)
                return
            for index, item in enumerate(target.elts):
                place = index if starred is None or index < starred else REST
                self._bind_target(item, value, how, node, scope, (*path, place))

    def _add(self, binding: Binding, scope: Scope) -> None:
        home = scope.elsewhere.get(binding.name, scope)
        binding.remote = home is not scope
        home.bindings.setdefault(binding.name, []).append(binding)
        if home.is_class and isinstance(home.node, ast.ClassDef):
            self.attributes.setdefault(home.node, {}).setdefault(binding.name, []).append(binding)

    def _class_of_self(self, target: ast.Attribute, scope: Scope) -> ast.ClassDef | None:
        """The class whose instance `self` is in `self.x = …`; also in functions inside the method."""
        if not isinstance(target.value, ast.Name):
            return None
        return self.class_of_self(target.value.id, scope)

    def class_of_self(self, name: str, scope: Scope | None) -> ast.ClassDef | None:
        while scope is not None and name not in scope.bindings:
            scope = scope.parent
        if scope is None or scope.parent is None or not isinstance(scope.node, FUNCTIONS):
            return None
        owner = scope.parent.node
        first = next(iter(parameters(scope.node)), None)
        is_self = (
            first is not None
            and first.arg == name
            and not has_decorator(scope.node, "staticmethod")
        )
        only = all(binding.how is How.PARAMETER for binding in scope.bindings[name])
        return owner if is_self and only and isinstance(owner, ast.ClassDef) else None

    def scope_at(self, node: ast.AST) -> Scope:
        """The scope that a node's names are looked up in."""
        child = node
        for parent in self.ancestors(node):
            scope = self.scopes.get(parent)
            if scope is not None and self._runs_inside(parent, child, node):
                return scope
            child = parent
        return self.module

    def _runs_inside(self, owner: ast.AST, child: ast.AST, node: ast.AST) -> bool:
        if isinstance(owner, COMPREHENSIONS):
            first = owner.generators[0].iter
            return not (child is owner.generators[0] and self.within(node, first))
        body = getattr(owner, "body", None)
        return child is body or (isinstance(body, list) and child in body)

    def _owner(self, name: str, scope: Scope | None) -> Scope | None:
        """The scope that binds a name, seen from a scope: classes are not seen from the functions in them."""
        start = scope
        while scope is not None:
            if name in scope.elsewhere:
                return scope.elsewhere[name]
            if name in scope.bindings and (scope is start or not scope.is_class):
                return scope
            scope = scope.parent
        return None


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


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


def has_decorator(function: ast.AST, name: str) -> bool:
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(item, ast.Name) and item.id == name for item in decorators)
