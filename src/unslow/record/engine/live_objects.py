"""What a process that runs already holds: functions, iterators, sessions, optimizers, models.

One bounded pass over what the program can reach, on a thread of ours. Nothing of theirs is called.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from unslow.facts.process import FoundLiving
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode
from unslow.record.engine.reachable import POLYMORPHIC, Walk, held_by_program

_MOST_OF_A_KIND = 1000
# Private names were seen on TensorFlow 2.15 to 2.21; a missing class is skipped.
_CLASSES = {
    "functions": ((POLYMORPHIC, "Function"),),
    "iterators": (("tensorflow.python.data.ops.iterator_ops", "OwnedIterator"),),
    "sessions": (("tensorflow.python.client.session", "BaseSession"),),
    "optimizers": (
        ("keras.src.optimizers.base_optimizer", "BaseOptimizer"),
        ("tf_keras.src.optimizers.optimizer", "_BaseOptimizer"),
        ("tensorflow.python.training.optimizer", "Optimizer"),
    ),
    "models": (
        ("keras.src.trainers.trainer", "Trainer"),
        ("keras.src.trainers.trainer", "BaseTrainer"),  # from Keras 3.16 on
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
        self.functions: list[Foreign] = []
        self.iterators: list[Foreign] = []
        self.sessions: list[Foreign] = []
        self.optimizers: list[Foreign] = []
        self.models: list[Foreign] = []
        self.callback_lists: list[Foreign] = []
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


def find_living(user: UserCode, rest: Callable[[], None]) -> Living:
    """Every object of the classes that probes request; `rest` is called for each object."""
    began = time.perf_counter_ns()
    living = Living()
    wanted = {kind: getattr(living, name) for name in _CLASSES for kind in _kinds(name)}
    walk = Walk()
    for found in walk.objects(held_by_program(user)):
        rest()
        held = wanted.get(type(found))
        if held is not None and len(held) < _MOST_OF_A_KIND:
            held.append(found)
    living.complete = walk.complete
    living.took = time.perf_counter_ns() - began
    return living


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
