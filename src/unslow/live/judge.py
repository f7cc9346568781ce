"""Diagnoses a run while it runs; a finding is certain once two diagnoses in a row have made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unslow.errors import UnslowError
from unslow.facts.json_object import JsonObject
from unslow.model import Finding, line_text

FIRST = 4.0  # seconds of watching before the first diagnosis
FURTHER = 1.6  # factor by which the wait grows from one diagnosis to the next
SHARE = 0.008  # of one core, at most
AHEAD = 60.0  # seconds whose share may be spent in advance, so that first findings come early
MOST = 64 << 20  # bytes of a folder above which a diagnosis would take too much memory

Key = tuple[str, str]


@dataclass
class Judge:
    """Decides when a diagnosis is due, and which findings have been made twice."""

    wait: float = FIRST
    due: float = FIRST
    certain: list[JsonObject] = field(default_factory=list)
    growth: dict[str, float] = field(default_factory=dict)  # bytes per 1,000 steps, by process
    judged: int = 0
    too_large: bool = False
    spent: float = 0.0  # processor seconds of all diagnoses
    closed: bool = False  # the run has ended, and this was its last diagnosis
    _before: frozenset[Key] = frozenset()

    def is_due(self, watched: float, size: int, over: bool = False) -> bool:
        """Whether to diagnose now: by seconds watched, size of the folder, and the run's end."""
        self.too_large = size > MOST
        return (over or watched >= self.due) and not self.closed and not self.too_large

    def took(self, watched: float, cost: float) -> None:
        """Note the cost of a diagnosis: the more they cost, the later the next one comes."""
        self.spent += cost
        self.wait *= FURTHER
        self.due = max(watched + self.wait, self.spent / SHARE - AHEAD)

    def compare(self, found: Sequence[tuple[Finding, JsonObject]], last: bool = False) -> None:
        """Keep what was found this time and the time before; at the end of a run once is enough."""
        keys = frozenset(key_of(finding) for finding, _ in found)
        self.certain = [
            plain for finding, plain in found if last or key_of(finding) in self._before
        ]
        self._before = keys
        self.closed = last
        self.judged += 1


def key_of(finding: Finding) -> Key:
    """The same cause at the same line is the same finding, whatever its numbers are."""
    return finding.cause, line_text(finding.location)


def judge(judge: Judge, folder: str, last: bool = False) -> None:
    """One diagnosis of what is in the folder now; none where its files do not fit together yet."""
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose
    from unslow.report.view import clean
    from unslow.report.view.findings import finding_of
    from unslow.report.view.machine import memory_of

    try:
        run = load(folder)
    except (UnslowError, OSError, ValueError):
        return
    findings = diagnose(run, with_fixes=False).findings
    judge.compare([(each, clean(finding_of(run, each, None, None))) for each in findings], last)
    names = {process.index: f"{process.host}-{process.pid}" for process in run.processes}
    judge.growth = {
        names[row["process"]]: float(row["growth_per_1000_steps"])
        for row in memory_of(run)
        if row["growth_per_1000_steps"]
    }
