"""What a cause is: its words, the facts it needs, its judgement and, where it has one, its cure."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, ClassVar

from unslow.facts.schema import Fact
from unslow.model import Finding, Fix, Refusal, Run, Unjudged

if TYPE_CHECKING:
    from unslow.analyse.sketches.sketch import Sketch
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

HEADINGS = ("What happens", "Why it is slow", "The fix", "When we are wrong")


class CannotJudge(Exception):
    """Raised by `detect` when the facts it needs are not in this run; the message says which."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A cause seen in source: what it could be, never what it costs."""

    line: int
    column: int
    text: str  # what is there and under which condition it matters
    instead: str  # the working form


class Cause:
    """One reason for slowness. The docstring's four headings are its page and `unslow explain`."""

    title: ClassVar[str] = ""  # what is wrong, in a few words: "the graph grows in the loop"
    reads: ClassVar[
        tuple[type[Fact], ...]
    ] = ()  # the facts it reads: not judged without their probes
    needs: ClassVar[tuple[str, ...]] = ()  # probes without which it is not judged
    from_the_start: ClassVar[str] = ""  # why it cannot be judged where recording began later
    deeper_than: ClassVar[
        tuple[str, ...]
    ] = ()  # causes that are this one's symptoms: it leads, they merge
    yields: ClassVar[bool] = (
        False  # where another cause speaks of the same line, that one says why: it leads
    )
    ran: ClassVar[bool] = True  # False: a broken recipe that only `unslow check` sees
    FIRES: ClassVar[Sequence[Sketch]] = ()
    QUIET: ClassVar[Sequence[Sketch]] = ()

    @property
    def id(self) -> str:
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @property
    def words(self) -> str:
        return inspect.cleandoc(type(self).__doc__ or "")

    def detect(self, run: Run) -> Iterable[Finding]:
        """Findings in a run, each with a number for everything it says."""
        return ()

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        """The edit that undoes a finding, the reason why there is none, or None: words only."""
        return None

    def spot(self, source: Source) -> Iterable[Spot]:
        """The same cause seen in source, for `unslow check`."""
        return ()


def _validated(found: object, where: str) -> Cause:
    if not (isinstance(found, type) and issubclass(found, Cause)):
        raise TypeError(f"{where} is not a Cause")
    missing = [
        heading
        for heading in HEADINGS
        if f"{heading}\n" not in f"{inspect.cleandoc(found.__doc__ or '')}\n"
    ]
    if not found.title or missing:
        raise TypeError(f"{where} lacks {'a title' if not found.title else ', '.join(missing)}")
    return found()


def _own(name: str) -> Cause:
    module = importlib.import_module(f"unslow.causes.{name}")
    members = [member for _, member in inspect.getmembers(module, inspect.isclass)]
    own = [
        member
        for member in members
        if issubclass(member, Cause) and member.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise TypeError(f"{name} holds {len(own)} causes")
    return _validated(own[0], name)


@cache
def load() -> tuple[tuple[Cause, ...], tuple[Unjudged, ...]]:
    """Every cause, ours and other people's; one that does not load is named, never dropped in
    silence."""
    package = importlib.import_module("unslow.causes")
    sources: list[tuple[str, Callable[[], Cause]]] = [
        (info.name.replace("_", "-"), partial(_own, info.name))
        for info in pkgutil.iter_modules(package.__path__)
    ]
    for point in entry_points(group="unslow.causes"):
        sources.append((point.name, partial(_plugged_in, point)))
    causes, broken = [], []
    for name, make in sources:
        try:
            causes.append(make())
        except Exception as problem:  # noqa: BLE001 - the fence of a cause: the others still judge
            broken.append(Unjudged(name, f"it did not load: {type(problem).__name__}: {problem}"))
    return tuple(sorted(causes, key=lambda cause: cause.id)), tuple(broken)


def _plugged_in(point: EntryPoint) -> Cause:
    return _validated(point.load(), point.value)


def by_id(identifier: str) -> Cause | None:
    return next((cause for cause in load()[0] if cause.id == identifier), None)
