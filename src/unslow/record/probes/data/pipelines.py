"""Records tf.data pipelines: the line of each stage, iterators, and what their models report."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import NamedTuple

from unslow.facts.data import Dataset, IteratorMade, ModelNode, NoPipeline, PipelineReading
from unslow.facts.phase import Phase
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.live_objects import Living
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.safe_inspection import attributes
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.data.python_batches import FETCHED
from unslow.record.probes.data.stages import Sources, describe

_EVAL, _INPUT = int(Phase.EVAL), int(Phase.INPUT)
_MOST_WATCHED = 16  # iterators whose models are read, the newest first
_ALL_WATCHED = 64  # the first iterators are all watched; after them one in ten
_ALL_DESCRIBED = 8  # iterators of a line whose pipelines are compared; then 16, 32, 64, …
_MOST_DATASETS = 300
_ALL_READINGS = 40  # of an iterator; after them only those with a tenth more elements
_READINGS_WHILE_FILLING = 8
_MOST_DEPTH = 100
_ASYNCHRONOUS = (2, 4)  # NodeClass of tf.data's model.proto: asynchronous ones (2.17 to 2.21)
_UNLIMITED = 1e9  # AUTOTUNE's parallelism before it was tuned is infinite
_KERAS = ("keras.", "tf_keras.")


class _Watched:
    """An iterator and what its model said when it was last read; times in nanoseconds."""

    def __init__(self, made: IteratorMade, iterator: object) -> None:
        self.made = made
        self.iterator = weakref.ref(iterator)
        self.fetched = [0, 0]
        FETCHED.put(iterator, self.fetched)
        self.read_at = 0
        self.elements = 0
        self.wait = 0  # in GetNext, over `over` elements
        self.over = 0
        self.open_wait = 0  # the same since the last reading: counted once more elements came
        self.open_over = 0
        self.readings = 0
        self.written = 0  # elements at the last reading that was written


class _Site(NamedTuple):
    """A line that makes iterators: how often it did, and over which pipeline."""

    made: int
    dataset: int


class Pipeline(Probe):
    name = "pipeline"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._model_of: Callable[[Foreign], Foreign] | None = None
        self._eager: Callable[[], bool] = lambda: True
        self._watched: list[_Watched] = []
        self._made_at: WeakTable[Stack] = WeakTable()  # the user's frames that made a dataset
        self._numbers: WeakTable[int] = WeakTable()  # of datasets that were described
        self._counted: WeakTable[bool] = WeakTable()  # sources that were counted
        self._datasets: dict[str, int] = {}
        self._sources: dict[int, int] = {}  # dataset number → sources of it that were made
        self._sites: dict[str, _Site] = {}
        self._foreign: set[type] = set()  # classes of iterators that fetch from another one
        self._made = 0
        self._next_reading = 2  # the step after which the models are read next
        self._next_watched = 0  # number of the next iterator that is watched, once there are many
        self.recorder.signals.tick.subscribe(self.name, self._read_models)
        self.recorder.signals.step.subscribe(self.name, self._step)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {
            "tensorflow.python.data.ops.iterator_ops": self._on_iterators,
            "tensorflow.python.data.ops.dataset_ops": self._on_datasets,
            # From TensorFlow 2.17 on: without it waits inside compiled steps are not seen.
            "tensorflow.python.data.experimental.ops.iterator_model_ops": self._on_models,
        }

    def _on_models(self, module: ModuleType) -> None:
        self._model_of = module.get_model_proto

    def _on_datasets(self, module: ModuleType) -> None:
        self._eager = module.context.executing_eagerly
        self.replace(module.DatasetV2, "__init__", self._dataset)
        # Private, seen on 2.21: where one is missing, iterators of TensorFlow 1 are not seen.
        for door in ("_make_one_shot_iterator", "_make_initializable_iterator"):
            if hasattr(getattr(module, "DatasetV1", None), door):
                self.replace(module.DatasetV1, door, self._make_in_graph)

    def _on_iterators(self, module: ModuleType) -> None:
        self.replace(module.OwnedIterator, "_create_iterator", self._create)
        if hasattr(getattr(module, "Iterator", None), "make_initializer"):
            self.replace(module.Iterator, "make_initializer", self._initialize_in_graph)

    def inherit(self, living: Living) -> None:
        """Iterators that were made before; that of a `for` is met when it gives its next
        element."""
        evaluating = _evaluating(living.models)
        for iterator in living.iterators[-_MOST_WATCHED:]:
            self._meet(iterator, id(iterator) in evaluating)
        self.recorder.signals.iterator_met.subscribe(self.name, self._met)

    def _met(self, iterator: Foreign) -> None:
        lane = self.recorder.local.lane
        began = clock()
        busy, lane.busy = lane.busy, True
        try:
            self._meet(iterator, lane.within == _EVAL)
        finally:
            lane.busy = busy
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _meet(self, iterator: Foreign, evaluates: bool) -> None:
        """Who made it, and at which line, is not known."""
        if type(iterator) in self._foreign or FETCHED.get(iterator) is not None:
            return
        dataset = attributes(iterator).get("_dataset")
        if dataset is None:
            self._foreign.add(type(iterator))
            return
        FETCHED.put(iterator, [0, 0])
        if len(self._watched) >= _MOST_WATCHED:
            return
        self._made += 1
        number = self._dataset_number(dataset, graph=False)
        made = IteratorMade(
            key="before",
            iterator=self._made,
            dataset=number,
            evaluates=evaluates,
            sources=self._sources_of(dataset, number),
        )
        self.recorder.emit(made)
        self._watched.append(_Watched(made, iterator))

    def _dataset(self, original: Function) -> Function:
        recorder, lost, made_at = self.recorder, self._lost, self._made_at

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            try:
                made_at.put(self, recorder.stack(sys._getframe().f_back))
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                lost(problem)

        return __init__

    def _create(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        made = self._iterator_made

        def _create_iterator(self: object, dataset: object) -> object:
            lane = local.lane
            if lane.busy or lane.tracing:
                return original(self, dataset)
            entry = open_span(lane, _INPUT)
            try:
                return original(self, dataset)
            finally:
                made(lane, self, dataset, close(lane, entry), sys._getframe().f_back)

        return _create_iterator

    def _make_in_graph(self, original: Function) -> Function:
        made = self._made_in_graph

        def make_iterator(self: object, *args: object, **kwargs: object) -> object:
            began = clock()
            iterator = original(self, *args, **kwargs)
            made(self, clock() - began, sys._getframe().f_back)
            return iterator

        return make_iterator

    def _initialize_in_graph(self, original: Function) -> Function:
        made = self._made_in_graph

        def make_initializer(
            self: object, dataset: object, *args: object, **kwargs: object
        ) -> object:
            began = clock()
            operation = original(self, dataset, *args, **kwargs)
            made(dataset, clock() - began, sys._getframe().f_back)
            return operation

        return make_initializer

    def _made_in_graph(self, dataset: object, took: int, frame: FrameType | None) -> None:
        lane = self.recorder.local.lane
        if not (lane.busy or lane.tracing or self._eager()):
            self._iterator_made(lane, None, dataset, took, frame)

    def _iterator_made(
        self, lane: Lane, iterator: object, dataset: object, took: int, frame: FrameType | None
    ) -> None:
        began = clock()
        lane.busy = True
        try:
            self._record(lane, iterator, dataset, took, frame)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self._lost(problem)
        finally:
            lane.busy = False
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _record(
        self,
        lane: Lane,
        iterator: Foreign | None,
        dataset: object,
        took: int,
        frame: FrameType | None,
    ) -> None:
        """An iterator was made; None for one in a graph, whose model cannot be read."""
        graph = iterator is None
        self._made += 1
        stack = self.recorder.stack(frame)
        key = str([tuple(place) for place in stack[:2]])
        number = self._number_at(key, dataset, graph)
        made = IteratorMade(
            key=key,
            took=took,
            iterator=self._made,
            dataset=number,
            stack=stack,
            step=self.steps.total,
            evaluates=lane.within == _EVAL,
            in_fit=lane.fit is not None or self._is_made_by_keras(frame),
            graph=graph,
            sources=self._sources_of(dataset, number),
        )
        self.recorder.emit(made)
        if not graph and (self._made <= _ALL_WATCHED or self._made >= self._next_watched):
            self._next_watched = self._made + self._made // 10
            alive = [known for known in self._watched if known.iterator() is not None]
            self._watched = [*alive[-_MOST_WATCHED + 1 :], _Watched(made, iterator)]
        elif not graph:
            FETCHED.put(iterator, [0, 0])  # it was not made before the recording began

    def _number_at(self, key: str, dataset: object, graph: bool) -> int:
        """The number of a pipeline; comparing pipelines takes 1 ms, and a line repeats its own."""
        site = self._sites.get(key, _Site(0, 0))
        number = site.dataset
        if site.made < _ALL_DESCRIBED or site.made & (site.made - 1) == 0:
            number = self._dataset_number(dataset, graph)
        if key in self._sites or len(self._sites) < _MOST_DATASETS:
            self._sites[key] = _Site(site.made + 1, number)
        return number

    def _is_made_by_keras(self, frame: FrameType | None) -> bool:
        """Whether Keras made it for one batch, as `train_on_batch` of Keras 2 does."""
        while frame is not None and not self.recorder.user.owns(frame.f_code):
            if str(frame.f_globals.get("__name__")).startswith(_KERAS):
                return True
            frame = frame.f_back
        return False

    def _dataset_number(self, dataset: object, graph: bool) -> int:
        """The same number for pipelines that the same lines built in the same way."""
        number = self._numbers.get(dataset)
        if number is not None:
            return number
        sources = Sources(lambda one: self._made_at.get(one) or (), self.recorder.keep_source)
        stages = describe(dataset, sources, graph)
        key = repr([stage.replace(tokens=()) for stage in stages])
        number = self._datasets.get(key)
        if number is None:
            if len(self._datasets) >= _MOST_DATASETS:
                return 0
            number = self._datasets[key] = len(self._datasets) + 1
            self.recorder.emit(Dataset(dataset=number, stages=stages))
        self._numbers.put(dataset, number)
        return number

    def _sources_of(self, dataset: Foreign, number: int) -> int:
        """How often the pipeline was built: its innermost dataset, whatever is put around it."""
        for _ in range(_MOST_DEPTH):
            inputs = dataset._inputs() if hasattr(dataset, "_inputs") else ()
            if not inputs:
                break
            dataset = inputs[0]
        if self._counted.get(dataset) is None:
            self._counted.put(dataset, True)
            self._sources[number] = self._sources.get(number, 0) + 1
        return self._sources.get(number, 0)

    def disarm(self) -> None:
        FETCHED.clear()
        super().disarm()

    def _lost(self, problem: Exception) -> None:
        self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    # Reading the models

    def _step(self, lane: Lane, total: int) -> None:
        """Read between two steps, at growing intervals: short runs have few ticks."""
        if total >= self._next_reading and self._watched:
            self._next_reading = total + max(2, total // 4)
            began = clock()
            self._read_models()
            self.recorder.keep_out(lane, clock() - began, self.name)

    def _read_models(self) -> None:
        if self._model_of is None or not self._watched:
            return
        lane = self.recorder.local.lane
        if lane.busy or lane.tracing or not self._eager():
            return
        lane.busy = True
        try:
            for known in list(self._watched):
                iterator = known.iterator()
                if iterator is not None:
                    self._read(known, iterator, self._model_of)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self._lost(problem)
        finally:
            lane.busy = False

    def _read(
        self, known: _Watched, iterator: object, model_of: Callable[[Foreign], Foreign]
    ) -> None:
        try:
            model = model_of(iterator)
        except Exception as problem:  # noqa: BLE001 - autotuning is off, or it was never used
            self._watched.remove(known)
            why = f"{type(problem).__name__}: {problem}"[:200]
            made = known.made
            self.recorder.emit(NoPipeline(iterator=made.iterator, dataset=made.dataset, why=why))
            return
        _count_wait(known, clock(), int(model.nodes[model.output].num_elements), model.gap_times)
        if _is_worth_writing(known, len(model.nodes)):
            known.readings += 1
            known.written = known.elements
            self.recorder.emit(self._reading(known, model))

    def _reading(self, known: _Watched, model: Foreign) -> PipelineReading:
        return PipelineReading(
            iterator=known.made.iterator,
            dataset=known.made.dataset,
            evaluates=known.made.evaluates,
            step=self.steps.total,
            elements=known.elements,
            wait=max(0, known.wait),
            over=known.over,
            fetches=known.fetched[0],
            fetch=known.fetched[1],
            nodes=tuple(_node(number, node) for number, node in sorted(model.nodes.items())),
            cpu_budget=int(model.optimization_params.cpu_budget),
            ram_budget=int(model.optimization_params.ram_budget),
        )


def _evaluating(models: list[Foreign]) -> set[int]:
    """Ids of the iterators that Keras keeps for validation; private, seen on Keras 3.5 to 3.15."""
    epochs = (attributes(model).get("_eval_epoch_iterator") for model in models)
    held = (attributes(epoch).get("_current_iterator") for epoch in epochs if epoch is not None)
    return {id(iterator) for iterator in held if iterator is not None}


def _is_worth_writing(known: _Watched, nodes: int) -> bool:
    if not known.elements:
        # Buffers fill before the first element: sources may be used up by then.
        return known.readings < _READINGS_WHILE_FILLING and nodes > 1
    new = known.elements - known.written
    return new > 0 and (known.readings < _ALL_READINGS or new * 10 > known.elements)


def _count_wait(known: _Watched, now: int, elements: int, gaps: Foreign) -> None:
    """The time since the last reading, less the gaps between calls of GetNext, was in GetNext.

    It counts once more elements came: an iterator that nobody uses any more does not wait.
    """
    new = elements - known.elements
    if new <= 0:
        return
    known.wait += known.open_wait
    known.over += known.open_over
    known.open_wait = known.open_over = 0
    if known.read_at and gaps:
        recent = gaps[-min(new, len(gaps)) :]
        between = sum(recent) * 1000 * new // len(recent)  # gaps are in microseconds
        # Negative where a gap began before the last reading, which counted that part as a wait.
        known.open_wait, known.open_over = now - known.read_at - between, new
    known.read_at = now
    known.elements = elements


def _node(number: int, node: Foreign) -> ModelNode:
    threads = next((one for one in node.parameters if one.name == "parallelism"), None)
    chosen = {}
    if threads is not None:
        chosen["parallelism"] = min(threads.state_value or threads.value, _UNLIMITED)
        chosen["parallelism_tuned"] = threads.tunable
    return ModelNode(
        id=number,
        name=node.name,
        inputs=tuple(node.inputs),
        elements=node.num_elements,
        busy=node.processing_time,
        buffered=node.buffered_elements,
        buffered_bytes=node.buffered_bytes,
        produced=node.bytes_produced,
        asynchronous=node.node_class in _ASYNCHRONOUS,
        **chosen,
    )
