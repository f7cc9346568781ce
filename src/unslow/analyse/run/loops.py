"""Updates to steps: which of them belong to one loop, which leads, and what each step took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unslow.analyse.stats.trend import trend_of
from unslow.model import Location, Loop, Phase
from unslow.runfolder.layout import ProcessLog
from unslow.runfolder.steplog import rows_of

Names = Callable[[str], str]


@dataclass(frozen=True)
class _Site:
    """One place at which weights change, as the recorder described it."""

    id: int
    kind: str
    owner: int
    name: str
    thread: int
    stack: tuple[tuple[str, int, str], ...]  # innermost first
    loop: tuple[str, int, int] | None  # file, first and last line of the innermost loop around it
    at: int  # which frame of the stack stands in the loop
    fit: tuple[str, int, str] | None
    trains: bool = True  # else nothing trained so far, and this is a call that the program repeats

    @property
    def rank(self) -> int:
        return 0 if self.trains else 1 + (self.kind == "data")

    @property
    def line(self) -> tuple[str, int]:
        """The user's line at which the loop body leads to the update."""
        return self.stack[0][:2] if self.stack else ("", 0)


def loops_of(process: int, log: ProcessLog, start: int, names: Names) -> Iterable[Loop]:
    """The loops of one process, each with its steps."""
    rows = rows_of(log.rows)
    sites = {line["id"]: _site(line) for line in log.lines if line["k"] == "site"}
    if not len(rows) or not sites:
        return
    rows, sites = _told(rows, sites)
    for thread in sorted({site.thread for site in sites.values()}):
        mine = {number: site for number, site in sites.items() if site.thread == thread}
        chosen = rows[np.isin(rows["site"], list(mine))]
        chosen = chosen[np.argsort(chosen["end"], kind="stable")]
        found = [
            (any(mine[number].loop or mine[number].fit for number in group), loop)
            for group in _groups(mine, chosen)
            for loop in _loop(process, log, group, mine, chosen, start, names)
        ]
        trained = max((loop.steps for _, loop in found), default=0)
        # A call or two outside any loop, beside a real one, only warm it up.
        yield from (loop for repeats, loop in found if repeats or loop.steps > 3 or trained <= 3)


def _told(rows: Any, sites: dict[int, _Site]) -> tuple[Any, dict[int, _Site]]:
    """Rows and sites of the training alone; where nothing trains, of what is repeated, batches that it takes left out.

    What is left out belongs to the step that follows it in its thread.
    """
    by_rank = [[n for n, site in sites.items() if site.rank == rank] for rank in range(3)]
    chosen = next(group for group in by_rank if group)
    if len(chosen) == len(sites):
        return rows, sites
    kept = []
    for thread in {sites[number].thread for number in chosen}:
        mine = rows[
            np.isin(
                rows["site"], [number for number, site in sites.items() if site.thread == thread]
            )
        ]
        mine = mine[np.argsort(mine["end"], kind="stable")]
        stay = np.isin(mine["site"], chosen)
        left = mine[stay].copy()
        into = np.searchsorted(np.flatnonzero(stay), np.flatnonzero(~stay))
        followed = into < len(left)
        np.add.at(left["total"], into[followed], mine["total"][~stay][followed])
        np.add.at(left["phases"], into[followed], mine["phases"][~stay][followed])
        kept.append(left)
    return np.concatenate(kept), {number: sites[number] for number in chosen}


def _site(line: dict[str, Any]) -> _Site:
    stack = tuple(
        (str(file), int(number), str(function))
        for file, number, function in line.get("stack") or ()
    )
    loop = line.get("loop")
    fit = line.get("fit")
    return _Site(
        id=int(line["id"]),
        kind=str(line["kind"]),
        owner=int(line.get("owner") or 0),
        name=str(line.get("name", "")),
        thread=int(line.get("thread") or 0),
        stack=stack,
        loop=(stack[loop[0]][0], int(loop[1]), int(loop[2]))
        if loop and loop[0] < len(stack)
        else None,
        at=int(loop[0]) if loop else 0,
        fit=(str(fit[0]), int(fit[1]), str(fit[2])) if fit else None,
        trains=bool(line.get("trains", True)),
    )


def _groups(sites: dict[int, _Site], rows: Any) -> list[list[int]]:
    """Sites that update in one and the same loop: equal loops, or one inside the other where they alternate."""
    numbers, first = np.unique(rows["site"], return_index=True)
    seen = [int(number) for number in numbers[np.argsort(first)]]
    keys: dict[Any, list[int]] = defaultdict(list)
    for number in seen:
        site = sites[number]
        keys[("fit", *site.fit) if site.fit else site.loop or ("line", *site.line)].append(number)
    groups = list(keys.items())
    merged: list[list[int]] = []
    taken: set[int] = set()
    for index, (key, members) in enumerate(groups):
        if index in taken:
            continue
        for other in range(index + 1, len(groups)):
            if (
                other not in taken
                and _around(key, groups[other][0])
                and _alternate(members, groups[other][1], rows)
            ):
                members = members + groups[other][1]
                taken.add(other)
        merged.append(members)
    return merged


def _around(one: Any, other: Any) -> bool:
    """Whether two loops of one file enclose each other."""
    if len(one) != 3 or len(other) != 3 or one[0] != other[0] or "fit" in (one[0], other[0]):
        return False
    if not isinstance(one[2], int) or not isinstance(other[2], int):
        return False
    return (one[1] <= other[1] and other[2] <= one[2]) or (
        other[1] <= one[1] and one[2] <= other[2]
    )


def _alternate(one: list[int], other: list[int], rows: Any) -> bool:
    """Whether two sets of sites take turns all along, rather than one after the other."""
    marks = np.isin(rows["site"], one).astype(int)[np.isin(rows["site"], one + other)]
    turns = int(np.count_nonzero(np.diff(marks)))
    return turns >= min(int(marks.sum()), int(len(marks) - marks.sum()))


def _leaders(group: list[int], sites: dict[int, _Site], rows: Any) -> list[int]:
    """The sites whose updates end a step: the first one seen, and others at its line that replace it.

    A loop that makes a new optimizer or function each time updates at one line through ever new
    owners; a loop over two optimizers updates at one line through the same two in turn.
    """
    first = group[0]
    same_line = [number for number in group if sites[number].line == sites[first].line]
    if len(same_line) == 1:
        return [first]
    counts = {number: int(rows["count"][rows["site"] == number].sum()) for number in same_line}
    spans = {number: rows["end"][rows["site"] == number] for number in same_line}
    end = spans[first][-1]
    return [
        n
        for n in same_line
        if n == first or spans[n][0] > end or (counts[first] == 1 and counts[n] >= 1)
    ]


def _loop(
    process: int,
    log: ProcessLog,
    group: list[int],
    sites: dict[int, _Site],
    rows: Any,
    start: int,
    names: Names,
) -> Iterable[Loop]:
    leaders = _leaders(group, sites, rows)
    inside = rows[np.isin(rows["site"], group)]
    leads = np.isin(inside["site"], leaders)
    if not leads.any():
        return
    # What other sites of the loop did since the last step belongs to the step that the leader ends.
    step = np.concatenate(([0], np.cumsum(leads)[:-1]))
    kept = int(leads.sum())
    step = np.minimum(step, kept - 1)
    total = np.bincount(step, weights=inside["total"].astype(float), minlength=kept)
    before = rows["end"][rows["end"] < inside["end"][0]]
    entered = _entered(
        sites[leaders[0]], log, int(before[-1]) if len(before) else 0, int(inside["end"][0])
    )
    phases = np.stack(
        [
            np.bincount(step, weights=inside["phases"][:, p].astype(float), minlength=kept)
            for p in range(len(Phase))
        ],
        axis=1,
    )
    lead = inside[leads]
    _trim_first(total, phases, float(lead["end"][0] - entered) if entered else 0.0)
    count = lead["count"].astype(np.int64)
    single = len(group) == len(leaders)
    seconds = total / count / 1e9
    site = sites[leaders[0]]
    yield Loop(
        location=_location(site, names),
        update=Location(names(site.line[0]), site.line[1], _function(site)),
        style="keras"
        if site.fit
        else {"optimizer": "eager", "assign": "eager"}.get(site.kind, site.kind),
        process=process,
        thread=site.thread,
        end=(lead["end"] - start) / 1e9,
        count=count,
        seconds=seconds,
        low=_ends(lead["low"], seconds, single),
        high=_ends(lead["high"], seconds, single),
        phases=phases / count[:, None] / 1e9,
        trend=trend_of(seconds, count),
        updates_per_step=float(inside["count"].sum() / max(1, count.sum())),
        group=max(1, int(lead["group"].max())),
        elements=lead["elements"] / count,
        values=lead["value"].copy(),
        stack=tuple(Location(names(file), line, function) for file, line, function in site.stack),
        trains=site.trains,
    )


def _entered(site: _Site, log: ProcessLog, after: int, before: int) -> int:
    """When the loop was entered: the call of fit, or the first sample that found the thread in its lines.

    Without either, the first step is taken to begin with the update itself: 0 means unknown.
    """
    for line in log.lines:
        moment = int(line["t"])
        if not after < moment < before:
            continue
        if site.fit and line["k"] == "fit" and tuple((line.get("stack") or [[]])[0]) == site.fit:
            return moment
        if (
            site.loop
            and not site.fit
            and line["k"] == "stack"
            and _within(line.get("stack") or (), site.loop)
        ):
            return moment
    return 0


def _within(stack: Iterable[Any], loop: tuple[str, int, int]) -> bool:
    return any(file == loop[0] and loop[1] <= line <= loop[2] for file, line, _ in stack)


def _trim_first(total: Any, phases: Any, longest: float) -> None:
    """Take out of the first step what happened before its loop: the imports, the model, the data."""
    known = float(phases[0].sum() - phases[0][Phase.OTHER])
    wanted = min(float(total[0]), longest if longest > 0 else known)
    if wanted < known:
        phases[0] *= wanted / known
    phases[0][Phase.OTHER] = 0.0
    phases[0][Phase.OTHER] = max(0.0, wanted - float(phases[0].sum()))
    total[0] = wanted


def _ends(column: Any, seconds: Any, single: bool) -> Any:
    """Shortest or longest step of each row; the first row's is its trimmed step."""
    if not single:
        return seconds
    found = column / 1e9
    found[0] = seconds[0]
    return found


def _function(site: _Site) -> str:
    return site.stack[0][2] if site.stack else ""


def _location(site: _Site, names: Names) -> Location:
    if site.fit:
        return Location(names(site.fit[0]), site.fit[1], site.fit[2])
    if site.loop:
        return Location(names(site.loop[0]), site.loop[1], site.stack[site.at][2])
    return Location(names(site.line[0]), site.line[1], _function(site))
