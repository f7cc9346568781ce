"""Dotted names as they are meant: aliases and re-exports resolved, equal things spelled alike."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from unslow.syntax.neighbours import module_path, opened
from unslow.syntax.reach import Reached
from unslow.syntax.scopes import Binding, How

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
# In TensorFlow 2 these hold Keras's classes; the functions of TensorFlow 1 in them are another thing.
_CLASSES_OF_KERAS = ("tf.losses.", "tf.metrics.", "tf.initializers.")


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
        self._uses_tensorflow: bool | None = None
        self._full: dict[ast.expr, str] = {}
        self._calls: dict[str, list[ast.Call]] | None = None

    @property
    def uses_tensorflow(self) -> bool:
        """Whether the file imports TensorFlow or Keras, or a name that leads to them."""
        if self._uses_tensorflow is None:
            self._uses_tensorflow = self.imports("tf", "keras")
        return self._uses_tensorflow

    def imports(self, *packages: str) -> bool:
        """Whether the file imports from a package, by its canonical name; its other files are asked only at last."""
        targets = self.imported
        if any(canonical(target).partition(".")[0] in packages for target in targets):
            return True
        return any(
            canonical(self._exported(target)).partition(".")[0] in packages for target in targets
        )

    @property
    def imported(self) -> list[str]:
        """The dotted names that the file imports, as they are written."""
        bound = (
            item
            for scope in self.scopes.values()
            for items in scope.bindings.values()
            for item in items
        )
        return [*self.star_imports, *(item.target for item in bound if item.how is How.IMPORT)]

    def name(self, expression: ast.expr | None) -> str:
        """The canonical dotted name of an expression, or nothing where it is no name or not known."""
        return canonical(self.full_name(expression))

    def full_name(self, expression: ast.expr | None) -> str:
        """The dotted name as imported, so that `tensorflow.compat.v1` and `tf_keras` can be told apart."""
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
                return self._exported(f"{base}.{expression.attr}") or f"{base}.{expression.attr}"
            return self._agreed(self.attribute_bindings(expression))
        if self.owner(expression) is not None:
            return self._agreed(self.reaching(expression))
        if hasattr(builtins, expression.id):
            return expression.id
        origin = self.star_imports[0] if len(self.star_imports) == 1 else ""
        return (
            (self._exported(f"{origin}.{expression.id}") or f"{origin}.{expression.id}")
            if origin
            else ""
        )

    def _agreed(self, bindings: list[Binding]) -> str:
        """The name that all bindings lead to: the imports in a `try` and its `except` may be one thing."""
        names = {self.bound_name(binding) for binding in bindings if not is_none(binding)}
        return names.pop() if len({canonical(name) for name in names}) == 1 else ""

    def bound_name(self, binding: Binding) -> str:
        if binding.how is How.IMPORT:
            return self._exported(binding.target) or binding.target
        if binding.how is How.ASSIGN and not binding.path:
            return self.full_name(binding.value)
        return ""

    def attribute_bindings(self, expression: ast.Attribute) -> list[Binding]:
        """What methods assign to `self.x`, here and in the base classes of this file."""
        if not isinstance(expression.value, ast.Name):
            return []
        owner = self.class_of_self(expression.value.id, self.scope_at(expression))
        return self.class_attribute(owner, expression.attr) if owner is not None else []

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
            if current not in seen:
                seen.append(current)
                yield current
                for base in current.bases:
                    bindings = self.reaching(base) if isinstance(base, ast.Name) else []
                    waiting += [
                        item.node for item in bindings if isinstance(item.node, ast.ClassDef)
                    ]

    def _exported(self, target: str) -> str:
        """What a name imported from one of the user's own files stands for there."""
        return self.follow("name", target, lambda source, name: source._own_name(name), "")

    def _own_name(self, name: str) -> str:
        bindings = self.module.bindings.get(name, [])
        return (
            self.bound_name(bindings[0])
            if bindings and (len(bindings) == 1 or self._agreed(bindings))
            else ""
        )

    def follow(
        self, what: str, target: str, ask: Callable[[Self, str], Answer], otherwise: Answer
    ) -> Answer:
        """Ask the user's file that a dotted name leads to about the name in it; files may import each other."""
        dots = target[: len(target) - len(target.lstrip("."))]
        parent, _, name = target[len(dots) :].rpartition(".")
        path = module_path(self.path, dots + parent) if dots + parent else None
        if path is None or (what, target) in self._following:
            return otherwise
        source = opened(type(self), path)
        if source is None:
            return otherwise
        self._following.add((what, target))
        try:
            return ask(source, name)
        finally:
            self._following.discard((what, target))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls by canonical name, in the order of the text; `keras.optimizers.*` is any one below."""
        if self._calls is None:
            self._calls = {}
            for call in self.every(ast.Call):
                self._calls.setdefault(self.name(call.func), []).append(call)
        found: list[ast.Call] = []
        for name in names:
            if name.endswith(".*"):
                found += [
                    call
                    for known, calls in self._calls.items()
                    if known.rpartition(".")[0] == name[:-2] and known
                    for call in calls
                ]
            else:
                found += self._calls.get(name, ())
        yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))


def is_none(binding: Binding) -> bool:
    """`self.session = None` says that the value comes later, not what it is."""
    return isinstance(binding.value, ast.Constant) and binding.value.value is None


def argument(call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
    """An argument by keyword or by position; nothing after a `*`, where positions are not known."""
    for item in call.keywords:
        if item.arg == keyword:
            return item.value
    if position is not None and len(call.args) > position:
        before = call.args[: position + 1]
        if not any(isinstance(item, ast.Starred) for item in before):
            return call.args[position]
    return None
