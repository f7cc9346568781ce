"""tf.data's own switches: the batch size in the script, and the options of every pipeline."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType, ModuleType

from unslow.facts.whatif import DatasetBatched, DatasetRebatched, PipelineRead
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors
from unslow.record.engine.weak_table import WeakTable
from unslow.record.trial.whatif.switch import Switch

_DATASETS = "tensorflow.python.data.ops.dataset_ops"
_DEEPEST = 200


class Batch(Switch):
    """Only the last `batch` of a pipeline makes its training batches; others cut windows."""

    name = "whatif-batch"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._batched: WeakTable[str] = WeakTable()  # the place that batched a dataset

    def doors(self) -> Doors:
        ways = ("DatasetV2.batch", "DatasetV2.padded_batch")
        return {_DATASETS: self.wrapping(dict.fromkeys(ways, self._marked))}

    def _marked(self, original: Function) -> Function:
        scaled = self.changed(self._batch)(original)
        probe = self

        def batch(self: object, *args: object, **kwargs: object) -> object:
            result = scaled(self, *args, **kwargs)
            probe.fenced(probe._mark, self, result, sys._getframe(1))
            return result

        return batch

    def _batch(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        caller = self._caller(frame)
        size = arguments.get("batch_size")
        if caller is None or not isinstance(size, int):
            return {}
        place = self._place(caller)
        inner = place in self.asked.get("inner", ())
        other = max(1, round(size * float(self.asked.get("batch", 1))))
        done = other != size and not inner
        reached = DatasetBatched(
            done=("batch",) if done else (),
            size=other if done else size,
            was=size,
            place=place,
        )
        self.tell(reached, caller)
        return {"batch_size": other} if done else {}

    def _mark(self, source: Foreign, result: Foreign, frame: FrameType) -> None:
        caller = self._caller(frame)
        if caller is None:
            return
        here = self._place(caller)
        self._batched.put(result, here)
        pending, seen = [source], 0
        while pending and seen < _DEEPEST:
            dataset = pending.pop()
            seen += 1
            place = self._batched.get(dataset)
            if place is not None and place != here:
                self.tell(DatasetRebatched(place=place), caller)
            pending.extend(dataset._inputs())

    def _caller(self, frame: FrameType) -> FrameType | None:
        lane = self.recorder.local.lane
        if lane.tracing or lane.busy:  # a function of tf.data's own, as in window().flat_map()
            return None
        return self.users(frame, "/tensorflow/", "/unslow/record/")

    @staticmethod
    def _place(frame: FrameType) -> str:
        """The same in every trial, though each runs in a copy of the directory."""
        code = frame.f_code
        return f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno}:{frame.f_lasti}"


class Pipeline(Switch):
    """Options are given to a dataset when an iterator of it is made.

    `_apply_debug_options` is where every way of making one passes; seen on 2.15 to 2.21.
    """

    name = "whatif-pipeline"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._inside = False

    def doors(self) -> Doors:
        return {_DATASETS: self._on_datasets}

    def _on_datasets(self, module: ModuleType) -> None:
        probe = self

        def make(original: Function) -> Function:
            def _apply_debug_options(self: object) -> object:
                dataset = original(self)
                return probe.fenced(probe._with_options, dataset, sys._getframe(1)) or dataset

            return _apply_debug_options

        self.replace(module.DatasetV2, "_apply_debug_options", make)

    def _with_options(self, dataset: Foreign, frame: FrameType) -> Foreign:
        if self._inside:
            return None
        asked = self.asked.get("data", {})
        done = ("data",) if asked else ()
        self.tell(PipelineRead(done=done, stages=_stages(dataset)), frame)
        if not asked:
            return None
        self._inside = True
        try:
            tensorflow = sys.modules["tensorflow"]
            if asked.get("prefetch"):
                dataset = dataset.prefetch(tensorflow.data.AUTOTUNE)
            options = tensorflow.data.Options()
            for name, value in asked.items():
                if name == "prefetch":
                    continue
                group, _, option = name.rpartition(".")
                setattr(getattr(options, group) if group else options, option, value)
            return dataset.with_options(options)
        finally:
            self._inside = False


def _stages(dataset: Foreign) -> tuple[str, ...]:
    """The kinds of its stages, last first."""
    found: list[str] = []
    pending = [dataset]
    while pending and len(found) < _DEEPEST:
        stage = pending.pop()
        found.append(type(stage).__name__.strip("_"))
        pending.extend(stage._inputs())
    return tuple(found)
