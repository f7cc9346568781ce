"""The base class of every cause, and the discovery of causes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, ClassVar

from unslow.facts.schema import Fact
from unslow.model import Finding, Fix, Refusal, Run, Unjudged

if TYPE_CHECKING:
    from unslow.analyse.sketches.sketch import Sketch
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

# Of the training or the run: a smaller cost is not reported. A judgement: it would hardly repay a
# change to the program.
LEAST_SHARE = 0.05
HEADINGS = ("What happens", "Why it is slow", "The fix", "When we are wrong")


class CannotJudge(Exception):
    """Raised by `detect` when the facts it needs are not in this run; the message says which."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A cause seen in source, where its cost is unknown."""

    line: int
    column: int
    text: str  # what is there and under which condition it matters
    instead: str  # what to write


class Cause:
    """One reason for slowness. The docstring's four headings are its page and `unslow explain`."""

    title: ClassVar[str] = ""  # what is wrong, in a few words: "the graph grows in the loop"
    # Facts that `detect` reads: without their probes the cause is not judged.
    reads: ClassVar[tuple[type[Fact], ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()  # further probes without which it is not judged
    from_the_start: ClassVar[str] = ""  # why it cannot be judged if recording began later
    deeper_than: ClassVar[tuple[str, ...]] = ()  # its symptoms: findings that merge into this one
    deeper_at_line: ClassVar[tuple[str, ...]] = ()  # the same, for findings at its own line only
    yields: ClassVar[bool] = False  # another cause at the same line is the reason, and leads
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
        """The findings of a run, with a number for every claim."""
        return ()

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        """The edit that removes a finding, why there is none, or None if there is only advice."""
        return None

    def spot(self, source: Source) -> Iterable[Spot]:
        """The same cause seen in source, for `unslow check`."""
        return ()


@cache
def load() -> tuple[tuple[Cause, ...], tuple[Unjudged, ...]]:
    """Every cause, built in or from a plugin, and those that failed to load."""
    causes, broken = [], []
    for name, load_class in _sources():
        try:
            causes.append(_validated(load_class(), name))
        except Exception as problem:  # noqa: BLE001 - the fence of a cause: the others still judge
            broken.append(Unjudged(name, f"it did not load: {type(problem).__name__}: {problem}"))
    return tuple(sorted(causes, key=lambda cause: cause.id)), tuple(broken)


def by_id(identifier: str) -> Cause | None:
    return next((cause for cause in load()[0] if cause.id == identifier), None)


def _sources() -> Iterator[tuple[str, Callable[[], object]]]:
    package = importlib.import_module("unslow.causes")
    for info in pkgutil.iter_modules(package.__path__):
        yield info.name.replace("_", "-"), partial(_class_in, f"unslow.causes.{info.name}")
    for point in entry_points(group="unslow.causes"):
        yield point.name, point.load


def _class_in(name: str) -> type[Cause]:
    module = importlib.import_module(name)
    classes = [member for _, member in inspect.getmembers(module, inspect.isclass)]
    own = [found for found in classes if found.__module__ == name and issubclass(found, Cause)]
    if len(own) != 1:
        raise TypeError(f"it holds {len(own)} causes")
    return own[0]


def _validated(found: object, name: str) -> Cause:
    if not (isinstance(found, type) and issubclass(found, Cause)):
        raise TypeError(f"{name} is not a Cause")
    cause = found()
    lines = cause.words.splitlines()
    missing = [heading for heading in HEADINGS if heading not in lines]
    if not cause.title:
        missing.append("a title")
    if missing:
        raise TypeError(f"{name} lacks {', '.join(missing)}")
    return cause
