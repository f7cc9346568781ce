"""Numbers for pipelines: the same for those that the same lines built in the same way."""

from __future__ import annotations

from typing import NamedTuple

from unslow.facts.data import Dataset
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.data.stages import Sources, describe

_ALL_DESCRIBED = 8  # iterators of a line whose pipelines are compared; then 16, 32, 64, …
_MOST_DATASETS = 300
_MOST_DEPTH = 100


class _Site(NamedTuple):
    """A line that makes iterators: how often it did, and over which pipeline."""

    made: int
    dataset: int


class DatasetNumbers:
    """Describes every pipeline once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.made_at: WeakTable[Stack] = WeakTable()  # the user's frames that made a dataset
        self._numbers: WeakTable[int] = WeakTable()  # of datasets that were described
        self._counted: WeakTable[bool] = WeakTable()  # sources that were counted
        self._datasets: dict[str, int] = {}
        self._sources: dict[int, int] = {}  # dataset number → sources of it that were made
        self._sites: dict[str, _Site] = {}

    def at_line(self, key: str, dataset: object, graph: bool) -> int:
        """The number of a pipeline; comparing pipelines takes 1 ms, and a line repeats its own."""
        site = self._sites.get(key, _Site(0, 0))
        number = site.dataset
        if site.made < _ALL_DESCRIBED or site.made & (site.made - 1) == 0:
            number = self.of(dataset, graph)
        if key in self._sites or len(self._sites) < _MOST_DATASETS:
            self._sites[key] = _Site(site.made + 1, number)
        return number

    def of(self, dataset: object, graph: bool) -> int:
        """The same number for pipelines that the same lines built in the same way."""
        number = self._numbers.get(dataset)
        if number is not None:
            return number
        sources = Sources(lambda one: self.made_at.get(one) or (), self._recorder.keep_source)
        stages = describe(dataset, sources, graph)
        key = repr([stage.replace(tokens=()) for stage in stages])
        number = self._datasets.get(key)
        if number is None:
            if len(self._datasets) >= _MOST_DATASETS:
                return 0
            number = self._datasets[key] = len(self._datasets) + 1
            self._recorder.emit(Dataset(dataset=number, stages=stages))
        self._numbers.put(dataset, number)
        return number

    def times_built(self, dataset: Foreign, number: int) -> int:
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
