"""Sees tf.data pipelines: the line that made each stage, iterators being made, and what their own models say."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.facts.phase import Phase
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.data.python_batches import FETCHED
from unslow.record.probes.data.stages import PLACE, describe

_EVAL, _INPUT = int(Phase.EVAL), int(Phase.INPUT)
_NUMBER = "_unslow_number"  # an attribute of a dataset that was described before
_NUMBERED = "_unslow_numbered"  # an attribute of a source that was counted before
_MOST_WATCHED = 16  # iterators that are asked on a tick, the newest first
_ALL_ITERATORS = (
    64  # so many are watched whatever their number, then those whose number has grown by a tenth
)
_DESCRIBED = 8
_MOST_DATASETS = 300
_READINGS_IN_FULL = 40
_READINGS_EARLY = 8


class _Watched:
    """One iterator: what its model said when it was last asked."""

    def __init__(self, number: int, dataset: int, iterator: Any, evaluates: bool) -> None:
        self.number = number
        self.dataset = dataset
        self.iterator = weakref.ref(iterator)
        self.evaluates = evaluates
        self.fetched = iterator.__dict__[FETCHED] = [0, 0]
        self.at = 0  # when it was asked
        self.elements = 0
        self.wait = 0  # nanoseconds that GetNext took, over `over` elements
        self.over = 0
        self.open: tuple[int, int] = (
            0,
            0,
        )  # the same since the last reading: counted once more elements came
        self.readings = 0
        self.written = 0


class Pipeline(Probe):
    name = "pipeline"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._ask: Callable[[Any], Any] | None = None
        self._eager: Callable[[], bool] = lambda: True
        self._watched: list[_Watched] = []
        self._datasets: dict[Any, int] = {}
        self._sources: dict[int, int] = {}  # dataset number → how many sources of it were made
        self._made = 0
        self._due = 2  # the step after which the iterators are asked next
        self._next = 0  # the number of the next iterator that is watched, once there are many
        self._at: dict[
            str, tuple[int, int]
        ] = {}  # by the line that iterates: how often, and over which pipeline
        self.recorder.signals.tick.subscribe(self.name, self._look)
        self.recorder.signals.step.subscribe(self.name, self._step)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {
            "tensorflow.python.data.ops.iterator_ops": self._on_iterators,
            "tensorflow.python.data.ops.dataset_ops": self._on_datasets,
            # From TensorFlow 2.17 on: without it waits inside of compiled steps are not seen.
            "tensorflow.python.data.experimental.ops.iterator_model_ops": self._on_models,
        }

    def _on_models(self, module: ModuleType) -> None:
        self._ask = module.get_model_proto

    def _on_datasets(self, module: ModuleType) -> None:
        self._eager = module.context.executing_eagerly
        self.replace(module.DatasetV2, "__init__", self._dataset)
        # The ways of TensorFlow 1, private ones seen on 2.21: where one is missing, its iterators are not seen.
        for door in ("_make_one_shot_iterator", "_make_initializable_iterator"):
            if hasattr(getattr(module, "DatasetV1", None), door):
                self.replace(module.DatasetV1, door, self._make_in_graph)

    def _on_iterators(self, module: ModuleType) -> None:
        self.replace(module.OwnedIterator, "_create_iterator", self._create)
        if hasattr(getattr(module, "Iterator", None), "make_initializer"):
            self.replace(module.Iterator, "make_initializer", self._initialize_in_graph)

    def _dataset(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self.recorder

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            try:
                self.__dict__[PLACE] = recorder.stack(sys._getframe().f_back)
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                recorder.lost("pipeline", f"{type(problem).__name__}: {problem}")

        return __init__

    def _create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        made = self._iterator_made

        def _create_iterator(self: Any, dataset: Any) -> Any:
            lane = local.lane
            if lane.busy or lane.tracing:
                return original(self, dataset)
            entry = open_span(lane, _INPUT)
            try:
                return original(self, dataset)
            finally:
                made(lane, self, dataset, close(lane, entry), sys._getframe().f_back)

        return _create_iterator

    def _make_in_graph(self, original: Callable[..., Any]) -> Callable[..., Any]:
        made = self._made_in_graph

        def make_iterator(self: Any, *args: Any, **kwargs: Any) -> Any:
            began = clock()
            iterator = original(self, *args, **kwargs)
            made(self, clock() - began, sys._getframe().f_back)
            return iterator

        return make_iterator

    def _initialize_in_graph(self, original: Callable[..., Any]) -> Callable[..., Any]:
        made = self._made_in_graph

        def make_initializer(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
            began = clock()
            operation = original(self, dataset, *args, **kwargs)
            made(dataset, clock() - began, sys._getframe().f_back)
            return operation

        return make_initializer

    def _made_in_graph(self, dataset: Any, took: int, frame: Any) -> None:
        lane = self.recorder.local.lane
        if not (lane.busy or lane.tracing or self._eager()):
            self._iterator_made(lane, None, dataset, took, frame)

    def _iterator_made(
        self, lane: Lane, iterator: Any, dataset: Any, took: int, frame: Any
    ) -> None:
        began = clock()
        lane.busy = True
        try:
            self._note(lane, iterator, dataset, took, frame)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        finally:
            lane.busy = False
        self._spent(lane, began)

    def _note(self, lane: Lane, iterator: Any | None, dataset: Any, took: int, frame: Any) -> None:
        """An iterator was made; one that a graph holds is None, since there is nothing to ask without an op of ours."""
        graph = iterator is None
        self._made += 1
        watched = self._made <= _ALL_ITERATORS or self._made >= self._next
        stack = self.recorder.stack(frame)
        key = str(stack[:2])
        count, number = self._at.get(key, (0, 0))
        # Telling pipelines apart takes a millisecond: one line builds the same one again and again.
        if count < _DESCRIBED or count & (count - 1) == 0:
            number = self._dataset_number(dataset, graph)
        if key in self._at or len(self._at) < _MOST_DATASETS:
            self._at[key] = (count + 1, number)
        evaluates = lane.within == _EVAL
        self.recorder.fact(
            "iterator",
            key,
            took,
            iterator=self._made,
            dataset=number,
            stack=stack,
            step=self.steps.total,
            evaluates=evaluates,
            in_fit=lane.fit is not None or self._by_keras(frame),
            graph=graph,
            sources=self._sources_of(dataset, number),
        )
        if watched and not graph:
            self._next = self._made + self._made // 10
            self._watched = [known for known in self._watched if known.iterator() is not None][
                -_MOST_WATCHED + 1 :
            ]
            self._watched.append(_Watched(self._made, number, iterator, evaluates))

    def _by_keras(self, frame: Any) -> bool:
        """Whether Keras made an iterator for one batch that it was handed, as `train_on_batch` of Keras 2 does."""
        while frame is not None and not self.recorder.user.owns(frame.f_code):
            if str(frame.f_globals.get("__name__")).startswith(("keras.", "tf_keras.")):
                return True
            frame = frame.f_back
        return False

    def _dataset_number(self, dataset: Any, graph: bool) -> int:
        """A number per pipeline: the same for pipelines that the same lines built in the same way."""
        number = dataset.__dict__.get(_NUMBER)
        if number is not None:
            return int(number)
        stages = describe(dataset, self.recorder.keep_source, graph)
        key = repr([{name: one[name] for name in one if name != "tokens"} for one in stages])
        number = self._datasets.get(key)
        if number is None:
            if len(self._datasets) >= _MOST_DATASETS:
                return 0
            number = self._datasets[key] = len(self._datasets) + 1
            self.recorder.line("dataset", clock(), dataset=number, stages=stages)
        dataset.__dict__[_NUMBER] = number
        return number

    def _sources_of(self, dataset: Any, number: int) -> int:
        """How often the pipeline itself was built: its innermost dataset, whatever is put around it since."""
        for _ in range(100):
            inputs = dataset._inputs() if hasattr(dataset, "_inputs") else ()
            if not inputs:
                break
            dataset = inputs[0]
        if _NUMBERED not in dataset.__dict__:
            dataset.__dict__[_NUMBERED] = True
            self._sources[number] = self._sources.get(number, 0) + 1
        return self._sources.get(number, 0)

    def _spent(self, lane: Lane, began: int) -> None:
        self.recorder.keep_out(lane, clock() - began, self.name)

    # Asking the iterators

    def _step(self, lane: Lane, total: int) -> None:
        """A reading between two steps, at steps that grow further apart: short runs have few ticks."""
        if total >= self._due and self._watched:
            self._due = total + max(2, total // 4)
            began = clock()
            self._look()
            self._spent(lane, began)

    def _look(self) -> None:
        if self._ask is None or not self._watched:
            return
        lane = self.recorder.local.lane
        if lane.busy or lane.tracing or not self._eager():
            return
        lane.busy = True
        try:
            for known in list(self._watched):
                iterator = known.iterator()
                if iterator is not None:
                    self._read(known, iterator)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        finally:
            lane.busy = False

    def _read(self, known: _Watched, iterator: Any) -> None:
        assert self._ask is not None
        try:
            model = self._ask(iterator)
        except Exception as problem:  # noqa: BLE001 - autotuning is off, or the iterator was never used: no model
            self._watched.remove(known)
            reason = f"{type(problem).__name__}: {problem}"[:200]
            self.recorder.line(
                "no_pipeline", clock(), iterator=known.number, dataset=known.dataset, why=reason
            )
            return
        now = clock()
        root = model.nodes[model.output]
        _count_wait(known, now, int(root.num_elements), model.gap_times)
        grown = known.elements - known.written
        # Before the first element, buffers fill: sources that are used up by then are not seen later.
        filling = not known.elements and known.readings < _READINGS_EARLY and len(model.nodes) > 1
        if filling or (
            grown and (known.readings < _READINGS_IN_FULL or grown * 10 > known.elements)
        ):
            known.readings += 1
            known.written = known.elements
            self._write(known, now, model)

    def _write(self, known: _Watched, now: int, model: Any) -> None:
        self.recorder.line(
            "pipeline",
            now,
            iterator=known.number,
            dataset=known.dataset,
            evaluates=known.evaluates,
            step=self.steps.total,
            elements=known.elements,
            wait_ns=known.wait,
            over=known.over,
            fetches=known.fetched[0],
            fetch_ns=known.fetched[1],
            nodes=_nodes(model),
            cpu_budget=int(model.optimization_params.cpu_budget),
            ram_budget=int(model.optimization_params.ram_budget),
        )


def _count_wait(known: _Watched, now: int, elements: int, gaps: Any) -> None:
    """The time since the last reading, less the gaps between calls of GetNext, was spent in GetNext.

    What came since the last reading counts only once more elements came: an iterator that nobody asks any
    more does not wait.
    """
    new = elements - known.elements
    if new <= 0:
        return
    known.wait += known.open[0]
    known.over += known.open[1]
    known.open = (0, 0)
    if known.at and gaps:
        recent = gaps[-min(new, len(gaps)) :]
        between = sum(recent) * 1000 * new // len(recent)
        known.open = (max(0, now - known.at - between), new)
    known.at = now
    known.elements = elements


def _nodes(model: Any) -> list[dict[str, Any]]:
    """The stages as they run, from the one that hands out batches to the sources."""
    found = []
    for number, node in sorted(model.nodes.items()):
        entry = {
            "id": number,
            "name": node.name,
            "inputs": list(node.inputs),
            "elements": node.num_elements,
            "busy": node.processing_time,
            "buffered": node.buffered_elements,
            "buffered_bytes": node.buffered_bytes,
            "produced": node.bytes_produced,
            "asynchronous": node.node_class in (2, 4),
            "ratio": node.ratio,
        }
        for parameter in node.parameters:
            if parameter.name in ("parallelism", "buffer_size", "cycle_length"):
                entry[parameter.name] = min(parameter.state_value or parameter.value, 1e9)
                entry[f"{parameter.name}_tuned"] = parameter.tunable
        found.append(entry)
    return found
