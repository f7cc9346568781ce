"""Records tf.data pipelines: the line of each stage, iterators, and what their models report."""

from __future__ import annotations

import importlib
import operator
import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import FrameType, ModuleType

from unslow.facts.data import NO_MODELS, IteratorMade, NoPipeline
from unslow.facts.phase import Phase
from unslow.record.engine.current_frames import current_frames
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.live_objects import Living
from unslow.record.engine.own_attributes import attribute
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.data.dataset_numbers import DatasetNumbers
from unslow.record.probes.data.model_readings import Watched
from unslow.record.probes.data.python_batches import FETCHED

_EVAL, _INPUT = int(Phase.EVAL), int(Phase.INPUT)
_MOST_WATCHED = 16  # iterators whose models are read, the newest first
_ALL_WATCHED = 64  # the first iterators are all watched; after them one in ten
_KERAS = ("keras.", "tf_keras.")


class Pipeline(Probe):
    name = "pipeline"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._model_of: Callable[[Foreign], Foreign] | None = None
        self._eager: Callable[[], bool] = lambda: True
        self._watched: list[Watched] = []
        self._numbers = DatasetNumbers(self.recorder)
        self._foreign: set[type] = set()  # classes of iterators that fetch from another one
        self._ends: dict[int, tuple[Foreign, ...]] = {}  # of living iterators, by their id
        lines = map(operator.attrgetter("f_code", "f_lasti"), current_frames())
        # Called with the weak reference, which `next` takes for its default; no Python of ours.
        self._note_line = partial(next, map(self.recorder.iterator_ends.append, lines))
        self._made = 0
        self._next_reading = 2  # the step after which the models are read next
        self._next_watched = 0  # number of the next iterator that is watched, once there are many
        self.recorder.signals.tick.subscribe(self.name, self._read_models)
        self.recorder.signals.step.subscribe(self.name, self._step)

    def doors(self) -> Doors:
        return {
            "tensorflow.python.data.ops.iterator_ops": self._on_iterators,
            "tensorflow.python.data.ops.dataset_ops": self._on_datasets,
            # From TensorFlow 2.18 on: without it waits inside compiled steps are not seen.
            "tensorflow.python.data.experimental.ops.iterator_model_ops": self._on_models,
            "tensorflow": self._on_tensorflow,
        }

    def _on_tensorflow(self, module: ModuleType) -> None:
        """After all others."""
        self._model_of = self._model_of or model_by_op()

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

    def _note_end(self, iterator: Foreign) -> None:
        """Remember the instruction at which an iterator is let go. Never raises."""
        key = id(iterator)
        self._ends[key] = (
            weakref.ref(iterator, self._note_line),
            weakref.ref(iterator, partial(self._ends.pop, key)),
        )

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
        dataset = attribute(iterator, "_dataset")
        if dataset is None:
            self._foreign.add(type(iterator))
            return
        FETCHED.put(iterator, [0, 0])
        self._note_end(iterator)
        if len(self._watched) >= _MOST_WATCHED:
            return
        self._made += 1
        number = self._numbers.of(dataset, graph=False)
        made = IteratorMade(
            key="before",
            iterator=self._made,
            dataset=number,
            evaluates=evaluates,
            sources=self._numbers.times_built(dataset, number),
        )
        self.recorder.emit(made)
        self._watched.append(Watched(made, iterator))

    def _dataset(self, original: Function) -> Function:
        recorder, fence, made_at = self.recorder, self.fence, self._numbers.made_at

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            with fence:
                made_at.put(self, recorder.stack(sys._getframe().f_back))

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
        lane.busy = True
        try:
            with self.inspection(lane):
                self._record(lane, iterator, dataset, took, frame)
        finally:
            lane.busy = False

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
        if iterator is not None:
            self._note_end(iterator)
        self._made += 1
        stack = self.recorder.stack(frame)
        evaluates = lane.within == _EVAL  # `fit` makes those for validation at the same line
        key = f"{'evaluation ' if evaluates else ''}{[tuple(place) for place in stack[:2]]}"
        number = self._numbers.at_line(key, dataset, graph)
        made = IteratorMade(
            key=key,
            took=took,
            iterator=self._made,
            dataset=number,
            stack=stack,
            step=self.steps.total,
            evaluates=evaluates,
            in_fit=lane.fit is not None or self._is_made_by_keras(frame),
            graph=graph,
            sources=self._numbers.times_built(dataset, number),
        )
        self.recorder.emit(made)
        if not graph and (self._made <= _ALL_WATCHED or self._made >= self._next_watched):
            self._next_watched = self._made + self._made // 10
            alive = [known for known in self._watched if known.iterator() is not None]
            self._watched = [*alive[-_MOST_WATCHED + 1 :], Watched(made, iterator)]
        elif not graph:
            FETCHED.put(iterator, [0, 0])  # it was not made before the recording began

    def _is_made_by_keras(self, frame: FrameType | None) -> bool:
        """Whether Keras made it for one batch, as `train_on_batch` of Keras 2 does."""
        while frame is not None and not self.recorder.user.owns(frame.f_code):
            if str(frame.f_globals.get("__name__")).startswith(_KERAS):
                return True
            frame = frame.f_back
        return False

    def disarm(self) -> None:
        FETCHED.clear()
        self._ends.clear()
        super().disarm()

    # Reading the models

    def _step(self, lane: Lane, total: int) -> None:
        """Read between two steps, at growing intervals: short runs have few ticks."""
        if total >= self._next_reading and self._watched:
            self._next_reading = total + max(2, total // 4)
            with self.inspection(lane):
                self._read_models()

    def _read_models(self) -> None:
        if not self._watched:
            return
        if self._model_of is None:
            with self.fence:
                self._say_why_not()
            return
        lane = self.recorder.local.lane
        if lane.busy or lane.tracing or not self._eager():
            return
        lane.busy = True
        try:
            with self.fence:
                for known in list(self._watched):
                    iterator = known.iterator()
                    if iterator is not None:
                        self._read(known, iterator, self._model_of)
        finally:
            lane.busy = False

    def _say_why_not(self) -> None:
        while self._watched:
            made = self._watched.pop().made
            none = NoPipeline(iterator=made.iterator, dataset=made.dataset, why=NO_MODELS)
            self.recorder.emit(none)

    def _read(
        self, known: Watched, iterator: object, model_of: Callable[[Foreign], Foreign]
    ) -> None:
        try:
            model = model_of(iterator)
        except Exception as problem:  # noqa: BLE001 - autotuning is off, or it was never used
            self._watched.remove(known)
            why = f"{type(problem).__name__}: {problem}"[:200]
            made = known.made
            self.recorder.emit(NoPipeline(iterator=made.iterator, dataset=made.dataset, why=why))
            return
        if known.update(model):
            self.recorder.emit(known.reading(model, self.steps.total))


def model_by_op() -> Callable[[Foreign], Foreign] | None:
    """How TensorFlow 2.17 shows the model of an iterator; None before, which has no such op.

    Private; from 2.18 on, `get_model_proto` does the same.
    """
    ops = sys.modules.get("tensorflow.python.ops.gen_experimental_dataset_ops")
    ask = getattr(ops, "iterator_get_model_proto", None)
    if ask is None:
        return None
    read = importlib.import_module("tensorflow.core.framework.model_pb2").ModelProto.FromString

    def model_of(iterator: Foreign) -> Foreign:
        return read(ask(iterator._iterator_resource).numpy())

    return model_of


def _evaluating(models: list[Foreign]) -> set[int]:
    """Ids of the iterators that Keras keeps for validation; private, seen on Keras 3.5 to 3.15."""
    epochs = (attribute(model, "_eval_epoch_iterator") for model in models)
    held = (attribute(epoch, "_current_iterator") for epoch in epochs if epoch is not None)
    return {id(iterator) for iterator in held if iterator is not None}
