"""What a process that runs already holds: functions, iterators, sessions, optimizers, models.

One bounded pass over the live objects, on a thread of ours. Nothing of theirs is called.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from unslow.facts.process import FoundLiving
from unslow.record.engine.safe_inspection import instances_of

# Blocks that Python has allocated; about a quarter of them are objects that `gc` knows (a program with
# Keras has 1.2 million and 300,000). To go through them is one call, in which nobody else runs Python.
_MOST_BLOCKS = 3_000_000
_MOST_OF_A_KIND = 1000
_POLYMORPHIC = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
# Private names were seen on TensorFlow 2.15 to 2.21; a class that is missing is not looked for.
_CLASSES = {
    "functions": ((_POLYMORPHIC, "Function"),),
    "iterators": (("tensorflow.python.data.ops.iterator_ops", "OwnedIterator"),),
    "sessions": (("tensorflow.python.client.session", "BaseSession"),),
    "optimizers": (
        ("keras.src.optimizers.base_optimizer", "BaseOptimizer"),
        ("tf_keras.src.optimizers.optimizer", "_BaseOptimizer"),
        ("tensorflow.python.training.optimizer", "Optimizer"),
    ),
    "models": (
        ("keras.src.trainers.trainer", "Trainer"),
        ("tf_keras.src.engine.training", "Model"),
    ),
    "callback_lists": (
        ("keras.src.callbacks.callback_list", "CallbackList"),
        ("tf_keras.src.callbacks", "CallbackList"),
    ),
}


class Living:
    """The objects that were found, by their kind."""

    def __init__(self) -> None:
        self.functions: list[Any] = []
        self.iterators: list[Any] = []
        self.sessions: list[Any] = []
        self.optimizers: list[Any] = []
        self.models: list[Any] = []
        self.callback_lists: list[Any] = []
        self.complete = True  # False: there are too many objects to go through
        self.took = 0  # nanoseconds

    def described(self) -> FoundLiving:
        return FoundLiving(
            functions=len(self.functions),
            iterators=len(self.iterators),
            sessions=len(self.sessions),
            optimizers=len(self.optimizers),
            models=len(self.models),
            complete=self.complete,
            took=self.took,
        )


def find_living() -> Living:
    """Every object of the classes that probes ask for."""
    began = time.perf_counter_ns()
    living = Living()
    wanted = {kind: getattr(living, name) for name in _CLASSES for kind in _kinds(name)}
    if sys.getallocatedblocks() > _MOST_BLOCKS:
        living.complete = False
    else:
        _sort(wanted)
    living.took = time.perf_counter_ns() - began
    return living


def _sort(wanted: dict[type, list[Any]]) -> None:
    """Put every object into the list of its class."""
    for found in instances_of(wanted):
        held = wanted[type(found)]
        if len(held) < _MOST_OF_A_KIND:
            held.append(found)


def _kinds(name: str) -> Iterator[type]:
    """The classes of a kind and all that were derived from them."""
    for module, attribute in _CLASSES[name]:
        base = getattr(sys.modules.get(module), attribute, None)
        if isinstance(base, type):
            yield from _derived(base)


def _derived(base: type) -> Iterator[type]:
    yield base
    derived: list[type] = type.__subclasses__(base)
    for kind in derived:
        yield from _derived(kind)
