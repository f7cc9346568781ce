"""Hand-made runs for tests and documentation: a few numbers in, a whole Run out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from unslow.analyse.stats.trend import trend_of
from unslow.facts.schema import Fact, Place, Stack
from unslow.facts.table import FactTable
from unslow.model import Location, Loop, Phase, Process, Run, Sample, Ticks

_PROBES = (
    "functions",
    "sessions",
    "eager",
    "keras",
    "input",
    "tensors",
    "files",
    "memory",
    "gc",
    "machine",
)


@dataclass(frozen=True)
class Placed:
    """A fact of a sketch, placed at a step of its loop; `step` 0 is before the loop."""

    step: int
    fact: Fact


def at(step: int, seen: Fact) -> Placed:
    return Placed(step, seen)


def stack_at(line: int, function: str = "<module>") -> Stack:
    """A stack of one line of the sketched script."""
    return (Place("train.py", line, function),)


def sampled(line: int, leaf: str, early: int, late: int, phase: Phase = Phase.OTHER) -> Sample:
    """Samples at a line, all of them in steps, in the first half of the run and the second."""
    count = early + late
    return Sample((Location("train.py", line),), leaf, 0, True, early, late, count, phase)


@dataclass(frozen=True)
class Sketch:
    """A run of one loop: step seconds, phases as shares of a step, facts, samples and ticks."""

    says: str
    seconds: Sequence[float] = (0.01,) * 100
    phases: Mapping[Phase, float | Sequence[float]] = field(default_factory=dict)
    facts: Sequence[Placed] = ()
    samples: Sequence[Sample] = ()
    ticks: Mapping[str, Sequence[float]] = field(
        default_factory=dict
    )  # column → values spread over the run
    elements: Sequence[float] | None = None  # numbers in each step's batch
    values: Sequence[float] | None = None  # the scalar fetched in each step
    style: str = "eager"
    trains: bool = True
    line: int = 10
    update: int = 12
    source: str = ""
    before: float = 1.0  # seconds from the start of the process to the first step
    after: float = 0.0  # and from the last step to its end
    machine: Mapping[str, float] = field(
        default_factory=lambda: {"cores": 2, "memory_bytes": 16 << 30}
    )
    lost: Mapping[str, str] = field(default_factory=dict)  # probes that were lost: name → why
    versions: Mapping[str, str] = field(
        default_factory=lambda: {"tensorflow": "2.21.0", "keras": "3.15.0"}
    )

    def run(self) -> Run:
        seconds = np.asarray(self.seconds, dtype=float)
        end = self.before + np.cumsum(seconds)
        total = self.before + float(seconds.sum()) + self.after
        loops = (self._loop(seconds, end),) if len(seconds) else ()
        probes = {
            name: f"lost: {self.lost[name]}" if name in self.lost else "armed" for name in _PROBES
        }
        process = Process(
            index=0,
            pid=100,
            host="host",
            worker="",
            argv=("train.py",),
            versions=self.versions,
            started=0.0,
            ended=total,
            how="exit",
            probes=probes,
            own={"seconds": 0.0},
            ticks=self._ticks(total),
            machine=self.machine,
        )
        return Run(
            folder="sketch",
            command=("python", "train.py"),
            cwd="/w",
            started=0.0,
            seconds=total,
            ended="exit 0",
            processes=(process,),
            loops=loops,
            samples=tuple(self.samples),
            sources={"train.py": self.source},
            sampling_hz=50.0,
            table=FactTable(facts=self._placed(seconds, end)),
        )

    def _loop(self, seconds: np.ndarray, end: np.ndarray) -> Loop:
        table = np.zeros((len(seconds), len(Phase)))
        for phase, share in self.phases.items():
            table[:, phase] = seconds * np.asarray(share, dtype=float)
        table[:, Phase.OTHER] = seconds - table.sum(axis=1)
        return Loop(
            location=Location("train.py", self.line),
            update=Location("train.py", self.update),
            style=self.style,
            process=0,
            thread=1,
            end=end,
            count=np.ones(len(seconds), dtype=np.int64),
            seconds=seconds,
            low=seconds,
            high=seconds,
            phases=table,
            trend=trend_of(seconds),
            elements=None if self.elements is None else np.asarray(self.elements, dtype=float),
            values=None if self.values is None else np.asarray(self.values, dtype=float),
            trains=self.trains,
        )

    def _when(self, step: int, seconds: np.ndarray, end: np.ndarray) -> float:
        if step <= 0 or not len(seconds):
            return self.before / 2
        if step > len(seconds) and self.after:
            return float(end[-1]) + self.after / 2
        row = min(step, len(seconds)) - 1
        return float(end[row] - seconds[row] / 2)

    def _placed(self, seconds: np.ndarray, end: np.ndarray) -> list[Fact]:
        timed = [
            placed.fact.replace(time=self._when(placed.step, seconds, end)) for placed in self.facts
        ]
        return sorted(timed, key=lambda fact: fact.time)

    def _ticks(self, total: float) -> Ticks:
        length = max((len(values) for values in self.ticks.values()), default=0)
        columns = {name: np.asarray(values, dtype=float) for name, values in self.ticks.items()}
        return Ticks(np.linspace(0.0, total, length), columns)
