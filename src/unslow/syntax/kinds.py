"""What kind of value an expression has; where the file itself does not tell, the answer is UNKNOWN."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.syntax.callees import Called
from unslow.syntax.library import ANNOTATIONS, METHODS, TENSOR_LIKE, Kind, made_by
from unslow.syntax.names import is_none
from unslow.syntax.nodes import Function
from unslow.syntax.scopes import REST, Binding, How, Path

_STEPS = 400  # how many expressions one question may lead through before the answer is UNKNOWN
_DEEPEST = (
    60  # how far one may lead to another: a sum of a thousand terms must not exhaust Python's stack
)
_WRAPPERS = (
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.notebook.tqdm",
    "tqdm.std.tqdm",
    "reversed",
    "list",
    "tuple",
)
_SAME_ANYWHERE = (
    Kind.TENSOR,
    Kind.ARRAY,
)  # a structure of tensors is tensors wherever it is taken apart
_CLASS_KINDS = {
    "keras.Model": Kind.MODEL,
    "keras.Sequential": Kind.MODEL,
    "keras.layers.Layer": Kind.LAYER,
    "keras.callbacks.Callback": Kind.CALLBACK,
    "keras.losses.Loss": Kind.LOSS,
    "keras.metrics.Metric": Kind.METRIC,
    "keras.optimizers.Optimizer": Kind.OPTIMIZER,
}


class Kinded(Called):
    """A tree whose expressions know what kind of value they have."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._kinds: dict[tuple[ast.expr, Path], Kind] = {}
        self._asked: dict[tuple[ast.expr, Path], Kind | None] = {}
        self._depth = 0

    def kind(self, expression: ast.expr | None, path: Path = ()) -> Kind:
        """The kind of a value, or of the part of it that a path of indices leads to."""
        if expression is None:
            return Kind.OTHER
        key = (expression, path)
        if key in self._kinds:
            return self._kinds[key]
        # While a question is open its parts are kept apart: they may rest on the open question's own answer.
        outermost = not self._asked
        try:
            found = self._ask(expression, path) or Kind.UNKNOWN
        finally:
            if outermost:
                self._asked.clear()
        if outermost:
            self._kinds[key] = found
        return found

    def _ask(self, expression: ast.expr, path: Path) -> Kind | None:
        """A kind, or None: it depends on nothing but itself."""
        key = (expression, path)
        if key not in self._asked:
            if len(self._asked) > _STEPS or self._depth > _DEEPEST:
                return Kind.UNKNOWN
            self._asked[key] = None
            self._depth += 1
            try:
                self._asked[key] = self._infer(expression, path)
            finally:
                self._depth -= 1
        return self._asked[key]

    def _infer(self, node: ast.expr, path: Path) -> Kind | None:
        if isinstance(node, ast.Name):
            return self._of_bindings(self.reaching(node), path)
        if isinstance(node, ast.Call):
            return self._call(node, path)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, path)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._literal(node, path)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, path)
        if isinstance(node, ast.Constant):
            return Kind.NUMBER if type(node.value) in (int, float) else Kind.OTHER
        if isinstance(node, ast.IfExp):
            return join((self._ask(node.body, path), self._ask(node.orelse, path)))
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return self._ask(node.value, path)
        return self._operation(node)

    def _operation(self, node: ast.expr) -> Kind | None:
        if isinstance(node, ast.BinOp):
            return _combined(self._ask(node.left, ()), self._ask(node.right, ()))
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self._ask(node.operand, ())
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            both = (self._ask(node.left, ()), self._ask(node.comparators[0], ()))
            plain = isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
            return Kind.OTHER if plain or not TENSOR_LIKE.intersection(both) else Kind.TENSOR
        if isinstance(node, (ast.JoinedStr, ast.Dict, ast.Set, ast.Lambda)):
            return Kind.OTHER
        return Kind.UNKNOWN

    def _literal(self, node: ast.Tuple | ast.List, path: Path) -> Kind | None:
        if not path:
            return Kind.OTHER
        if path[0] == REST or any(isinstance(item, ast.Starred) for item in node.elts):
            return Kind.UNKNOWN
        return self._ask(node.elts[path[0]], path[1:]) if path[0] < len(node.elts) else Kind.UNKNOWN

    def _subscript(self, node: ast.Subscript, path: Path) -> Kind | None:
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(index, int) and index >= 0:
            return self._ask(node.value, (index, *path))
        whole = self._ask(node.value, ())
        return (
            whole
            if whole in (*_SAME_ANYWHERE, Kind.VARIABLE, Kind.PLACEHOLDER, None)
            else Kind.UNKNOWN
        )

    def _attribute(self, node: ast.Attribute, path: Path) -> Kind | None:
        owner = self.class_of(node.value)
        if owner is not None:
            bindings = owner.source.class_attribute(owner.node, node.attr)
            if bindings and owner.source is self:
                return self._of_bindings(bindings, path)
            if bindings:
                return owner.source._bindings_kind(bindings, path)
        if node.attr == "optimizer" and self._ask(node.value, ()) is Kind.MODEL:
            return Kind.OPTIMIZER
        if node.attr == "model" and self._ask(node.value, ()) is Kind.CALLBACK:
            return Kind.MODEL
        if (
            node.attr in ("learning_rate", "iterations")
            and self._ask(node.value, ()) is Kind.OPTIMIZER
        ):
            return Kind.VARIABLE
        return self._exported_kind(self.full_name(node), path)

    def _exported_kind(self, target: str, path: Path) -> Kind:
        """The kind of what another file of the user's holds under a name."""
        return self.follow(
            "kind", target, lambda source, name: source._own_kind(name, path), Kind.UNKNOWN
        )

    def _own_kind(self, name: str, path: Path) -> Kind:
        return self._bindings_kind(self.module.bindings.get(name, []), path)

    def _bindings_kind(self, bindings: list[Binding], path: Path) -> Kind:
        """As `kind`, for a name of this file that another file asks about."""
        kinds = {
            self.kind(item.value, (*item.path, *path))
            for item in bindings
            if item.how is How.ASSIGN
        }
        return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN

    def _of_bindings(self, bindings: Iterable[Binding], path: Path) -> Kind | None:
        known = [binding for binding in bindings if not is_none(binding)]
        return join(self._of_binding(binding, path) for binding in known) if known else Kind.UNKNOWN

    def _of_binding(self, binding: Binding, path: Path) -> Kind | None:
        value, whole = binding.value, (*binding.path, *path)
        if binding.how is How.PARAMETER and isinstance(binding.node, ast.arg):
            return self._parameter(binding.node)
        if binding.how is How.IMPORT:
            return self._exported_kind(binding.target, path)
        if value is None:
            return Kind.FUNCTION if self.compiler(binding.node) is not None else Kind.UNKNOWN
        if binding.how is How.LOOP:
            return self._element(value, whole)
        if binding.how is How.AUGMENT and isinstance(binding.node, ast.AugAssign):
            before = self._ask(
                binding.node.target, ()
            )  # asked where it stands: what it held until here
            return _combined(before, self._ask(value, ()))
        return self._ask(value, whole)

    def _element(self, iterable: ast.expr, path: Path) -> Kind | None:
        """The kind of what a loop takes out of an iterable."""
        if isinstance(iterable, ast.Call):
            name = self.name(iterable.func)
            if name in ("range", "tqdm.trange"):
                return Kind.NUMBER
            if name == "enumerate" and path and iterable.args:
                return Kind.NUMBER if path[0] == 0 else self._element(iterable.args[0], path[1:])
            if name == "zip" and path and 0 <= path[0] < len(iterable.args):
                return self._element(iterable.args[path[0]], path[1:])
            if name in _WRAPPERS and iterable.args:
                return self._element(iterable.args[0], path)
        if isinstance(iterable, (ast.ListComp, ast.GeneratorExp)):
            return self._ask(iterable.elt, path)
        if isinstance(iterable, ast.Name):
            held = [
                item.value
                for item in self.reaching(iterable)
                if item.how is How.ASSIGN and not item.path
            ]
            if len(held) == 1 and isinstance(held[0], (ast.Tuple, ast.List, ast.ListComp)):
                return self._element(held[0], path)
        if isinstance(iterable, (ast.Tuple, ast.List)):
            return (
                join(self._ask(item, path) for item in iterable.elts)
                if iterable.elts
                else Kind.UNKNOWN
            )
        whole = self._ask(iterable, ())
        if whole in (Kind.DATASET, Kind.ITERATOR, Kind.TENSOR):
            return Kind.TENSOR
        return Kind.ARRAY if whole in (Kind.ARRAY, Kind.ARRAYS) else (whole and Kind.UNKNOWN)

    def _call(self, call: ast.Call, path: Path) -> Kind | None:
        name = self.name(call.func)
        if name in ("iter", "next") and call.args:
            of = self._ask(call.args[0], ())
            if name == "iter":
                return (
                    Kind.ITERATOR if of in (Kind.DATASET, Kind.ITERATOR) else (of and Kind.UNKNOWN)
                )
            return {Kind.ITERATOR: Kind.TENSOR, Kind.ARRAYS: Kind.ARRAY}.get(
                of or Kind.UNKNOWN, of and Kind.UNKNOWN
            )
        made: Kind | None = made_by(name)
        if made is Kind.UNKNOWN:
            made = self._method(call) or self._called_value(call, path)
        if path and made not in (*_SAME_ANYWHERE, None):
            return Kind.UNKNOWN
        return made

    def _method(self, call: ast.Call) -> Kind | None:
        if not isinstance(call.func, ast.Attribute):
            return None
        receiver = self._ask(call.func.value, ())
        found = METHODS.get((receiver or Kind.UNKNOWN, call.func.attr))
        if found is None and receiver is Kind.ARRAY:
            return Kind.NUMBER if call.func.attr == "item" else Kind.ARRAY
        return found

    def _called_value(self, call: ast.Call, path: Path) -> Kind | None:
        """The kind of what a call of the user's function, class or object gives."""
        found = self.callee(call)
        if found is not None and isinstance(found.node, ast.ClassDef):
            return found.source.class_kind(found.node)
        if found is not None:
            result = self._result(found.source, found.node, path)
            compiled = found.source.compiler(found.node) is not None or self._is_function_object(
                call.func
            )
            return Kind.TENSOR if compiled and result is not Kind.OTHER else result
        of = self._ask(call.func, ())
        if of in (Kind.MODEL, Kind.LAYER):
            given = self._ask(call.args[0], ()) if call.args else Kind.UNKNOWN
            if given in (Kind.SYMBOL, None):
                return given
            return Kind.TENSOR if of is Kind.MODEL or given is not Kind.UNKNOWN else Kind.UNKNOWN
        return (
            Kind.TENSOR if of in (Kind.LOSS, Kind.METRIC, Kind.FUNCTION) else (of and Kind.UNKNOWN)
        )

    def _is_function_object(self, function: ast.expr) -> bool:
        return (
            isinstance(function, (ast.Name, ast.Attribute))
            and self._ask(function, ()) is Kind.FUNCTION
        )

    def _result(self, source: Kinded, function: Function | ast.ClassDef, path: Path) -> Kind | None:
        values = [value for value in source.returned(function) if value is not None]
        if not values:
            return Kind.OTHER
        if source is self:
            return join(self._ask(value, path) for value in values)
        return join(source.kind(value, path) for value in values)

    def class_kind(self, owner: ast.ClassDef) -> Kind:
        """The kind that instances of a class of the user's have."""
        return next(
            (kind for base, kind in _CLASS_KINDS.items() if self.inherits(owner, base)), Kind.OTHER
        )

    def _parameter(self, parameter: ast.arg) -> Kind | None:
        """The kind of a parameter: by its annotation, as `self`, or by what the calls in this file give."""
        annotated = ANNOTATIONS.get(self.name(parameter.annotation))
        function = self.parents[self.parents[parameter]]
        if annotated is not None:
            return annotated
        owner = self.class_of_self(parameter.arg, self.scopes.get(function))
        if owner is not None:
            return self.class_kind(owner)
        given = [self.argument_for(call, function, parameter) for call in self.callers(function)]
        if not given or any(value is None for value in given):
            return Kind.UNKNOWN
        return join(self._ask(value, ()) for value in given if value is not None)


def join(kinds: Iterable[Kind | None]) -> Kind | None:
    """What values of several kinds have in common; None says nothing."""
    distinct = {kind for kind in kinds if kind is not None}
    if not distinct:
        return None
    return distinct.pop() if len(distinct) == 1 else Kind.UNKNOWN


def _combined(left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of a sum, a product, …: a tensor if one side is, whatever the other may be."""
    both = {left, right}
    if both & TENSOR_LIKE:
        return Kind.TENSOR
    if Kind.SYMBOL in both:
        return Kind.SYMBOL
    if both <= {Kind.NUMBER, Kind.ARRAY, None}:
        return Kind.ARRAY if Kind.ARRAY in both else join(both)
    return Kind.UNKNOWN
