"""Dotted names as they are meant: aliases and re-exports resolved, equal things spelled alike."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from unslow.syntax.modules import module_path, opened
from unslow.syntax.nodes import NAMED_FUNCTIONS, of_type
from unslow.syntax.reaching import Reached
from unslow.syntax.scopes import Binding, How, Scope

if TYPE_CHECKING:
    from typing_extensions import Self

Answer = TypeVar("Answer")

# The longest prefix wins; each line is a place from which the same thing can be had.
_PREFIXES = (
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.compat.v1", "tf"),
    ("tensorflow.compat.v2", "tf"),
    ("tensorflow.optimizers", "keras.optimizers"),
    ("tensorflow", "tf"),
    ("keras.api", "keras"),
    ("tf_keras", "keras"),
)
_SAME = {
    "keras.models.Model": "keras.Model",
    "keras.models.Sequential": "keras.Sequential",
    "keras.layers.Input": "keras.Input",
    "keras.saving.load_model": "keras.models.load_model",
    "keras.saving.save_model": "keras.models.save_model",
    "keras.mixed_precision.LossScaleOptimizer": "keras.optimizers.LossScaleOptimizer",
}
# In TensorFlow 2 these hold Keras's classes, beside functions of TensorFlow 1.
_CLASSES_OF_KERAS = ("tf.losses.", "tf.metrics.", "tf.initializers.")
# Where a canonical module may be imported from: the old interfaces hold the same names.
_SPELLINGS = {
    "tf": ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"),
    "keras": ("keras", "tensorflow.keras", "tf_keras"),
}
_BUILTINS = frozenset(dir(builtins))


@lru_cache(maxsize=16_384)
def canonical(name: str) -> str:
    """One spelling for a thing: `tensorflow.keras.X` is `keras.X`, `tf.compat.v1.X` is `tf.X`."""
    for prefix, short in _PREFIXES:
        if name == prefix or name.startswith(prefix + "."):
            name = short + name[len(prefix) :]
            break
    if name.startswith(_CLASSES_OF_KERAS) and name.rpartition(".")[2][:1].isupper():
        name = "keras" + name[2:]
    return _SAME.get(name, name)


class Named(Reached):
    """A tree whose expressions know the dotted name that they stand for."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._following: set[tuple[str, str]] = set()
        self._full: dict[ast.expr, str] = {}

    @cached_property
    def uses_tensorflow(self) -> bool:
        """Whether the file imports TensorFlow or Keras, or a name that leads to them."""
        return self.imports("tf", "keras")

    def imports(self, *packages: str) -> bool:
        """Whether the file imports from a package, itself or through the user's other files."""

        def among(name: str) -> bool:
            return canonical(name).partition(".")[0] in packages

        targets = self.imported
        return any(map(among, targets)) or any(among(self._exported(item)) for item in targets)

    @property
    def imported(self) -> list[str]:
        """The dotted names that the file imports, as they are written."""
        targets = list(self.star_imports)
        for scope in self.scopes.values():
            for bindings in scope.bindings.values():
                targets += [item.target for item in bindings if item.is_import]
        return targets

    def name(self, expression: ast.AST | None) -> str:
        """The canonical dotted name of an expression, empty if it has none."""
        return canonical(self.full_name(expression))

    def full_name(self, expression: ast.AST | None) -> str:
        """The dotted name as imported: `tensorflow.compat.v1` is not `tensorflow`."""
        if not isinstance(expression, (ast.Name, ast.Attribute)):
            return ""
        if expression not in self._full:
            self._full[expression] = ""  # a name that leads back to itself has none
            self._full[expression] = self._resolve(expression)
        return self._full[expression]

    def _resolve(self, expression: ast.Name | ast.Attribute) -> str:
        if isinstance(expression, ast.Attribute):
            base = self.full_name(expression.value)
            if base:
                return self._followed(f"{base}.{expression.attr}")
            return self._agreed(self.attribute_bindings(expression))
        if self.owner(expression) is not None:
            return self._agreed(self.reaching(expression))
        if expression.id in _BUILTINS:
            return expression.id
        if len(self.star_imports) == 1:
            return self._followed(f"{self.star_imports[0]}.{expression.id}")
        return ""

    def _followed(self, target: str) -> str:
        """A dotted name, or what it stands for in the user's own file that it leads to."""
        return self._exported(target) or target

    def _agreed(self, bindings: list[Binding]) -> str:
        """The name that all bindings lead to, such as the imports of a `try` and its `except`."""
        names = {self.bound_name(binding) for binding in bindings if not is_none(binding)}
        return names.pop() if len(set(map(canonical, names))) == 1 else ""

    def bound_name(self, binding: Binding) -> str:
        if binding.is_import:
            return self._followed(binding.target)
        return self.full_name(binding.assigned)

    def attribute_bindings(self, expression: ast.Attribute) -> list[Binding]:
        """What methods assign to `self.x`, here and in the base classes of this file."""
        if not isinstance(expression.value, ast.Name):
            return []
        owner = self.class_of_self(expression.value.id, self.scope_at(expression))
        return self.class_attribute(owner, expression.attr) if owner is not None else []

    def seen_bindings(self, expression: ast.AST | None) -> list[Binding]:
        """The bindings that give a name or `self.x` its value; nothing for other expressions."""
        match expression:
            case ast.Name():
                return self.reaching(expression)
            case ast.Attribute():
                return self.attribute_bindings(expression)
        return []

    def only_value(self, expression: ast.AST | None) -> ast.expr | None:
        """The one expression that is assigned to a name or `self.x`, where there is only one."""
        bindings = self.seen_bindings(expression)
        return bindings[0].assigned if len(bindings) == 1 else None

    def class_attribute(self, owner: ast.ClassDef, name: str) -> list[Binding]:
        for candidate in self.lineage(owner):
            found = self.attributes.get(candidate, {}).get(name)
            if found:
                return found
        return []

    def lineage(self, owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """A class and those it inherits from, as far as they are in this file."""
        seen: list[ast.ClassDef] = []
        waiting = [owner]
        while waiting:
            current = waiting.pop(0)
            if current in seen:
                continue
            seen.append(current)
            yield current
            for base in current.bases:
                nodes = (item.node for item in self.seen_bindings(base))
                waiting += of_type(nodes, ast.ClassDef)

    # The user's other files

    def _exported(self, target: str) -> str:
        """What a name imported from one of the user's own files stands for there."""
        return self.follow("name", target, lambda source, name: source._own_name(name), "")

    def _own_name(self, name: str) -> str:
        bindings = self.module.bindings.get(name, [])
        clear = len(bindings) == 1 or (bindings and self._agreed(bindings))
        return self.bound_name(bindings[0]) if clear else ""

    def follow(
        self, what: str, target: str, ask: Callable[[Self, str], Answer], otherwise: Answer
    ) -> Answer:
        """Ask the user's file that a dotted name leads to; files may import each other."""
        dots = target[: len(target) - len(target.lstrip("."))]
        parent, _, name = target[len(dots) :].rpartition(".")
        module = dots + parent
        open_already = (what, target) in self._following
        source = None if open_already or not module else self.neighbour(module)
        if source is None:
            return otherwise
        self._following.add((what, target))
        try:
            return ask(source, name)
        finally:
            self._following.discard((what, target))

    def neighbour(self, module: str) -> Self | None:
        """The user's own module of a name, as this file would import it."""
        path = module_path(self.path, module)
        return opened(type(self), path) if path is not None else None

    def other_files(self, mention: str) -> Iterator[Self]:
        """The program's other files in which a word occurs, as far as they are known."""
        del mention
        yield from ()

    # Calls and names by text

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in self.every(ast.Call):
            found.setdefault(self.name(call.func), []).append(call)
        return found

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls by canonical name in text order; `keras.optimizers.*` is any name below."""
        spaces = {name[:-2] for name in names if name.endswith(".*")}
        known = [each for each in self._calls if each in names or each.rpartition(".")[0] in spaces]
        found = [call for name in known if name for call in self._calls[name]]
        yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def alias(self, name: str, at: ast.AST | None = None) -> str | None:
        """How a canonical name such as `tf.constant` is spelled at a node; None if it cannot be."""
        head, _, rest = name.partition(".")
        for module in _SPELLINGS.get(head, (head,)):
            spelling = self._spelling(f"{module}.{rest}" if rest else module, at)
            if spelling:
                return spelling
        return None

    def _spelling(self, wanted: str, at: ast.AST | None) -> str:
        """The shortest way to write an imported name: that of the longest import it begins with."""
        best, spelling = 0, ""
        for name, target in self._imports_seen(at):
            if len(target) > best and f"{wanted}.".startswith(f"{target}."):
                best, spelling = len(target), name + wanted[len(target) :]
        return spelling

    def _imports_seen(self, at: ast.AST | None) -> Iterator[tuple[str, str]]:
        """Names that stand for an import at a node, and what was imported."""
        for scope in self._scopes_seen(at):
            for name, (first, *_) in scope.bindings.items():
                if first.is_import and self._is_imported_before(first.node, scope, at):
                    yield name, first.target

    def _scopes_seen(self, at: ast.AST | None) -> list[Scope]:
        """The module's scope, and those of the functions around a node."""
        around = self.ancestors(at) if at is not None else ()
        inner = [self.scopes[node] for node in around if isinstance(node, NAMED_FUNCTIONS)]
        return [self.module, *inner]

    def _is_imported_before(self, binding: ast.AST, scope: Scope, at: ast.AST | None) -> bool:
        line = getattr(at, "lineno", None)
        return line is None or scope is not self.module or getattr(binding, "lineno", 0) < line

    @cached_property
    def taken(self) -> set[str]:
        """Every name that the file uses anywhere, so that a fresh one can keep out of its way."""
        found = set(_BUILTINS)
        found.update(node.id for node in self.every(ast.Name))
        found.update(node.attr for node in self.every(ast.Attribute))
        for scope in self.scopes.values():
            found.update(scope.bindings)
        return found

    def fresh(self, wanted: str) -> str:
        """A name like the wanted one that nothing in the file uses."""
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        return name


def is_builtin(name: str) -> bool:
    """Whether a canonical name is one of Python's own."""
    return name in _BUILTINS


def sole_value(bindings: Iterable[Binding]) -> ast.expr | None:
    """The expression that alone gives a value, by `=` or `with`; a `None` before it is no other."""
    found = [binding for binding in bindings if not is_none(binding)]
    if len(found) != 1 or found[0].path:
        return None
    return found[0].value if found[0].how in (How.ASSIGN, How.WITH) else None


def is_none(binding: Binding) -> bool:
    """`self.session = None` says that the value comes later, not what it is."""
    return isinstance(binding.value, ast.Constant) and binding.value.value is None
