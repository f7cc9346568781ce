"""Scores what unslow says about a field program against what the expert says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.field.measure import Turn, report, turn
from bench.field.programs import Fault, Program

_IDLE = ("thread-settings", "checkpoint-cost")  # cores without a thread, waits for the disk


@dataclass(frozen=True)
class Score:
    """One program: what was said first, whether it is right, and the figures beside it."""

    name: str
    healthy: bool
    memory: bool
    faults: int
    expected: str  # the expert's first cause and line
    said: str  # unslow's first cause and line; empty for none
    right_cause: bool
    right_line: bool
    false_alarms: tuple[str, ...]  # causes that were said and should not have been
    found: int  # of the expert's faults, those that stand in any place
    steps_right: bool
    unexplained: float  # share of the run
    own_seconds: float  # as reported
    reported_seconds: float  # of the recorded process
    peak_explained: float | None  # share of the peak that the account of memory names
    recorded_seconds: float
    recorded_cpu: float
    bare_seconds: float
    bare_cpu: float
    twin_seconds: float | None
    twin_cpu: float | None
    bare_peak: int
    twin_peak: int | None
    claimed: float  # seconds that all findings which match a fault claim together
    claimed_bytes: float  # and what they would free of the peak
    has_diff: bool  # the first finding has an automatic diff
    twin_lines: int

    @property
    def right(self) -> bool:
        return self.right_cause and self.right_line and not self.false_alarms

    @property
    def own_measured(self) -> float:
        """What recording took in CPU seconds, beside the bare run of the same turn."""
        return self.recorded_cpu - self.bare_cpu

    @property
    def own_share(self) -> float:
        return self.own_seconds / max(self.reported_seconds, 1e-9)

    @property
    def saved(self) -> float | None:
        """Seconds that the expert's change saves.

        By CPU time, since wall time tells more about other programs; but by wall time where the
        fault is that the processor has nothing to do.
        """
        if self.twin_cpu is None or self.twin_seconds is None:
            return None
        if self.expected.partition(" ")[0] in _IDLE:
            return self.bare_seconds - self.twin_seconds
        return self.bare_cpu - self.twin_cpu

    @property
    def saved_share(self) -> float | None:
        if self.saved is None:
            return None
        is_idle = self.expected.partition(" ")[0] in _IDLE
        return self.saved / max(self.bare_seconds if is_idle else self.bare_cpu, 1e-9)

    @property
    def claimed_share(self) -> float:
        return self.claimed / max(self.reported_seconds, 1e-9)

    @property
    def claim(self) -> float | None:
        """What is claimed over what the expert's change saves, each as a share of its own run."""
        if not self.saved_share or not self.claimed:
            return None
        return self.claimed_share / self.saved_share

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def score(program: Program) -> Score:
    """Record, judge and score one program."""
    measured = turn(program)
    return judged(program, report(measured.folder), measured)


def judged(program: Program, said: Mapping[str, Any], measured: Turn) -> Score:
    plain, twin = measured.bare, measured.twin
    findings = [finding for finding in said["findings"] if finding["fault"]]
    matched = [_matching(program, finding, any_line=False) for finding in findings]
    first = findings[0] if findings else None
    expected = program.faults[0] if program.faults else None
    named = _matching(program, first, any_line=True) if first else None
    claims = [one for one in findings if _matching(program, one, any_line=True)]
    return Score(
        name=program.name,
        healthy=program.healthy,
        memory=program.about_memory,
        faults=len(program.faults),
        expected=f"{expected.causes[0]} {expected.lines[0]}" if expected else "",
        said=f"{first['cause']} {_where(first)}" if first else "",
        right_cause=first is None if expected is None else named is not None,
        right_line=first is None if expected is None else bool(matched and matched[0]),
        false_alarms=tuple(_false_alarms(program, findings)),
        found=len({id(fault) for fault in matched if fault}),
        steps_right=program.expert["steps"] in (None, said["steps"]),
        unexplained=said["unexplained_seconds"] / max(said["seconds"], 1e-9),
        own_seconds=said["own_cost"]["seconds"],
        reported_seconds=said["seconds"],
        peak_explained=_peak_explained(said["memory_account"]),
        recorded_seconds=measured.recorded.seconds,
        recorded_cpu=measured.recorded.cpu,
        bare_cpu=plain.cpu,
        bare_seconds=plain.seconds,
        twin_seconds=twin.seconds if twin else None,
        twin_cpu=twin.cpu if twin else None,
        bare_peak=plain.peak_bytes,
        twin_peak=twin.peak_bytes if twin else None,
        claimed=_claimed(said, claims),
        claimed_bytes=max((finding["frees_bytes"] or 0.0 for finding in claims), default=0.0),
        has_diff=bool(first and first.get("fix")),
        twin_lines=program.twin_lines,
    )


def _claimed(said: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of some findings as the account has them, in which no second counts twice."""
    seconds = sum(float(finding["seconds"]) for finding in claims)
    if said["account"] is None:
        return seconds
    causes = {finding["cause"] for finding in claims}
    parts = [part for stretch in said["account"]["stretches"] for part in stretch["parts"]]
    return min(seconds, sum(float(part["seconds"]) for part in parts if part["cause"] in causes))


def _peak_explained(account: Mapping[str, Any] | None) -> float | None:
    if account is None or not account["peak_bytes"]:
        return None
    return 1.0 - float(account["unexplained_bytes"]) / float(account["peak_bytes"])


def _where(finding: Mapping[str, Any]) -> str:
    location = finding["location"]
    return f"{location['file']}:{location['line']}" if location else "-"


def _matching(program: Program, finding: Mapping[str, Any], any_line: bool) -> Fault | None:
    """The expert's fault that a finding names, with its line or at any line."""
    where = _where(finding)
    for fault in program.faults:
        if finding["cause"] not in fault.causes:
            continue
        if any_line or (where == "-" and not fault.lines):
            return fault
        if where != "-" and any(program.same_statement(where, line) for line in fault.lines):
            return fault
    return None


def _false_alarms(program: Program, findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Faults named that the expert calls wrong, or any in a healthy program."""
    named = [finding["cause"] for finding in findings]
    allowed = program.tolerated.union(*(fault.causes for fault in program.faults))
    if program.healthy:
        return [cause for cause in named if cause not in allowed]
    return [cause for cause in named if cause in program.wrong and cause not in allowed]
