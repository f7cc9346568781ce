"""Every cause in its fence, then one ranked list: merged, measured against the run, and honest
about the rest."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from typing import TypeVar

import numpy as np

from unslow.analyse.account import account_of
from unslow.analyse.grouping import grouped
from unslow.analyse.memory.account import memory_account
from unslow.analyse.memory.process_memory import limit
from unslow.analyse.places import line_of
from unslow.analyse.stats.robust import ratio
from unslow.cause import LEAST_SHARE, CannotJudge, Cause, load
from unslow.model import Diagnosis, Evidence, Finding, Run, Unjudged
from unslow.planning import fixes_for

T = TypeVar("T")

# Of the whole run, whose training may be short: a smaller cost is no finding, unless it grows.
_LEAST_OF_RUN = 0.02
_MEMORY_WORTH = 0.1  # of the training, that memory is worth at least: it grows, or could be freed
_PEAK_WORTH = 0.5  # of the training, that the whole of the peak is worth (judgement)
# a leader's seconds: a symptom that takes more (1.2 in any example) has another reason as well
_MOST_TIMES_LEADER = 1.5
_EXPLAINED_SHARE = 0.7  # of an honest answer's seconds: costs up to this are put down to it


def diagnose(run: Run, causes: Sequence[Cause] | None = None, with_fixes: bool = True) -> Diagnosis:
    loaded, broken = load()
    judged = list(causes) if causes is not None else [cause for cause in loaded if cause.ran]
    findings: list[Finding] = []
    unjudged = list(broken)
    for cause in judged:
        missing = _missing(cause, run)
        if missing:
            unjudged.append(Unjudged(cause.id, missing, blind=not run.attached))
            continue
        try:
            findings.extend(cause.detect(run))
        except CannotJudge as reason:
            unjudged.append(Unjudged(cause.id, str(reason)))
        except Exception as problem:  # noqa: BLE001 - one that fails is named, the rest speaks
            why = f"it failed: {type(problem).__name__}: {problem}"
            unjudged.append(Unjudged(cause.id, why, blind=True))
    worth_telling = (finding for finding in fold(findings) if _worth(finding, run))
    ranked = rank(merge(worth_telling, judged), run.trained, Memory.of(run))
    failed: list[str] = []
    account = _made("the account", partial(account_of, run, ranked), failed)
    return Diagnosis(
        run=run,
        account=account,
        memory=_made("the account of memory", partial(memory_account, run), failed),
        findings=tuple(ranked),
        fixes=fixes_for(ranked, run, judged) if with_fixes else {},
        not_judged=tuple(unjudged),
        unexplained=account.unexplained if account is not None else 0.0,
        own_seconds=_own_seconds(run),
        own_peak_bytes=max(
            (process.own.get("recorder_bytes", 0.0) for process in run.processes), default=0.0
        ),
        failed=tuple(failed),
    )


def _own_seconds(run: Run) -> float:
    """What recording cost, in all processes; never more than the run took."""
    spent = sum(process.own.get("seconds", 0.0) for process in run.processes)
    most = sum(max(0.0, process.ended - process.started) for process in run.processes)
    return min(spent, most) if math.isfinite(spent) else 0.0


def _made(name: str, make: Callable[[], T], failed: list[str]) -> T | None:
    """A part of the diagnosis; one that fails is named, the rest speaks."""
    try:
        return make()
    except Exception as problem:  # noqa: BLE001 - the fence of a part
        why = f"{type(problem).__name__}: {problem}"
        failed.append(f"{name} could not be made, which is a bug in unslow: {why}")
        return None


def _missing(cause: Cause, run: Run) -> str:
    """The first probe that a cause needs and that was lost, with its reason."""
    if not run.processes:
        return "no process of the command imported TensorFlow"
    if cause.from_the_start and run.attached:
        return f"recording began while the program ran: {cause.from_the_start}"
    for need, process in product(probes_of(cause), run.processes):
        state = process.probes.get(need, "")
        if state.startswith("lost"):
            return f"the {need} probe was {state}"
    return ""


def probes_of(cause: Cause) -> tuple[str, ...]:
    """The probes without which a cause is not judged."""
    return (*cause.needs, *dict.fromkeys(kind.probe for kind in cause.reads))


def _worth(finding: Finding, run: Run) -> bool:
    whole = max(run.seconds, run.trained, 1e-9)
    has_other_cost = _is_about_memory(finding) or not finding.fault
    is_of_weight = finding.seconds >= _LEAST_OF_RUN * whole
    return has_other_cost or (is_of_weight and finding.share_of(run) >= LEAST_SHARE)


def fold(findings: Iterable[Finding]) -> list[Finding]:
    """What several processes, loops or stretches of the run do at one line is one finding, with
    the words of the one that it costs most."""
    return [_together(group) for group in grouped(findings, _where).values()]


def _where(finding: Finding) -> tuple[object, ...]:
    place = replace(finding.location, code="", function="") if finding.location else None
    return finding.cause, place, finding.in_first_step


def _together(group: Sequence[Finding]) -> Finding:
    lead = max(group, key=lambda finding: finding.seconds)
    if len(group) == 1:
        return lead
    taken: dict[str, float] = defaultdict(float)
    for finding in group:
        taken[finding.stretch] += finding.seconds
    whole = sum(taken.values())
    evidence = list(lead.evidence)
    alike = sum(finding.stretch == lead.stretch for finding in group)
    if alike > 1:
        evidence.append(Evidence("findings like it at this line, in all", alike))
    beside = whole - taken.pop(lead.stretch)
    if beside > 0:
        evidence.append(Evidence("of it in other parts of the run", beside, "s"))
    return replace(lead, seconds=whole, evidence=tuple(evidence), elsewhere=dict(taken))


def merge(findings: Iterable[Finding], causes: Sequence[Cause]) -> list[Finding]:
    """Where one cause is another's symptom, the deeper one leads and names the other.

    An honest answer ("the machine was busy") takes in only what it can well explain: clearly less
    than its own. A fault without a line ("the memory is full") takes in what is not much more than
    its own.
    """
    left = dict(enumerate(findings))
    depth = _Depth(causes, {finding.cause for finding in left.values()})
    for number, leader in sorted(left.items(), key=lambda item: -item[1].seconds):
        symptoms, lines = depth.below(leader.cause)
        if number not in left or not (symptoms or lines):
            continue
        # Two lines with one fault have its symptoms together.
        whole = sum(one.seconds for one in left.values() if one.cause == leader.cause)
        explained = [
            other
            for other, finding in left.items()
            if (finding.cause in lines and _same_line(finding, leader))
            or (finding.cause in symptoms and _is_symptom(finding, leader, whole))
        ]
        absorbed = list(map(left.pop, explained))
        names = chain.from_iterable((other.cause, *other.merged) for other in absorbed)
        left[number] = replace(leader, merged=(*leader.merged, *names))
    return list(left.values())


class _Depth:
    """Which of the causes that were found may be a symptom of which."""

    def __init__(self, causes: Sequence[Cause], found: set[str]) -> None:
        self._deeper = {cause.id: found.intersection(cause.deeper_than) for cause in causes}
        self._at_line = {cause.id: found.intersection(cause.deeper_at_line) for cause in causes}
        self._yielding = {cause.id for cause in causes if cause.yields}
        self._found = found

    def below(self, leader: str) -> tuple[Collection[str], Collection[str]]:
        """Causes that a leader explains anywhere, and those that it explains at its own line."""
        at_its_line = set() if leader in self._yielding else self._found & self._yielding
        return self._deeper.get(leader, ()), at_its_line | self._at_line.get(leader, set())


def _is_symptom(other: Finding, leader: Finding, whole: float) -> bool:
    """`whole`: seconds of all findings of the leader's cause."""
    if other.frees > 0 and not _is_about_memory(leader):
        return False  # what costs time does not explain a peak of memory
    if not leader.fault:
        return other.seconds <= _EXPLAINED_SHARE * leader.seconds and not other.grows
    if leader.location is None:
        return _EXPLAINED_SHARE * other.seconds <= leader.seconds
    return other.seconds <= _MOST_TIMES_LEADER * whole


def _is_about_memory(finding: Finding) -> bool:
    return finding.grows or finding.frees > 0


def _same_line(other: Finding, leader: Finding) -> bool:
    if other.location is None or leader.location is None:
        return False
    is_explained = leader.fault and other.seconds <= leader.seconds
    return is_explained and line_of(other.location) == line_of(leader.location)


@dataclass(frozen=True)
class Memory:
    """Bytes that a run may use, and those that it used at its peak; 0 where they are unknown."""

    limit: float = 0.0
    peak: float = 0.0

    @classmethod
    def of(cls, run: Run) -> Memory:
        limits = [limit(process) for process in run.processes]
        columns = [process.ticks.columns.get("rss") for process in run.processes]
        peaks = [float(np.nanmax(column)) for column in columns if column is not None]
        return cls(min(limits, default=0.0), max(peaks, default=0.0))


def rank(findings: Iterable[Finding], trained: float, memory: Memory) -> list[Finding]:
    """Faults before honest answers, and among them the most harmful first.

    Findings of one cause in one function count together, and stand together.
    """
    found = list(findings)
    harm = partial(_harm, trained=trained, memory=memory)
    together = {key: sum(map(harm, group)) for key, group in grouped(found, _group).items()}

    def order(finding: Finding) -> tuple[bool, float, str, float]:
        group = _group(finding)
        return not finding.fault, -together[group], str(group), -harm(finding)

    return sorted(found, key=order)


def _group(finding: Finding) -> tuple[object, ...]:
    """A cause in one function; at the top level of a file, one line."""
    where = finding.location
    if where is None:
        return finding.fault, finding.cause
    in_function = where.function not in ("", "<module>")
    return finding.fault, finding.cause, where.file, where.function if in_function else where.line


def _harm(finding: Finding, trained: float, memory: Memory) -> float:
    """Seconds lost in this run, or what its memory is worth."""
    return max(finding.seconds, _memory_worth(finding, memory) * trained)


def _memory_worth(finding: Finding, memory: Memory) -> float:
    """The share of the training that memory which grows, or could be freed, counts for.

    A run that is out of memory by the forecast's step is lost as a whole; what fills a part of the
    memory counts for that part. A part of the peak that could be freed counts for half of it.
    """
    forecast = finding.forecast
    if finding.grows and forecast is not None and forecast.bytes is not None:
        in_memory = 0.0 if forecast.on_disk else forecast.bytes
        return max(_MEMORY_WORTH, _share(in_memory, memory.limit))
    if finding.frees > 0:
        return max(_MEMORY_WORTH, _PEAK_WORTH * _share(finding.frees, memory.peak))
    return 0.0


def _share(part: float, whole: float) -> float:
    return min(1.0, ratio(part, whole))
