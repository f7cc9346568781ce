"""What kind of value an expression has, UNKNOWN where the file does not show it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from unslow.syntax.callees import Called
from unslow.syntax.library import (
    ANNOTATIONS,
    ATTRIBUTES,
    CLASS_KINDS,
    ELEMENTS,
    METHODS,
    TAKEN,
    TENSOR_LIKE,
    Kind,
    made_by,
)
from unslow.syntax.names import is_none
from unslow.syntax.nodes import Function, has_starred, words
from unslow.syntax.scopes import REST, Binding, How, Path

if TYPE_CHECKING:
    from typing_extensions import Self

_STEPS = 400  # expressions that one inference may lead through before it is UNKNOWN
# How far one may lead to another: a sum of a thousand terms must not exhaust Python's stack.
_DEEPEST = 60
_COUNTERS = words("range tqdm.trange")
_WRAPPERS = words("tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.std.tqdm reversed list tuple")
# A structure of tensors is tensors wherever it is taken apart.
_SAME_ANYWHERE = (Kind.TENSOR, Kind.ARRAY)
_SAME_SLICED = (*_SAME_ANYWHERE, Kind.VARIABLE, Kind.PLACEHOLDER, None)
_GIVING_TENSORS = (Kind.LOSS, Kind.METRIC, Kind.FUNCTION)
_TENSOR_IF = {True: Kind.TENSOR, False: Kind.UNKNOWN}


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
        # While a question is open its parts are kept apart: they may rest on the open question's
        # own answer.
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
        match node:
            case ast.Name():
                return self._of_bindings(self.reaching(node), path)
            case ast.Call():
                return self._call(node, path)
            case ast.Attribute():
                return self._attribute(node, path)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._literal(elements, path)
            case ast.Subscript():
                return self._subscript(node, path)
            case ast.IfExp(body=body, orelse=orelse):
                return join((self._ask(body, path), self._ask(orelse, path)))
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self._ask(inner, path)
        return self._operation(node)

    def _operation(self, node: ast.expr) -> Kind | None:
        match node:
            case ast.Constant(value=value):
                return Kind.NUMBER if type(value) in (int, float) else Kind.OTHER
            case ast.BinOp(left=left, right=right):
                return _combined(self._ask(left, ()), self._ask(right, ()))
            case ast.UnaryOp(op=ast.Invert() | ast.UAdd() | ast.USub(), operand=operand):
                return self._ask(operand, ())
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                both = (self._ask(left, ()), self._ask(right, ()))
                tensors = TENSOR_LIKE.intersection(both)
                elementwise = not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
                return Kind.TENSOR if tensors and elementwise else Kind.OTHER
            case ast.JoinedStr() | ast.Dict() | ast.Set() | ast.Lambda():
                return Kind.OTHER
        return Kind.UNKNOWN

    def _literal(self, elements: list[ast.expr], path: Path) -> Kind | None:
        if not path:
            return Kind.OTHER
        is_known = path[0] != REST and path[0] < len(elements)
        if not is_known or has_starred(elements):
            return Kind.UNKNOWN
        return self._ask(elements[path[0]], path[1:])

    def _subscript(self, node: ast.Subscript, path: Path) -> Kind | None:
        match node.slice:
            case ast.Constant(value=int(index)) if index >= 0:
                return self._ask(node.value, (index, *path))
        whole = self._ask(node.value, ())
        return whole if whole in _SAME_SLICED else Kind.UNKNOWN

    def _attribute(self, node: ast.Attribute, path: Path) -> Kind | None:
        owner = self.class_of(node.value)
        if owner is not None:
            bindings = owner.source.class_attribute(owner.node, node.attr)
            own = owner.source is self
            ask = self._of_bindings if own else owner.source._bindings_kind
            if bindings:
                return ask(bindings, path)
        holder, kind = ATTRIBUTES.get(node.attr, (None, Kind.UNKNOWN))
        if holder is not None and self._ask(node.value, ()) is holder:
            return kind
        return self._exported_kind(self.full_name(node), path)

    def _exported_kind(self, target: str, path: Path) -> Kind:
        """The kind of what another file of the user's holds under a name."""

        def ask(source: Self, name: str) -> Kind:
            return source._bindings_kind(source.module.bindings.get(name, []), path)

        return self.follow("kind", target, ask, Kind.UNKNOWN)

    def _bindings_kind(self, bindings: list[Binding], path: Path) -> Kind:
        """As `kind`, for a name of this file that another file asks about."""
        assigned = [item for item in bindings if item.how is How.ASSIGN]
        kinds = {self.kind(item.value, (*item.path, *path)) for item in assigned}
        return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN

    def _of_bindings(self, bindings: Iterable[Binding], path: Path) -> Kind | None:
        known = [binding for binding in bindings if not is_none(binding)]
        return join(self._of_binding(binding, path) for binding in known) if known else Kind.UNKNOWN

    def _of_binding(self, binding: Binding, path: Path) -> Kind | None:
        value, whole = binding.value, (*binding.path, *path)
        if isinstance(binding.node, ast.arg):
            return self._parameter(binding.node)
        if binding.is_import:
            return self._exported_kind(binding.target, path)
        if value is None:
            return Kind.FUNCTION if self.compiler(binding.node) is not None else Kind.UNKNOWN
        if binding.how is How.LOOP:
            return self._element(value, whole)
        if isinstance(binding.node, ast.AugAssign):
            # Inferred at its own place: what it held until here.
            before = self._ask(binding.node.target, ())
            return _combined(before, self._ask(value, ()))
        return self._ask(value, whole)

    def _element(self, iterable: ast.expr, path: Path) -> Kind | None:
        """The kind of what a loop takes out of an iterable."""
        match iterable:
            case ast.Call(func=function, args=[_, *_] as given):
                found = self._counted_element(self.name(function), given, path)
                if found is not Kind.UNKNOWN:
                    return found
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                return self._ask(element, path)
            case ast.Name():
                held = [item.assigned for item in self.reaching(iterable)]
                if len(held) == 1 and isinstance(held[0], ast.Tuple | ast.List | ast.ListComp):
                    return self._element(held[0], path)
            case ast.Tuple(elts=[_, *_] as items) | ast.List(elts=[_, *_] as items):
                return join(self._ask(item, path) for item in items)
        whole = self._ask(iterable, ())
        return ELEMENTS.get(whole, Kind.UNKNOWN) if whole is not None else None

    def _counted_element(self, name: str, given: list[ast.expr], path: Path) -> Kind | None:
        """What Python's own iterators give; UNKNOWN for all other calls."""
        if name in _COUNTERS or (name == "enumerate" and path[:1] == (0,)):
            return Kind.NUMBER
        if name == "enumerate" and path:
            return self._element(given[0], path[1:])
        if name == "zip" and path and 0 <= path[0] < len(given):
            return self._element(given[path[0]], path[1:])
        return self._element(given[0], path) if name in _WRAPPERS else Kind.UNKNOWN

    def _call(self, call: ast.Call, path: Path) -> Kind | None:
        name = self.name(call.func)
        if name in TAKEN and call.args:
            of = self._ask(call.args[0], ())
            return TAKEN[name].get(of, Kind.UNKNOWN) if of is not None else None
        made: Kind | None = made_by(name)
        if made is Kind.UNKNOWN:
            made = self._method(call) or self._called_value(call, path)
        if path and made not in (*_SAME_ANYWHERE, None):
            return Kind.UNKNOWN
        return made

    def _method(self, call: ast.Call) -> Kind | None:
        match call.func:
            case ast.Attribute(value=receiver, attr=method):
                of = self._ask(receiver, ())
                if of is Kind.ARRAY:
                    return Kind.NUMBER if method == "item" else Kind.ARRAY
                return METHODS.get((of, method)) if of is not None else None
        return None

    def _called_value(self, call: ast.Call, path: Path) -> Kind | None:
        """The kind of what a call of the user's function, class or object gives."""
        found = self.callee(call)
        if found is not None and isinstance(found.node, ast.ClassDef):
            return found.source.class_kind(found.node)
        if found is not None:
            result = self._result(found.source, found.node, path)
            compiled = found.source.compiler(found.node) is not None
            compiled = compiled or self._is_function_object(call.func)
            return Kind.TENSOR if compiled and result is not Kind.OTHER else result
        of = self._ask(call.func, ())
        if of in (Kind.MODEL, Kind.LAYER):
            given = self._ask(call.args[0], ()) if call.args else Kind.UNKNOWN
            known = of is Kind.MODEL or given is not Kind.UNKNOWN
            return given if given in (Kind.SYMBOL, None) else _TENSOR_IF[known]
        return None if of is None else _TENSOR_IF[of in _GIVING_TENSORS]

    def _is_function_object(self, function: ast.expr) -> bool:
        named = isinstance(function, (ast.Name, ast.Attribute))
        return named and self._ask(function, ()) is Kind.FUNCTION

    def _result(self, source: Kinded, function: Function | ast.ClassDef, path: Path) -> Kind | None:
        values = [value for value in source.returned(function) if value is not None]
        if not values:
            return Kind.OTHER
        ask = self._ask if source is self else source.kind
        return join(ask(value, path) for value in values)

    def class_kind(self, owner: ast.ClassDef) -> Kind:
        """The kind that instances of a class of the user's have."""
        kinds = (kind for base, kind in CLASS_KINDS.items() if self.inherits(owner, base))
        return next(kinds, Kind.OTHER)

    def _parameter(self, parameter: ast.arg) -> Kind | None:
        """The kind of a parameter: by its annotation, as `self`, or by the calls in this file."""
        annotated = ANNOTATIONS.get(self.name(parameter.annotation))
        if annotated is not None:
            return annotated
        function = self.parents[self.parents[parameter]]
        owner = self.class_of_self(parameter.arg, self.scopes.get(function))
        if owner is not None:
            return self.class_kind(owner)
        given = [self.argument_for(call, function, parameter) for call in self.callers(function)]
        values = [value for value in given if value is not None]
        if not values or len(values) < len(given):
            return Kind.UNKNOWN
        return join(self._ask(value, ()) for value in values)


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
