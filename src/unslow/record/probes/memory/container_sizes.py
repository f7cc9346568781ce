"""Sees how many items the program's containers hold while a line of Python is hot."""

from __future__ import annotations

import sys
from collections import deque

from unslow.facts.memory import Sizes
from unslow.facts.phase import Phase
from unslow.facts.schema import Place
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.own_attributes import attributes
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import clock
from unslow.record.engine.safe_inspection import module_file, module_names
from unslow.record.engine.thread_stacks import Line

_WATCHED = (int(Phase.OTHER), int(Phase.HOOKS))
_CONTAINERS = (list, dict, set, frozenset, tuple, deque)
_LEAST = 16  # items: smaller containers are not what costs
_MOST = 16  # containers that are reported
_MOST_NAMES = 400
_MOST_STACKS = 300


class ContainerSizes(Probe):
    name = "sizes"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._hits: dict[int, int] = {}  # how often a stack was sampled
        self.recorder.signals.sample.subscribe(self.name, self._sampled)

    def doors(self) -> Doors:
        return {"tensorflow": lambda module: None}

    def _sampled(self, lines: list[Line], stack: int, phase: int) -> None:
        """On the watcher's thread: inspect at the 2nd, 4th, 8th … sample of a stack."""
        if phase not in _WATCHED or len(self._hits) > _MOST_STACKS or not self.steps.total:
            return
        hits = self._hits[stack] = self._hits.get(stack, 0) + 1
        if hits & (hits - 1) or hits < 2:
            return
        began = clock()
        places = self.recorder.user.places(lines, 1)
        found: dict[str, int] = {}
        main = sys.modules.get("__main__")
        if any(
            code.co_name == "<module>" and code.co_filename == module_file(main)
            for code, _ in lines
        ):
            for name, value in list(module_names(main).items())[:_MOST_NAMES]:
                self._add(found, name, value)
        largest = sorted(found.items(), key=lambda item: -item[1])[:_MOST]
        if places and largest:
            fact = Sizes(place=Place(*places[0]), step=self.steps.total, sizes=tuple(largest))
            self.recorder.emit(fact, began)

    def _add(self, found: dict[str, int], name: str, thing: object) -> None:
        length = _length(thing)
        if length >= _LEAST:
            found[name] = max(found.get(name, 0), length)
            return
        module = type(thing).__module__
        file = module_file(sys.modules.get(module)) if type(module) is str else ""
        if file and self.recorder.user.owns_file(file):  # an object of the user's own class
            for attribute, value in list(attributes(thing).items())[:_MOST_NAMES]:
                if _length(value) >= _LEAST:
                    found[f"{name}.{attribute}"] = _length(value)


def _length(thing: Foreign) -> int:
    """Items of a container whose length is known without running anybody's code; 0 for all else."""
    kind = type(thing)
    if kind in _CONTAINERS:
        return len(thing)
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy" and thing.ndim:
        return int(thing.shape[0])
    return 0
