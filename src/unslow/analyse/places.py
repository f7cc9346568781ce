"""Which line and which function of the user's code something belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from unslow.analyse import wording as say
from unslow.facts.schema import Place, Stack
from unslow.model import Location, Loop, Run

Line: TypeAlias = tuple[str, int]  # file and line
Anywhere: TypeAlias = Location | Place


class HasStack(Protocol):
    """A fact that knows the user's frames it came from."""

    @property
    def stack(self) -> tuple[Anywhere, ...]: ...


S = TypeVar("S", bound=HasStack)


def by_users(found: Iterable[S]) -> list[S]:
    """Those that a line of the user's led to."""
    return [one for one in found if one.stack]


def line_of(place: Anywhere) -> Line:
    return place.file, place.line


def function_of(place: Anywhere) -> tuple[str, str]:
    """File and name of the function around a line."""
    return place.file, place.function


def lines_in(places: Iterable[Anywhere]) -> set[Line]:
    return set(map(line_of, places))


def places_of(loop: Loop) -> tuple[Location, ...]:
    """The lines that lead to the update of a loop, its own first."""
    return loop.location, loop.update, *loop.stack


def locations(stack: Stack) -> tuple[Location, ...]:
    return tuple(Location(*place) for place in stack)


def innermost(stack: Stack) -> Location | None:
    """The user's innermost line of a stack."""
    return Location(*stack[0]) if stack else None


def shown(run: Run, stack: Sequence[Anywhere]) -> Location | None:
    """The same with its code."""
    return say.place(run, stack[0]) if stack else None
