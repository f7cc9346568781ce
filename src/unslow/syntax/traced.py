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
    argument,
    inside,
    is_constant,
    of_type,
    own_nodes,
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
    """Why a function is traced: the place that asks for it, and the name it has for a reader."""

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
        named: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*self.every(ast.FunctionDef)]
        named += self.every(ast.AsyncFunctionDef)
        for function in named:
            decorator = self.compiler(function)
            if decorator is not None:
                yield function, decorator
            elif function.name in _KERAS_STEPS and self._is_keras_step(function):
                yield function, function
        for value, found in self.handed_over():
            if found.source is self and isinstance(found.node, FUNCTIONS):
                yield found.node, value

    def _is_keras_step(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether `fit` traces a method: not on other backends or with `run_eagerly=True`."""
        owner = self.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or not self.imports("tf"):
            return False
        eager = any(
            keyword.arg == "run_eagerly" and not is_constant(keyword.value, False)
            for keyword in self.every(ast.keyword)
        )
        by_hand = any(self._calls_by_hand(call, function.name) for call in self.every(ast.Call))
        return not eager and not by_hand and self.class_kind(owner) is Kind.MODEL

    def _calls_by_hand(self, call: ast.Call, method: str) -> bool:
        """`model.train_step(batch)` in the user's own loop, which may be eager."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != method:
            return False
        receiver = call.func.value
        if isinstance(receiver, ast.Name):
            return self.class_of_self(receiver.id, self.scope_at(receiver)) is None
        return not (isinstance(receiver, ast.Call) and self.name(receiver.func) == "super")

    def handed_over(self) -> Iterator[tuple[ast.expr, Definition[Self]]]:
        """Functions passed to something that traces them, each with its argument."""
        for call in self.every(ast.Call):
            if self._traces_arguments(call):
                for value in (*call.args, *(keyword.value for keyword in call.keywords)):
                    found = self.definition(value)
                    if found is not None:
                        yield value, found

    def _traces_arguments(self, call: ast.Call) -> bool:
        name = self.name(call.func)
        if name:
            return name == "tf.function"
        if isinstance(call.func, ast.Attribute) and call.func.attr in _DATASET_METHODS:
            return self.kind(call.func.value) is Kind.DATASET
        # `tf.function(jit_compile=True)(step)`
        return isinstance(call.func, ast.Call) and self.name(call.func.func) == "tf.function"

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
                for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                    given = self.definition(value)
                    if given is not None:
                        yield node, given

    def runs_on_replicas(self, call: ast.Call) -> bool:
        return (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "run"
            and self.kind(call.func.value) is Kind.STRATEGY
        )

    def eager_corner(self, node: ast.AST, function: ast.AST | None) -> bool:
        """Whether a place in a traced function runs eagerly: `init_scope`, or a test for it."""
        tests = inside(self.conditions(node), ast.Call)
        if any(self.name(test.func) in _EAGER_TESTS for test in tests):
            return True
        around = takewhile(lambda parent: parent is not function, self.ancestors(node))
        items = chain.from_iterable(block.items for block in of_type(around, ast.With))
        entered = of_type((item.context_expr for item in items), ast.Call)
        return any(self.name(call.func) == "tf.init_scope" for call in entered)


def label(function: ast.AST) -> str:
    return f"`{function.name}`" if isinstance(function, NAMED_FUNCTIONS) else "the lambda"
