"""Which functions TensorFlow traces into graphs: their Python runs only while it does so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from unslow.syntax.callees import Definition
from unslow.syntax.kinds import Kinded
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    FUNCTIONS,
    NAMED_FUNCTIONS,
    Function,
    NamedFunction,
    argument,
    given_values,
    inside,
    is_constant,
    method_of,
    of_type,
    own_nodes,
    receiver_of,
    words,
)

if TYPE_CHECKING:
    from typing_extensions import Self

# Functions of TensorFlow that trace the functions which they are given.
_BUILDERS = words(
    "tf.map_fn tf.vectorized_map tf.scan tf.foldl tf.foldr tf.cond tf.case tf.switch_case "
    "tf.while_loop"
    " tf.recompute_grad tf.function tf.custom_gradient"
)
_DATASET_METHODS = words("map flat_map filter interleave scan take_while reduce group_by_window")
_KERAS_STEPS = ("train_step", "test_step", "predict_step")
_EAGER_TESTS = (
    "tf.executing_eagerly",
    "tf.inside_function",
    "tf.executing_eagerly_outside_functions",
    "hasattr",
)
_EAGERLY = ("tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly")


@dataclass(frozen=True)
class Trace:
    """Why a function is traced: the place that causes it, and the name it has for a reader."""

    root: ast.AST  # the decorator, the wrapping call, or the method that Keras traces
    name: str  # of the outermost function that is traced


class Traced(Kinded):
    """A tree that knows which of its functions become graphs."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self._traces: dict[ast.AST, Trace] | None = None

    @property
    def traces(self) -> dict[ast.AST, Trace]:
        """Every traced function of the file, those that traced functions call included."""
        if self._traces is None:
            self._traces = {}
            if not self.runs_eagerly:
                for function, root in self._roots():
                    self._spread(function, Trace(root, label(function)))
        return self._traces

    @property
    def runs_eagerly(self) -> bool:
        """Whether the file itself turns tracing off."""
        return any(
            is_constant(argument(call, "run_eagerly", 0), True) for call in self.calls(*_EAGERLY)
        )

    def trace_of(self, node: ast.AST) -> Trace | None:
        """Why the Python at a node runs only while tracing, or None."""
        function = self.function(node)
        trace = self.traces.get(function) if function is not None else None
        return trace if trace is not None and not self.eager_corner(node, function) else None

    def _roots(self) -> Iterator[tuple[Function, ast.AST]]:
        for function in self.functions:
            decorator = self.compiler(function)
            if decorator is not None:
                yield function, decorator
            elif function.name in _KERAS_STEPS and self._is_keras_step(function):
                yield function, function
        for value, found in self.handed_over():
            if found.source is self and isinstance(found.node, FUNCTIONS):
                yield found.node, value

    def _is_keras_step(self, function: NamedFunction) -> bool:
        """Whether `fit` traces a method: not on other backends or with `run_eagerly=True`."""
        owner = self.class_of_method(function)
        is_eager = any(map(_asks_eager, self.every(ast.keyword)))
        if owner is None or is_eager or not self.imports("tf"):
            return False
        calls = [call for call in self.every(ast.Call) if method_of(call) == function.name]
        by_hand = any(map(self._is_by_hand, calls))
        return not by_hand and self.class_kind(owner) is Kind.MODEL

    def _is_by_hand(self, call: ast.Call) -> bool:
        """`model.train_step(batch)` in the user's own loop, which may be eager."""
        match receiver_of(call):
            case ast.Name(id=name) as receiver:
                return self.class_of_self(name, self.scope_at(receiver)) is None
            case ast.Call(func=function):
                return self.name(function) != "super"
        return True

    def handed_over(self) -> Iterator[tuple[ast.expr, Definition[Self]]]:
        """Functions passed to something that traces them, each with its argument."""
        for call in self.every(ast.Call):
            if self._traces_arguments(call):
                yield from self._functions_given(call)

    def _functions_given(self, call: ast.Call) -> Iterator[tuple[ast.expr, Definition[Self]]]:
        for value in given_values(call):
            found = self.definition(value)
            if found is not None:
                yield value, found

    def _traces_arguments(self, call: ast.Call) -> bool:
        name = self.name(call.func)
        if name:
            return name == "tf.function"
        match call.func:
            case ast.Attribute(value=receiver, attr=method) if method in _DATASET_METHODS:
                return self.kind(receiver) is Kind.DATASET
            case ast.Call(func=function):  # `tf.function(jit_compile=True)(step)`
                return self.name(function) == "tf.function"
        return False

    def _spread(self, function: Function, trace: Trace) -> None:
        waiting = [function]
        while waiting:
            current = waiting.pop()
            if self._traces is not None and current not in self._traces:
                self._traces[current] = trace
                waiting += self._led_to(current)

    def _led_to(self, function: Function) -> Iterator[Function]:
        """The functions of this file that are traced because a traced one runs them."""
        for _, definition in self.traced_calls(function):
            if definition.source is self and isinstance(definition.node, FUNCTIONS):
                yield definition.node

    def traced_calls(self, function: Function) -> Iterator[tuple[ast.Call, Definition[Self]]]:
        """What a traced function runs while it is traced, in any of the user's files."""
        for node in own_nodes(function):
            if not isinstance(node, ast.Call) or self.eager_corner(node, function):
                continue
            found = self.callee(node)
            if found is not None:
                yield node, found
            elif self.name(node.func) in _BUILDERS or self.runs_on_replicas(node):
                yield from ((node, given) for _, given in self._functions_given(node))

    def runs_on_replicas(self, call: ast.Call) -> bool:
        return method_of(call) == "run" and self.kind(receiver_of(call)) is Kind.STRATEGY

    def eager_corner(self, node: ast.AST, function: ast.AST | None) -> bool:
        """Whether a place in a traced function runs eagerly: `init_scope`, or a test for it."""
        tests = inside(self.conditions(node), ast.Call)
        if any(self.name(test.func) in _EAGER_TESTS for test in tests):
            return True
        around = takewhile(lambda parent: parent is not function, self.ancestors(node))
        items = chain.from_iterable(block.items for block in of_type(around, ast.With))
        entered = of_type((item.context_expr for item in items), ast.Call)
        return any(self.name(call.func) == "tf.init_scope" for call in entered)


def _asks_eager(keyword: ast.keyword) -> bool:
    return keyword.arg == "run_eagerly" and not is_constant(keyword.value, False)


def label(function: ast.AST) -> str:
    return f"`{function.name}`" if isinstance(function, NAMED_FUNCTIONS) else "the lambda"
