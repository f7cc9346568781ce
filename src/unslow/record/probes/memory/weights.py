"""Sees what an optimizer updates: sizes, dtypes, gradients of a few rows, and who chose float64."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FrameType, ModuleType

from unslow.facts.memory import Floatx, Table, Weights, Wide
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.live_objects import Living
from unslow.record.engine.own_attributes import attribute
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.functions.compiled import holds_update, traces_of
from unslow.record.probes.functions.graph_precision import ops_by_precision
from unslow.record.probes.memory.table_gradients import dense_gradient, rows_in

_APPLIES = "apply", "apply_gradients"
_MOST_MADE = 50  # optimizers; where a program makes more, it will make more still
_MOST_OPS = 20_000  # of a graph: to inspect more takes too long
_MOST_GRAPHS = 8  # of functions that were traced before the recording
_EARLY = 8  # steps after which optimizers that were made before the recording are noted
_MOST_TABLES = 20
_TAPES = 4  # eager tapes that are inspected; those of compiled functions all are, once per trace
_WIDE = "float64"
_BYTES = {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "bool": 1}
_MOST_OPS_BUILDING = 40  # a gradient: their names


class WeightsProbe(Probe):
    name = "weights"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._tapes = 0
        self._patience = _TAPES  # eager gradients before the wrapper rests; doubled each time
        self._made = 0  # optimizers
        self.recorder.signals.trace_begins.subscribe(self.name, self._wake)
        # Ids of optimizers that were made, and have not updated anything yet.
        self._unused: set[int] = set()
        self._inherited: Living | None = None  # what was there before
        self._graph: Foreign = None  # that was traced before, and updates what is being noted
        self._noted: WeakTable[bool] = WeakTable()  # optimizers whose weights were written
        self._made_at: WeakTable[Stack] = WeakTable()

    def doors(self) -> Doors:
        doors: Doors = {
            "tensorflow.python.ops.resource_variable_ops": self.wrapping(
                {"ResourceVariable.__init__": self._variable}
            ),
            "tensorflow.python.eager.backprop": self.wrapping(
                {"GradientTape.gradient": self._gradient}
            ),
            "tensorflow.python.training.optimizer": self.wrapping(
                {"Optimizer.apply_gradients": self._apply_pairs}
            ),
            "keras.src.optimizers.base_optimizer": self.wrapping(
                {"BaseOptimizer.__init__": self._init, "BaseOptimizer.apply": self._apply}
            ),
            "keras.src.backend.config": self._on_config,
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.optimizers.optimizer"] = self._on_keras_2
            doors[f"{keras}.src.backend_config"] = self._on_config
        return doors

    def inherit(self, living: Living) -> None:
        """Optimizers of compiled steps are not called any more: their variables say what is
        known."""
        self._inherited = living
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def _stepped(self, lane: Lane, total: int) -> None:
        """An optimizer that is called eagerly has been noted by now, with its gradients."""
        living = self._inherited
        if total < _EARLY or living is None:
            return
        self._inherited = None
        for optimizer in living.optimizers[:_MOST_MADE]:
            variables = attribute(optimizer, "_trainable_variables") or ()
            if variables and self._noted.get(optimizer) is None:
                self._graph = _graph_of(variables, living.functions)
                self._first(optimizer, [(None, variable) for variable in variables].copy)
        if not any(self._noted.get(optimizer) for optimizer in living.optimizers):
            self._note_updates_by_hand(living.functions)
        self._graph = None

    def _note_updates_by_hand(self, functions: Sequence[Foreign]) -> None:
        """Weights of the largest compiled step that assigns them itself, without an optimizer."""
        graphs = [concrete.graph for function in functions for concrete in traces_of(function)]
        for graph in sorted(graphs, key=_ops_in, reverse=True)[:_MOST_GRAPHS]:
            if _ops_in(graph) <= _MOST_OPS and holds_update(graph):
                self._graph = graph
                weights = [(None, variable) for variable in graph.trainable_variables]
                self._first(None, weights.copy)
                return

    def _on_keras_2(self, module: ModuleType) -> None:
        if hasattr(module, "_BaseOptimizer"):  # Keras 3 has a module of this name too, without it
            self.replace(module._BaseOptimizer, "__init__", self._init)
            self.replace(module.Optimizer, "apply_gradients", self._apply_pairs)

    def _on_config(self, module: ModuleType) -> None:
        if hasattr(module, "set_floatx"):
            self.replace(module, "set_floatx", self._floatx)

    def _gradient(self, original: Function) -> Function:
        probe, local = self, self.recorder.local

        def gradient(
            self: object, target: object, sources: object, *args: object, **kwargs: object
        ) -> object:
            result = original(self, target, sources, *args, **kwargs)
            lane = local.lane
            probe._tapes += 1
            if (lane.tracing or probe._tapes <= _TAPES) and not lane.busy:
                probe._first(None, lambda: [(None, found) for found in _flat(sources)])
            elif probe._tapes >= probe._patience:
                probe._tapes_seen()
            return result

        return gradient

    def _tapes_seen(self) -> None:
        """Until the next trace."""
        self._patience = 2 * self._tapes
        self.rest("gradient")

    def _wake(self) -> None:
        self.resume("gradient")

    def _init(self, original: Function) -> Function:
        stack, resume, unused = self.recorder.stack, self.resume, self._unused
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            probe._made_at.put(self, stack(sys._getframe().f_back, 3))
            unused.add(id(self))
            probe._made += 1
            resume(*_APPLIES)

        return __init__

    def _all_noted(self) -> bool:
        """Whether every optimizer was noted; one made before the recording is not known."""
        return not self._unused and 0 < self._made < _MOST_MADE

    def _apply(self, original: Function) -> Function:
        probe, noted = self, self._noted.by_id

        def apply(self: object, grads: object, trainable_variables: object = None) -> object:
            if id(self) not in noted:
                probe._first(self, lambda: _pairs(self, grads, trainable_variables))
            elif probe._all_noted():
                probe.rest(*_APPLIES)
            return original(self, grads, trainable_variables)

        return apply

    def _apply_pairs(self, original: Function) -> Function:
        probe, noted = self, self._noted.by_id

        def apply_gradients(
            self: object, grads_and_vars: Foreign, *args: object, **kwargs: object
        ) -> object:
            if id(self) not in noted:
                grads_and_vars = list(grads_and_vars)
                probe._first(self, lambda: grads_and_vars)
            elif probe._all_noted():
                probe.rest(*_APPLIES)
            return original(self, grads_and_vars, *args, **kwargs)

        return apply_gradients

    def _first(self, optimizer: object, pairs: Callable[[], Iterable[Foreign]]) -> None:
        with self.inspection(self.recorder.local.lane):
            if optimizer is not None:
                self._noted.put(optimizer, True)
                self._unused.discard(id(optimizer))
            self._note(optimizer, pairs())

    def _note(self, optimizer: object, pairs: Iterable[Foreign]) -> None:
        sizes, wide, tables = [], 0.0, []
        for grad, variable in pairs:
            if not _is_known(variable):
                continue
            shape = [int(side) for side in variable.shape]
            kind = getattr(variable.dtype, "name", str(variable.dtype))
            size = _size(shape, kind)
            sizes.append(size)
            wide += size if kind == _WIDE else 0.0
            table = _table(grad, variable, shape, size)
            if table is not None:
                tables.append(table)
        name = type(optimizer).__name__ if optimizer is not None else ""
        fact = Weights(
            key=name,
            optimizer=name,
            scope=str(getattr(optimizer, "name", "") or getattr(optimizer, "_name", "")),
            variables=len(sizes),
            bytes=sum(sizes),
            wide_bytes=wide,
            tables=tuple(tables[:_MOST_TABLES]),
            momentum=bool(getattr(optimizer, "momentum", 0)),
            made=self._made_at.get(optimizer) or (),
            stack=self.recorder.stack(sys._getframe(2).f_back),
            **self._ops(),
        )
        self.recorder.emit(fact)

    def _ops(self) -> dict[str, int]:
        """How many ops of the graph under construction work in which precision."""
        ops: Foreign = sys.modules.get("tensorflow.python.framework.ops")
        tracing = self.recorder.local.lane.tracing
        graph = ops.get_default_graph() if tracing else self._graph
        counts = ops_by_precision(graph)
        return {f"ops_{name}": number for name, number in counts.items()}

    def _floatx(self, original: Function) -> Function:
        recorder = self.recorder

        def set_floatx(value: object, *args: object, **kwargs: object) -> object:
            stack = recorder.stack(sys._getframe().f_back)
            recorder.emit(Floatx(key=str(value), value=str(value), stack=stack))
            return original(value, *args, **kwargs)

        return set_floatx

    def _variable(self, original: Function) -> Function:
        recorder, made = self.recorder, self._variable_made

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            if not recorder.local.lane.busy:
                made(self, sys._getframe().f_back)

        return __init__

    def _variable_made(self, variable: Foreign, frame: FrameType | None) -> None:
        try:
            if variable.dtype.name == _WIDE:
                shape = [int(side or 0) for side in variable.shape]
                stack = self.recorder.stack(frame)
                size = _size(shape, _WIDE)
                name = str(variable.name)
                self.recorder.emit(Wide(key=str(stack[:1]), stack=stack, name=name, bytes=size))
        except Exception:  # noqa: BLE001 - the fence of a probe: a variable still being made
            return


def _graph_of(variables: Sequence[Foreign], functions: Sequence[Foreign]) -> Foreign:
    """The largest of the graphs that use these weights; None where there is none."""
    weights = {id(attribute(variable, "_value", variable)) for variable in variables}
    using = [
        concrete.graph
        for function in functions
        for concrete in traces_of(function)
        if any(id(variable) in weights for variable in concrete.graph.trainable_variables)
    ]
    return max(using, key=_ops_in, default=None)


def _ops_in(graph: Foreign) -> int:
    return len(graph.get_operations())


def _is_known(variable: Foreign) -> bool:
    """Whether all sides are known: a gradient penalty asks for the gradient of a batch."""
    shape = getattr(variable, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return False
    return all(side is not None for side in shape) and hasattr(variable, "dtype")


def _table(grad: object, variable: object, shape: list[int], size: float) -> Table | None:
    """A variable of which the batch uses a few rows; None where it uses all of it."""
    if not shape:
        return None
    name = str(getattr(variable, "path", None) or getattr(variable, "name", ""))
    indices = getattr(grad, "indices", None)
    if indices is not None:
        return Table(name=name, rows=shape[0], bytes=size, touched=rows_in(indices))
    found = dense_gradient(grad, shape) if len(shape) > 1 else None
    if found is None:
        return None
    return Table(
        name=name,
        rows=shape[0],
        bytes=size,
        touched=found.touched,
        dense=True,
        penalized=found.penalized,
        built_by=tuple(found.ops[:_MOST_OPS_BUILDING]),
    )


def _pairs(optimizer: object, grads: object, variables: object) -> list[Foreign]:
    """Gradients beside their variables, where both may be read twice."""
    chosen = getattr(optimizer, "_trainable_variables", ()) if variables is None else variables
    if not isinstance(grads, list | tuple) or not isinstance(chosen, list | tuple):
        return []
    return list(zip(grads, chosen, strict=False))


def _flat(sources: Foreign) -> list[Foreign]:
    if isinstance(sources, dict):
        sources = list(sources.values())
    if isinstance(sources, list | tuple):
        return [leaf for source in sources for leaf in _flat(source)]
    return [sources]


def _size(shape: list[int], kind: str) -> float:
    return float(math.prod(shape) * _BYTES.get(kind, 4))
