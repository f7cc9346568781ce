"""The nouns of this package: an experiment measures sides, a claim is judged by a rule on what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Measured = dict[str, float]
Side = Callable[[], Measured]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Sides that run in processes of their own, in turn; each hands back numbers by name."""

    id: str
    compared: str
    sides: Mapping[str, Side]
    units: Mapping[str, str]  # by the number's name: s, bytes, bytes/step, share, count
    pairs: int = 3  # rounds at first, every other one in the reverse order; fewer give no interval
    abreast: bool = False  # the sides take turns call by call, so that all see the same machine at the same time
    cpu: bool = False  # another machine, above all one with a GPU, may answer otherwise
    note: str = ""


MUCH = 1.5  # what a claim of "much" has to reach


@dataclass(frozen=True, slots=True)
class Ratio:
    """Cases in which one number is claimed to be larger than another, each given as `side.number`."""

    cases: Mapping[str, tuple[str, str]]
    at_least: float = 1.1  # less than a tenth is nothing that anyone would call slower


@dataclass(frozen=True, slots=True)
class Above:
    """Cases in which a number is claimed to be above a limit."""

    cases: Mapping[str, str]
    limit: float
    why: str  # the limit's reason


@dataclass(frozen=True, slots=True)
class Below:
    """Cases in which a number is claimed to be no more than a limit."""

    cases: Mapping[str, str]
    limit: float
    why: str


@dataclass(frozen=True, slots=True)
class Runs:
    """Cases in which code is claimed to run: each names a side."""

    cases: Mapping[str, str]


Rule = Ratio | Above | Below | Runs


@dataclass(frozen=True, slots=True)
class Claim:
    """What a document says, in our words; who measures it, by which rule it is judged, what of unslow handles it."""

    words: str
    experiment: str
    rule: Rule
    causes: tuple[str, ...] = ()
    whatif: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Untested:
    """A claim that no experiment here can answer, and the reason."""

    words: str
    reason: str
    causes: tuple[str, ...] = ()
    whatif: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One of the documents: what it is asked, and what it claims."""

    number: int
    question: str
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...] = ()


@dataclass(slots=True)
class Result:
    """What the sides of one experiment handed back, round by round, or raised."""

    run: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
