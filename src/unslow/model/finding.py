"""What a diagnosis says: findings with their evidence, fixes, and what was not judged."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from unslow.model.loop import Location
from unslow.model.run import Run

if TYPE_CHECKING:
    from unslow.analyse.account import Account
    from unslow.analyse.memory.account import MemoryAccount

T = TypeVar("T")

_OTHER_DRAWS = "It draws other random numbers than before."
_NEARLY_ALL = 0.9  # of a finding: a few seconds outside of the steps change no share (judgement)


class Certainty(enum.Enum):
    """How far the facts carry: MEASURED needs no inference, LIKELY rests on one."""

    MEASURED = "measured"
    LIKELY = "likely"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something a reader can check."""

    label: str
    value: float | int | str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Where a growing cost leads: at `step`, seconds of a step or bytes of memory."""

    step: int
    step_seconds: float | None = None
    bytes: float | None = None
    text: str = ""
    on_disk: bool = False  # `bytes` are those of files


@dataclass(frozen=True)
class Finding:
    """A cause seen in a run: where, what it costs, and the numbers that say so."""

    cause: str
    title: str  # one line in the user's own names and numbers
    location: Location | None
    seconds: float  # what could be had back in this run
    evidence: tuple[Evidence, ...]
    grows: bool = False
    forecast: Forecast | None = None
    certainty: Certainty = Certainty.MEASURED
    advice: str = ""  # what to do, in words, where no diff can be written
    fault: bool = True  # False: an honest answer that is no fault of the program
    in_first_step: bool = False  # its cost lies in the first step, which a proof then counts
    detail: object = None  # what the cause hands to its own `fix`: a small class of its file
    merged: tuple[str, ...] = ()  # causes that explained the same seconds
    frees: float = 0.0  # bytes of the peak that could be had back
    stretch: str = ""  # outside of the steps: the name of the stretch of the account it lies in
    elsewhere: Mapping[str, float] = field(default_factory=dict)  # seconds in other stretches

    @property
    def place(self) -> Location:
        """Its location: no fix is asked for a finding without one."""
        if self.location is None:
            raise ValueError(f"{self.title}: without a location")
        return self.location

    def detail_of(self, kind: type[T]) -> T:
        """What the cause hands to its own `fix`, where every finding of it has some."""
        if not isinstance(self.detail, kind):
            raise TypeError(f"{self.title}: no {kind.__name__}")
        return self.detail

    def seconds_in(self, stretch: str) -> float:
        """Its seconds in one stretch of the account; those in the steps without a name."""
        if stretch == self.stretch:
            return self.seconds - sum(self.elsewhere.values())
        return self.elsewhere.get(stretch, 0.0)

    def is_of_training(self, run: Run) -> bool:
        """Whether its seconds are part of the training, and not of the run outside of steps."""
        in_steps = self.seconds_in("") >= _NEARLY_ALL * self.seconds and not self.stretch
        return bool(run.training) and run.trained > 0 and in_steps

    def share_of(self, run: Run) -> float:
        """A share of the time in training steps, or of the run where it is no part of them."""
        whole = run.trained if self.is_of_training(run) else run.seconds
        return min(1.0, self.seconds / whole) if whole > 0 else 0.0


class Safety(enum.Enum):
    """EXACT: same results by construction. CLOSE: up to rounding. REVIEW: may differ."""

    EXACT = "exact"
    CLOSE = "close"
    REVIEW = "review"


@dataclass(frozen=True)
class Fix:
    """New texts for the user's files."""

    title: str
    safety: Safety
    files: Mapping[str, str]  # file (as in Location) → its whole new text
    note: str = ""  # REVIEW: the sentence that says how the meaning may change

    @classmethod
    def close(
        cls, title: str, files: Mapping[str, str], draws: bool, note: str = _OTHER_DRAWS
    ) -> Fix:
        """The same up to rounding; what draws random numbers must be read first."""
        return cls(title, Safety.REVIEW, files, note) if draws else cls(title, Safety.CLOSE, files)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no diff is written, and the line that stands in the way."""

    reason: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A cause that gave no answer, and why."""

    cause: str
    reason: str
    blind: bool = False  # a signal is missing: a lost probe, a cause that failed


@dataclass(frozen=True)
class Diagnosis:
    """Ranked findings, and all that was not seen."""

    run: Run
    findings: tuple[Finding, ...]
    fixes: Mapping[int, Fix | Refusal]  # by index of the finding
    not_judged: tuple[Unjudged, ...]
    unexplained: float  # seconds of steps that no finding and no compute explains
    own_seconds: float
    own_peak_bytes: float
    account: Account | None = None  # where every second went
    memory: MemoryAccount | None = None  # what the peak of memory consists of
    failed: tuple[str, ...] = ()  # parts that could not be made, with the reason

    @property
    def explained(self) -> bool:
        """Whether time and memory have names, by findings or by the accounts."""
        in_time = self.account is None or self.account.complete
        return in_time and not self.unnamed_growth

    @property
    def unnamed_growth(self) -> float:
        """Bytes that the process gained with its steps, where no finding is about memory."""
        named = any(finding.grows or finding.frees > 0 for finding in self.findings)
        return 0.0 if self.memory is None or named else self.memory.large_growth

    @property
    def healthy(self) -> bool:
        """Nothing was found, time and memory are explained, and no signal was missing."""
        faults = any(finding.fault for finding in self.findings)
        blind = any(one.blind for one in self.not_judged)
        whole = self.explained and not blind and not self.failed
        return self.run.steps > 0 and not faults and whole
