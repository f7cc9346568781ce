"""Sees every call and every trace of a `tf.function`, and which of them update weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.probe import Probe
from unslow.record.recorder import Lane, clock
from unslow.record.steps import UPDATES

_RUN, _TRACE = int(Phase.RUN), int(Phase.TRACE)
_NUMBER = "_unslow_number"
_MOST_LEAVES = 60


class Functions(Probe):
    name = "functions"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._count = 0
        self._context: Any = None

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        place = "tensorflow.python.eager.polymorphic_function"
        return {
            # Seen on 2.15 to 2.21. Without it retraces go unseen, and the probe is reported as lost.
            f"{place}.tracing_compilation": self._on_tracing,
            f"{place}.polymorphic_function": self._on_function,
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_context(self, module: ModuleType) -> None:
        self._context = module

    def _on_function(self, module: ModuleType) -> None:
        self.replace(module.Function, "__call__", self._call)

    def _on_tracing(self, module: ModuleType) -> None:
        self.replace(module, "_create_concrete_function", self._create)

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        close = self.recorder.close_span
        updated, mark_updating = self._updated, self.steps.mark_updating

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy:
                result = original(self, *args, **kwargs)
                if UPDATES in self.__dict__:
                    mark_updating()
                return result
            functions = lane.functions
            functions.append(self)
            entry = [_RUN, clock(), 0]
            lane.stack.append(entry)
            try:
                return original(self, *args, **kwargs)
            finally:
                close(lane, entry)
                functions.pop()
                if UPDATES in self.__dict__ and not functions and not lane.updating:
                    updated(lane, self, args)

        return __call__

    def _updated(self, lane: Lane, function: Any, args: tuple[Any, ...]) -> None:
        if self._context is None or not self._context.executing_eagerly():
            return
        try:
            self._measure(lane, function, args)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        self.steps.ended(lane, "function", function, str(getattr(function, "_name", "")), sys._getframe(2))

    def _measure(self, lane: Lane, function: Any, args: tuple[Any, ...]) -> None:
        """The size of the batch, and whether these shapes are new to the function."""
        shapes = []
        for value in args:
            shape_of = getattr(value, "_shape_tuple", None)
            if shape_of is not None:
                shapes.append(shape_of())
        if not shapes:
            return
        size = 1.0
        for dimension in shapes[0] or ():
            size *= dimension or 1
        lane.elements = size
        seen = function.__dict__.setdefault("_unslow_shapes", set())
        key = tuple(shapes)
        if key not in seen and len(seen) < 10_000:
            seen.add(key)
            self.recorder.fact(
                "shapes", str(function.__dict__.get(_NUMBER, 0)), name=str(function._name),
                shapes=[list(shape or ()) for shape in shapes[:8]], distinct=len(seen),
                jit=bool(getattr(function, "_jit_compile", False)),
            )  # fmt: skip

    def _create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        close = self.recorder.close_span
        traced = self._traced

        def _create_concrete_function(
            function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any
        ) -> Any:
            lane = local.lane
            if lane.busy:
                return original(function_type, type_context, func_graph, tracing_options)
            lane.tracing += 1
            entry = [_TRACE, clock(), 0]
            lane.stack.append(entry)
            concrete = None
            try:
                concrete = original(function_type, type_context, func_graph, tracing_options)
                return concrete
            finally:
                lane.tracing -= 1
                own = entry[2]
                took = close(lane, entry)
                traced(lane, took, own, concrete, function_type, tracing_options)

        return _create_concrete_function

    def _traced(self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any) -> None:
        try:
            self._note_trace(lane, took, inner, concrete, function_type, options)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _note_trace(self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any) -> None:
        graph = getattr(concrete, "graph", None)
        owner = lane.functions[-1] if lane.functions else None
        place = code_place(options.python_function)
        if owner is not None and code_place(getattr(owner, "_python_function", None)) != place:
            owner = None  # a function traced inside another: a map of tf.data, a loop's body
        number = 0
        if owner is not None:
            number = owner.__dict__.get(_NUMBER, 0)
            if not number:
                self._count += 1
                number = owner.__dict__[_NUMBER] = self._count
            if graph is not None and getattr(graph, UPDATES, False):
                owner.__dict__[UPDATES] = True
        name = str(options.name)
        began = clock()
        if not self.recorder.wants("trace", f"{name}@{place}"):
            self.recorder.fact("trace", f"{name}@{place}", took)
            return
        self.recorder.fact(
            "trace", f"{name}@{place}", took, name=name, place=place, function=number, depth=lane.tracing,
            inner_ns=inner, failed=concrete is None, args=describe(function_type),
            nodes=len(graph.get_operations()) if graph is not None else 0,
            updates=graph is not None and getattr(graph, UPDATES, False),
            jit=bool(getattr(owner, "_jit_compile", False)), step=self.steps.total,
            stack=self.recorder.stack(sys._getframe(3)),
        )  # fmt: skip
        spent = clock() - began
        lane.own += spent
        self.recorder.looks += spent


def code_place(function: Any) -> list[Any]:
    """File, line and name of the code behind decorators, partials and bound methods."""
    for _ in range(20):
        inner = (
            getattr(function, "__wrapped__", None)
            or getattr(function, "__func__", None)
            or getattr(function, "func", None)
            or getattr(function, "_decorated_target", None)
        )
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return [code.co_filename, code.co_firstlineno, code.co_name] if code is not None else ["", 0, ""]


def describe(function_type: Any) -> dict[str, str]:
    """Each leaf of the arguments as a short text: its dtype and shape, or its Python value."""
    leaves: dict[str, str] = {}
    for name, parameter in function_type.parameters.items():
        _leaf(leaves, str(name), getattr(parameter, "type_constraint", None))
    return leaves


def _leaf(leaves: dict[str, str], path: str, kind: Any) -> None:
    if len(leaves) >= _MOST_LEAVES:
        return
    name = type(kind).__name__
    if name in ("Tuple", "List"):
        for index, component in enumerate(kind.components):
            _leaf(leaves, f"{path}[{index}]", component)
        leaves[path] = f"{name.lower()} of {len(kind.components)}"
    elif name in ("Dict", "Attrs"):
        for key, component in getattr(kind, "mapping", {}).items():
            _leaf(leaves, f"{path}[{key!r}]", component)
        leaves[path] = f"dict of {len(getattr(kind, 'mapping', {}))}"
    elif name == "Literal":
        value = kind.value
        leaves[path] = f"{type(value).__name__} {value!r}"[:120]
    elif name in ("TensorSpec", "TensorType"):
        shape = "?" if kind.shape.rank is None else ",".join("?" if d is None else str(d) for d in kind.shape.as_list())
        leaves[path] = f"{kind.dtype.name}[{shape}]"
    elif name == "Weakref":
        leaves[path] = f"object {type(kind._ref()).__name__} #{id(kind._ref())}"[:120]
    elif name == "VariableSpec":
        leaves[path] = f"variable {kind.dtype.name}{list(kind.shape or ())} #{getattr(kind, 'alias_id', '')}"
    else:
        leaves[path] = f"{name} {kind}"[:120]
