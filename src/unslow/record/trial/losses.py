"""The losses of a trial, taken from where the training has them.

A loss is the target of a gradient for variables, a number that a tf.function that updates weights
returns, the state of a Keras metric, or a number that a session fetches. Tensors are kept and
fetched when the trial ends: nothing waits for them, and no graph gets another op.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType

from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.weak_table import WeakTable

LOSS, METRIC, OUTPUT, FETCH = "loss", "metric", "output", "fetch"

_MOST_KEPT = 20_000  # values of one series: a bound, which no trial has reached
_MOST_ELEMENTS = 1024  # of a loss that is a vector: one number per example
_MOST_METRICS = 8  # that are read after each step
_MOST_IN_STEP = 8  # values of one name in one step that are told apart
_DEEPEST = 3  # levels of dicts, lists and tuples that are searched for numbers

_Series = list[tuple[str, str | None]]  # the name of each and its place among the outputs, if any


@dataclass
class _Metric:
    """What a metric held after each step: the tensors of its total and its count; 0 when reset."""

    name: str
    readings: list[tuple[int, Foreign, Foreign]] = field(default_factory=list)


class Losses(Probe):
    """Wraps innermost: other probes look at the frames around what they wrap."""

    name = "losses"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._executing: Callable[[], bool] = lambda: False
        self._targets: WeakTable[list[str]] = WeakTable()  # of gradients, by their graph
        self._series: WeakTable[_Series] = WeakTable()  # by their graph
        self._alive: WeakTable[_Metric] = WeakTable()
        self._metrics: list[_Metric] = []
        self._of_row: list[tuple[str, Foreign]] = []
        self._in_step: dict[str, int] = {}
        self._step = 0
        self._values: dict[str, list[Foreign]] = {}

    def doors(self) -> Doors:
        # All seen on 2.15 to 2.21, Keras 2 and 3. Without one of them its losses are not seen.
        reduction = self.wrapping(
            {"Reduce.update_state": self._update_state, "Metric.reset_state": self._reset_state}
        )
        return {
            "tensorflow.python.eager.context": self._on_context,
            "tensorflow.python.eager.backprop": self.wrapping(
                {"GradientTape.gradient": self._gradient}
            ),
            "tensorflow.python.eager.polymorphic_function.concrete_function": self.wrapping(
                {"ConcreteFunction._call_flat": self._call_flat}
            ),
            "tensorflow.python.client.session": self.wrapping({"BaseSession.run": self._run}),
            "keras.src.metrics.reduction_metrics": self.wrapping(
                {"Mean.update_state": self._update_state, "Mean.reset_state": self._reset_state}
            ),
            "keras.src.metrics.base_metric": reduction,
            "tf_keras.src.metrics.base_metric": reduction,
        }

    def _on_context(self, module: ModuleType) -> None:
        self._executing = module.executing_eagerly

    # What the training computes

    def _gradient(self, original: Function) -> Function:
        local, met = self.recorder.local, self._fenced(self._met_target)

        def gradient(
            self: object, target: object, sources: object, *args: object, **kwargs: object
        ) -> object:
            if not local.lane.busy:
                met(target, sources)
            return original(self, target, sources, *args, **kwargs)

        return gradient

    def _met_target(self, target: object, sources: object) -> None:
        if not any(hasattr(source, "assign") for _, source in _leaves(sources)):
            return  # a gradient for inputs or activations
        for _, leaf in _leaves(target):
            if not _is_float(leaf):
                continue
            if hasattr(leaf, "_numpy"):  # its value is known: an eager tensor
                self._of_row.append((LOSS, leaf if _is_small(leaf) else None))
            else:
                known = self._targets.get(leaf.graph)
                if known is None:
                    self._targets.put(leaf.graph, known := [])
                known.append(leaf.name)

    def _call_flat(self, original: Function) -> Function:
        local, keep = self.recorder.local, self._fenced(self._keep_outputs)

        def _call_flat(self: object, *args: object, **kwargs: object) -> object:
            result = original(self, *args, **kwargs)
            lane = local.lane
            if not lane.tracing and not lane.busy:
                keep(self, result)
            return result

        return _call_flat

    def _keep_outputs(self, function: Foreign, result: object) -> None:
        graph = function.graph
        if not self.steps.is_updating(graph):
            return
        series = self._series.get(graph)
        if series is None:
            self._series.put(graph, series := self._series_of(function))
        if series:
            returned: dict[str | None, Foreign] = dict(_leaves(result))
            self._of_row += [(name, returned.get(path)) for name, path in series]

    def _series_of(self, function: Foreign) -> _Series:
        """The series of a graph: its losses in order, returned or not, and other numbers."""
        targets = self._targets.get(function.graph) or []
        losses: dict[str, str | None] = dict.fromkeys(targets)
        others = []
        for path, leaf in _leaves(function.structured_outputs):
            if not _is_float(leaf):
                continue
            made = _before_identity(leaf)
            if made.name in losses and _is_small(leaf):
                losses[made.name] = path
            elif _elements(leaf) == 1:
                others.append((f"{OUTPUT} {path}", path))
        return [*((LOSS, path) for path in losses.values()), *others]

    def _run(self, original: Function) -> Function:
        local, keep = self.recorder.local, self._fenced(self._keep_fetches)

        def run(self: object, fetches: object, *args: object, **kwargs: object) -> object:
            result = original(self, fetches, *args, **kwargs)
            if not local.lane.busy:
                keep(fetches, result)
            return result

        return run

    def _keep_fetches(self, fetches: object, result: object) -> None:
        """By the name of the tensor and by its place: either may be the same after a change."""
        named = dict(_leaves(fetches))
        for path, value in _leaves(result):
            if getattr(value, "ndim", 1) == 0 and _is_float(value):
                name = getattr(named.get(path), "name", "")
                self._of_row += [(f"{FETCH} {name}", value), (f"{FETCH} at {path}", value)]

    def _update_state(self, original: Function) -> Function:
        met = self._fenced(self._met_metric)

        def update_state(self: object, *args: object, **kwargs: object) -> object:
            met(self)
            return original(self, *args, **kwargs)

        return update_state

    def _met_metric(self, metric: Foreign) -> None:
        is_mean = hasattr(metric, "total") and hasattr(metric, "count")
        if is_mean and id(metric) not in self._alive.by_id:
            # Keras numbers the metrics of a name.
            found = _Metric(re.sub(r"_\d+$", "", str(metric.name)))
            self._metrics.append(found)
            self._alive.put(metric, found)

    def _reset_state(self, original: Function) -> Function:
        known_of = self._alive.by_id.get

        def reset_state(self: object, *args: object, **kwargs: object) -> object:
            known = known_of(id(self))
            if known is not None:
                known.readings.append((0, 0.0, 0.0))
            return original(self, *args, **kwargs)

        return reset_state

    # Steps

    def row_ended(self) -> None:
        """An update was counted: what was seen since the last one belongs to its step."""
        is_new = self.steps.led != self._step
        if is_new:
            self._step = self.steps.led
            self._in_step.clear()
        for name, value in self._of_row:
            place = self._in_step.get(name, 0)
            self._in_step[name] = place + 1
            kept = self._values.setdefault(_numbered(name, place), [])
            if value is not None and len(kept) < _MOST_KEPT:
                kept.append(value)
        self._of_row.clear()
        if is_new and self._executing():
            self._fenced(self._read_metrics)()

    def _read_metrics(self) -> None:
        for metric in self._alive.owners()[:_MOST_METRICS]:
            readings = self._alive.by_id[id(metric)].readings
            if len(readings) < _MOST_KEPT:
                total, count = (
                    _variable(held).read_value() for held in (metric.total, metric.count)
                )
                readings.append((self._step, total, count))

    def write(self, folder: str) -> None:
        """Fetch all that was kept. On a thread whose lane is busy."""
        self._fenced(self._write)(folder)

    def _write(self, folder: str) -> None:
        numpy: Foreign = sys.modules["numpy"]
        series = {
            name: [float(numpy.mean(numpy.asarray(value))) for value in values]
            for name, values in self._values.items()
        }
        series.update(self._metric_values())
        with open(os.path.join(folder, "losses.json"), "w", encoding="utf-8") as file:
            json.dump({name: values for name, values in series.items() if values}, file)

    def _metric_values(self) -> dict[str, list[float]]:
        """What each step added to a metric; several metrics of a name are told apart in a step."""
        told = [
            (step, metric.name, value)
            for metric in self._metrics
            for step, value in _added(metric.readings)
        ]
        found: dict[str, list[float]] = {}
        places: dict[tuple[int, str], int] = {}
        for step, name, value in sorted(told, key=lambda entry: entry[0]):
            place = places.get((step, name), 0)
            places[step, name] = place + 1
            found.setdefault(_numbered(f"{METRIC} {name}", place), []).append(value)
        return found

    def _fenced(self, work: Function) -> Function:
        """Losses that cannot be seen are lost; the training goes on."""

        def fenced(*args: object) -> None:
            with self.fence:
                work(*args)

        return fenced


def _numbered(name: str, place: int) -> str:
    """The n-th value of a name in a step has a series of its own: a GAN has several losses."""
    return f"{name}#{min(place, _MOST_IN_STEP - 1)}"


def _leaves(value: Foreign, path: str = "", depth: int = 0) -> Iterator[tuple[str, Foreign]]:
    """What dicts, lists and tuples hold, with the way to it."""
    inner: list[tuple[object, Foreign]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list | tuple):
        inner = list(enumerate(value))
    elif value is not None:
        yield path, value
    if depth < _DEEPEST:
        for key, held in inner:
            yield from _leaves(held, f"{path}.{key}" if path else str(key), depth + 1)


def _is_float(leaf: Foreign) -> bool:
    kind = str(getattr(leaf, "dtype", ""))
    return "float" in kind and hasattr(leaf, "shape")


def _elements(leaf: Foreign) -> int:
    """Numbers in a tensor; 0 where its shape is not known."""
    count = leaf.shape.num_elements()
    return int(count) if count is not None else 0


def _is_small(leaf: Foreign) -> bool:
    return leaf.shape.rank is not None and _elements(leaf) <= _MOST_ELEMENTS


def _before_identity(tensor: Foreign) -> Foreign:
    """A tf.function returns an identity of what its body returned."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _variable(held: Foreign) -> Foreign:
    """A Keras 3 variable holds TensorFlow's own."""
    return vars(held).get("_value", held)


def _added(readings: list[tuple[int, Foreign, Foreign]]) -> Iterator[tuple[int, float]]:
    """The mean of what came in between two readings."""
    total = count = 0.0
    for step, held, number in readings:
        now, seen = float(held), float(number)
        if seen > count:
            yield step, (now - total) / (seen - count)
        total, count = now, seen
