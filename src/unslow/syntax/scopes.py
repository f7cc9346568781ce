"""Who binds which name where: scopes, bindings, and the attributes that methods give to `self`."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from unslow.syntax.nodes import COMPREHENSIONS, FUNCTIONS, has_decorator, has_starred, parameters
from unslow.syntax.tree import Tree

Path = tuple[int, ...]
_OPENING = (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)
_BINDING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal),
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr),
    *(ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.ExceptHandler, ast.Delete),
    *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
)
REST = -1  # in a path: the starred part, whose elements are not distinguished


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

    @property
    def assigned(self) -> ast.expr | None:
        """The expression that is assigned as a whole, None where the value comes in another way."""
        return self.value if self.how is How.ASSIGN and not self.path else None

    @property
    def is_import(self) -> bool:
        return self.how is How.IMPORT


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

    @property
    def outside_comprehensions(self) -> Scope:
        """The scope around comprehensions: a walrus in one binds there."""
        scope = self
        while scope.is_comprehension and scope.parent is not None:
            scope = scope.parent
        return scope


class Scoped(Tree):
    """A tree whose names know their scope."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self.module = Scope(self.tree, None)
        # By function, class or comprehension.
        self.scopes: dict[ast.AST, Scope] = {self.tree: self.module}
        self.attributes: dict[ast.ClassDef, dict[str, list[Binding]]] = {}
        self.star_imports: list[str] = []
        for node in self._in_order(_OPENING):
            self._enter(node)
        for node in self._in_order(_BINDING):
            scope = self.scope_at(node)
            for binding in self._bound_by(node, scope):
                self._add(binding, scope)

    def _in_order(self, kinds: Sequence[type[ast.AST]]) -> list[ast.AST]:
        found = [node for kind in kinds for node in self.every(kind)]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]

    def _enter(self, node: ast.AST) -> None:
        """Open the scope of a function, class or comprehension, and bind its parameters."""
        inner = self.scopes[node] = Scope(node, self.scope_at(node))
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                self._bind(generator.target, Binding("", How.LOOP, node, generator.iter), inner)
        elif isinstance(node, ast.ClassDef):
            self.attributes.setdefault(node, {})
        for parameter in parameters(node):
            self._add(Binding(parameter.arg, How.PARAMETER, parameter), inner)

    def _bound_by(self, node: ast.AST, scope: Scope) -> Iterator[Binding]:
        """The names that a node binds by itself; its assignment targets are bound on the way."""
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Binding(name, How.FUNCTION, node)
            case ast.ClassDef(name=name):
                yield Binding(name, How.CLASS, node)
            case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield Binding(name, How.OPAQUE, node)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield Binding(name, How.OPAQUE, node)
            case ast.Import() | ast.ImportFrom():
                yield from self._imported_by(node)
            case ast.Global(names=names):
                scope.elsewhere.update(dict.fromkeys(names, self.module))
            case ast.Nonlocal(names=names):
                owners = {name: self._owner(name, scope.parent) for name in names}
                scope.elsewhere.update({name: owner for name, owner in owners.items() if owner})
            case _:
                self._bind_targets(node, scope)

    def _bind_targets(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.NamedExpr):
            scope = scope.outside_comprehensions
        for target, how, value in _targets_of(node):
            self._bind(target, Binding("", how, node, value), scope)

    def _imported_by(self, node: ast.Import | ast.ImportFrom) -> Iterator[Binding]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield Binding(alias.asname or whole, How.IMPORT, node, target=whole)
            return
        origin = "." * node.level + (node.module or "")
        joint = "" if origin.endswith(".") else "."
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(origin)
            else:
                target = f"{origin}{joint}{alias.name}"
                yield Binding(alias.asname or alias.name, How.IMPORT, node, target=target)

    def _bind(self, target: ast.expr | None, binding: Binding, scope: Scope) -> None:
        """Bind a target, or all parts of one that is unpacked, as the binding says."""
        match target:
            case ast.Name(id=name):
                self._add(replace(binding, name=name), scope)
            case ast.Attribute(value=ast.Name(id=holder), attr=name):
                owner = self.class_of_self(holder, scope)
                if owner is not None:
                    found = replace(binding, name=name)
                    self.attributes.setdefault(owner, {}).setdefault(name, []).append(found)
            case ast.Starred(value=inner):
                self._bind(inner, replace(binding, path=(*binding.path[:-1], REST)), scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, binding, scope)

    def _unpack(self, parts: list[ast.expr], binding: Binding, scope: Scope) -> None:
        given = _parts_given(binding, len(parts))
        starred = [index for index, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if given and not starred:
            for part, value in zip(parts, given, strict=True):
                self._bind(part, replace(binding, value=value), scope)
            return
        countable = starred[0] if starred else len(parts)
        for index, part in enumerate(parts):
            place = index if index < countable else REST
            self._bind(part, replace(binding, path=(*binding.path, place)), scope)

    def _add(self, binding: Binding, scope: Scope) -> None:
        home = scope.elsewhere.get(binding.name, scope)
        binding.remote = home is not scope
        home.bindings.setdefault(binding.name, []).append(binding)
        if isinstance(home.node, ast.ClassDef):
            self.attributes.setdefault(home.node, {}).setdefault(binding.name, []).append(binding)

    def class_of_self(self, name: str, scope: Scope | None) -> ast.ClassDef | None:
        """The class of a name that is the first parameter of a method around."""
        while scope is not None and name not in scope.bindings:
            scope = scope.parent
        if scope is None or scope.parent is None or not isinstance(scope.node, FUNCTIONS):
            return None
        first = next(parameters(scope.node), None)
        if first is None or first.arg != name or has_decorator(scope.node, "staticmethod"):
            return None
        only = all(binding.how is How.PARAMETER for binding in scope.bindings[name])
        owner = scope.parent.node
        return owner if only and isinstance(owner, ast.ClassDef) else None

    def scope_at(self, node: ast.AST) -> Scope:
        """The scope that a node's names are looked up in."""
        for child, parent in self.upwards(node):
            scope = self.scopes.get(parent)
            if scope is not None and self.runs_inside(parent, child, node):
                return scope
        return self.module

    def _owner(self, name: str, scope: Scope | None) -> Scope | None:
        """The scope that binds a name, seen from a scope; functions do not see class scopes."""
        start = scope
        while scope is not None:
            if name in scope.elsewhere:
                return scope.elsewhere[name]
            if name in scope.bindings and (scope is start or not scope.is_class):
                return scope
            scope = scope.parent
        return None

    def bindings(self, name: str, node: ast.AST) -> list[Binding]:
        """All bindings of a name as seen at a node, also later ones."""
        owner = self._owner(name, self.scope_at(node))
        return owner.bindings[name] if owner is not None and name in owner.bindings else []


def _targets_of(node: ast.AST) -> list[tuple[ast.expr | None, How, ast.expr | None]]:
    """What a statement or a walrus binds, and how."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(target, How.ASSIGN, value) for target in targets]
        case ast.AnnAssign(target=target, value=None):
            return [(target, How.OPAQUE, None)]
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return [(target, How.ASSIGN, value)]
        case ast.AugAssign(target=target, value=value):
            return [(target, How.AUGMENT, value)]
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            return [(target, How.LOOP, value)]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [(item.optional_vars, How.WITH, item.context_expr) for item in items]
        case ast.Delete(targets=targets):
            return [(target, How.OPAQUE, None) for target in targets]
    return []


def _parts_given(binding: Binding, count: int) -> list[ast.expr]:
    """The values of an unpacked assignment where they are written out one by one."""
    if binding.how is not How.ASSIGN or binding.path:
        return []
    match binding.value:
        case ast.Tuple(elts=values) | ast.List(elts=values):
            return values if len(values) == count and not has_starred(values) else []
    return []
