"""One pass over the user's names for the arrays that they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from types import FrameType, FunctionType

from unslow.facts.memory import Holding
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import local_names
from unslow.record.engine.own_attributes import attributes
from unslow.record.engine.safe_inspection import container_of, is_tensor, items
from unslow.record.probes.memory.arrays import (
    FEW,
    LEAST_HELD,
    arrays_among,
    closure_of,
    described,
    elements_of,
    is_data,
    is_one_hot,
    owner_of,
    size_of,
)
from unslow.record.probes.memory.named_values import Scope

_DEPTH = 3
FEEDS = frozenset(("fit", "evaluate", "predict"))
_FED = frozenset(("x", "y", "validation_data"))
_KERAS = ("keras", "tf_keras")
_DEEP = 60  # frames between the running code and the call of fit()


class ArrayWalk:
    """One pass over the user's names; what several of them share counts once."""

    def __init__(
        self, is_users: Callable[[Foreign], bool], fed: dict[int, str], until: int
    ) -> None:
        self._is_users = is_users
        self._fed = fed  # id of an array → the call that it was given to
        self._until = until
        self._arrays: dict[int, Holding] = {}  # by the id of the array that owns the memory
        self._views: set[int] = set()  # of them, those that only a view was found of
        self._containers: list[Holding] = []
        self._seen: set[int] = set()

    def is_over(self) -> bool:
        return time.thread_time_ns() > self._until

    def held(self) -> list[Holding]:
        return [*self._arrays.values(), *self._containers]

    def has_seen(self, array: object) -> bool:
        """Whether a name led to an array or tensor itself."""
        return id(array) in self._arrays

    def visit(self, scope: Scope, path: str, value: object, depth: int) -> None:
        if is_data(value):
            self._add_data(scope, path, value)
            return
        if depth >= _DEPTH or id(value) in self._seen or self.is_over():
            return
        self._seen.add(id(value))
        if size_of(value) > FEW:
            self._add_container(scope, path, value)
            return
        for inner_path, inner in self._parts(path, value):
            self.visit(scope, inner_path, inner, depth + 1)

    def _parts(self, path: str, value: object) -> Iterator[tuple[str, Foreign]]:
        kind = container_of(value)
        if kind is dict:
            yield from ((f"{path}[{key!r}]", inner) for key, inner in _named_items(value))
        elif kind is not None or tuple in type(value).__mro__:
            yield from ((f"{path}[{at}]", inner) for at, inner in enumerate(elements_of(value)))
        elif type(value) is FunctionType:
            yield from closure_of(value)
        elif self._is_users(value):
            yield from ((f"{path}.{name}", inner) for name, inner in attributes(value).items())

    def _add_data(self, scope: Scope, path: str, value: object) -> None:
        owner = owner_of(value)
        if owner is None:
            return
        is_view = owner is not value
        known = self._arrays.get(id(owner))
        if known is not None and (is_view or id(owner) not in self._views):
            return
        if is_view:
            self._views.add(id(owner))
        else:
            self._views.discard(id(owner))
        self._arrays[id(owner)] = self._holding(scope, path, owner)

    def _holding(self, scope: Scope, path: str, owner: object) -> Holding:
        size, shape, dtype = described(owner)
        return Holding(
            path=path,
            file=scope[0],
            function=scope[1],
            type="tensor" if is_tensor(owner) else "array",
            bytes=size,
            dtype=dtype,
            shape=shape,
            one_hot=size >= LEAST_HELD and is_one_hot(owner, shape),
            fed=self._fed.get(id(owner), ""),
        )

    def _add_container(self, scope: Scope, path: str, value: object) -> None:
        """The bytes of many elements, each array counted once and only if no name has it."""
        number = size_of(value)
        sampled = elements_of(value)
        owned = {
            id(owner): owner for owner in map(owner_of, arrays_among(sampled)) if owner is not None
        }
        own = [owner for key, owner in owned.items() if key not in self._arrays]
        if not own:
            return
        first = described(own[0])
        total = sum(described(owner)[0] for owner in own)
        holding = Holding(
            path=path,
            file=scope[0],
            function=scope[1],
            type=type(value).__name__,
            bytes=total * number / max(1, len(sampled)),
            dtype=first[2],
            shape=(number, *first[1]),
        )
        self._containers.append(holding)


def _named_items(value: object) -> list[tuple[Foreign, Foreign]]:
    return [(key, inner) for key, inner in items(value) if type(key) in (str, int)]


def given_to_keras(frame: FrameType | None) -> dict[int, str]:
    """Arrays that were given to a Keras call on the stack, by the id of what owns their memory."""
    found: dict[int, str] = {}
    for _ in range(_DEEP):
        if frame is None:
            break
        if is_keras_call(frame, FEEDS):
            given = [value for name, value in local_names(frame) if name in _FED]
            for value in arrays_among([*given, *(inner for one in given for inner in _given(one))]):
                found[id(owner_of(value))] = frame.f_code.co_name
        frame = frame.f_back
    return found


def _given(value: object) -> list[Foreign]:
    return elements_of(value) if 0 < size_of(value) <= FEW else []


def is_keras_call(frame: FrameType, methods: Container[str]) -> bool:
    """Whether a frame is a method of Keras's with one of some names."""
    if frame.f_code.co_name not in methods:
        return False
    module = frame.f_globals.get("__name__")
    return type(module) is str and module.partition(".")[0] in _KERAS
