"""Updates to steps: which of them belong to one loop, which leads, and what each step took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.places import function_of, locations
from unslow.analyse.run.recorded import Recorded
from unslow.analyse.stats.trend import trend_of
from unslow.facts.keras import Fit
from unslow.facts.process import Site, StackSeen
from unslow.facts.schema import Place, Stack
from unslow.model import Location, Loop, Phase
from unslow.syntax.tree import tree_of

_NANOSECONDS = 1e9
_WARM_UP = 3  # steps: a few calls outside any loop, beside a real one, only warm it up
# Updates in a function's own loop for each update of the loop that calls it. More of them are a
# training of their own: the recorder lets another update lead the steps after as many.
_MOST_IN_A_TURN = 64


@dataclass(frozen=True)
class _Lines:
    """A loop of the user's code."""

    file: str
    first: int
    last: int

    def holds(self, stack: Stack) -> bool:
        return any(at.file == self.file and self.first <= at.line <= self.last for at in stack)

    def encloses(self, other: _Lines) -> bool:
        same = self.file == other.file
        return same and self.first <= other.first and other.last <= self.last


# What the sites of one loop have in common: its lines, the call of fit(), or the update itself.
_Key = _Lines | tuple[str, Place]


# The user's files by name; read only where a loop updates at several lines.
Sources = Callable[[], Mapping[str, str]]


def loops_of(process: Recorded, sources: Sources = dict) -> Iterator[Loop]:
    """The loops of one process, each with its steps."""
    sites = {site.id: site for site in process.of(Site)}
    rows = _at(process.rows, sites)
    if not len(rows):
        return
    rows, sites = _training_only(rows, sites)
    for thread in sorted({site.thread for site in sites.values()}):
        mine = {number: site for number, site in sites.items() if site.thread == thread}
        yield from _loops_of_thread(process, mine, rows, sources)


def _loops_of_thread(
    process: Recorded, sites: dict[int, Site], rows: np.ndarray, sources: Sources
) -> Iterator[Loop]:
    rows = _in_order(_at(rows, sites))
    groups = _groups(sites, rows)
    loops = []
    for group in groups:
        leaders = _leaders(group, sites, rows)
        if len(leaders) < len(group):
            leaders += _alternatives(leaders, group, sites, sources())
        loops.append(_loop(process, group, leaders, sites, rows))
    is_all_short = max((loop.steps for loop in loops), default=0) <= _WARM_UP
    for group, loop in zip(groups, loops, strict=True):
        repeats = any(sites[number].loop or sites[number].fit for number in group)
        if repeats or is_all_short or loop.steps > _WARM_UP:
            yield loop


def _at(rows: np.ndarray, sites: Iterable[int]) -> np.ndarray:
    """The rows of some sites."""
    return rows[np.isin(rows["site"], list(sites))]


def _in_order(rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(rows["end"], kind="stable")]


def _rank(site: Site) -> int:
    """Training leads, then what is repeated, then batches that are taken."""
    if site.trains:
        return 0
    return 2 if site.style == "data" else 1


def _training_only(rows: np.ndarray, sites: dict[int, Site]) -> tuple[np.ndarray, dict[int, Site]]:
    """Rows and sites of the first rank that there is; what is left out belongs to the next step."""
    best = min(map(_rank, sites.values()))
    chosen = {number: site for number, site in sites.items() if _rank(site) == best}
    if len(chosen) == len(sites):
        return rows, sites
    kept = []
    for thread in {site.thread for site in chosen.values()}:
        numbers = [number for number, site in sites.items() if site.thread == thread]
        mine = _in_order(_at(rows, numbers))
        stay = np.isin(mine["site"], list(chosen))
        left = mine[stay].copy()
        into = np.searchsorted(np.flatnonzero(stay), np.flatnonzero(~stay))
        followed = into < len(left)
        np.add.at(left["total"], into[followed], mine["total"][~stay][followed])
        np.add.at(left["phases"], into[followed], mine["phases"][~stay][followed])
        kept.append(left)
    return np.concatenate(kept), chosen


def _line(site: Site) -> Place:
    """The user's line at which the loop body leads to the update."""
    return site.stack[0] if site.stack else Place("", 0)


def _lines_around(site: Site) -> _Lines | None:
    """The innermost loop around the update."""
    if site.loop is None or not 0 <= site.loop[0] < len(site.stack):
        return None
    depth, first, last = site.loop
    return _Lines(site.stack[depth].file, first, last)


def _key(site: Site) -> _Key:
    if site.fit is not None:
        return "fit", site.fit
    line = _line(site)
    return _lines_around(site) or ("line", Place(line.file, line.line))


def _groups(sites: dict[int, Site], rows: np.ndarray) -> list[list[int]]:
    """Sites that update in one loop: equal loops, or one inside the other where they alternate.

    Inside means written inside, or in a function that is called from inside.
    """
    numbers, first = np.unique(rows["site"], return_index=True)
    in_order = numbers[np.argsort(first)].tolist()
    left = list(grouped(in_order, lambda number: _key(sites[number])).items())
    merged: list[list[int]] = []
    while left:
        key, members = left.pop(0)
        for other_key, others in list(left):
            is_inside = _enclose(key, other_key) or (
                _calls(key, other_key, [sites[each] for each in others])
                and _in_a_turn(members, others, rows)
            )
            if is_inside and _alternate(members, others, rows):
                members = members + others
                left.remove((other_key, others))
        merged.append(members)
    return merged


def _enclose(one: _Key, other: _Key) -> bool:
    """Whether two loops of one file enclose each other."""
    match one, other:
        case _Lines(), _Lines():
            return one.encloses(other) or other.encloses(one)
    return False


def _calls(loop: _Key, other: _Key, sites: list[Site]) -> bool:
    """Whether the lines of a loop call a function whose own loop updates at some sites."""
    match loop, other:
        case _Lines(), _Lines():
            return all(loop.holds(site.stack) for site in sites)
    return False


def _in_a_turn(one: list[int], other: list[int], rows: np.ndarray) -> bool:
    """Whether updates of some sites are few for each update of others."""
    updates, others = (int(_at(rows, each)["count"].sum()) for each in (one, other))
    return others <= _MOST_IN_A_TURN * updates


def _alternate(one: list[int], other: list[int], rows: np.ndarray) -> bool:
    """Whether two sets of sites take turns all along, rather than one after the other."""
    marks = np.isin(_at(rows, one + other)["site"], one).astype(int)
    turns = int(np.count_nonzero(np.diff(marks)))
    return turns >= min(int(marks.sum()), int(len(marks) - marks.sum()))


def _leaders(group: list[int], sites: dict[int, Site], rows: np.ndarray) -> list[int]:
    """The sites whose updates end a step: the first one, and others at its line that replace it.

    A loop that makes a new optimizer or function each time updates at one line through ever new
    owners; a loop over two optimizers updates at one line through the same two in turn.
    """
    first = group[0]
    place = _line(sites[first])[:2]
    same_line = [number for number in group[1:] if _line(sites[number])[:2] == place]
    own = rows[rows["site"] == first]
    if int(own["count"].sum()) == 1:
        return [first, *same_line]
    end = own["end"][-1]
    starts = {number: rows["end"][rows["site"] == number][0] for number in same_line}
    return [first, *(number for number in same_line if starts[number] > end)]


def _alternatives(
    leaders: list[int], group: list[int], sites: dict[int, Site], sources: Mapping[str, str]
) -> list[int]:
    """Sites of which a turn runs one instead of the leader: in the other branch of an `if`."""
    line = _line(sites[leaders[0]])
    tree = tree_of(sources.get(line.file, ""))
    lines = {number: _line(sites[number]) for number in group}
    near = [number for number in group if function_of(lines[number]) == function_of(line)]
    return [each for each in near if tree.exclude_each_other(line.line, lines[each].line)]


def _loop(
    process: Recorded,
    group: list[int],
    leaders: list[int],
    sites: dict[int, Site],
    rows: np.ndarray,
) -> Loop:
    site = sites[leaders[0]]
    inside = _at(rows, group)
    leads = np.isin(inside["site"], leaders)
    lead = inside[leads]
    total, phases = _per_step(inside, leads)
    before = rows["end"][rows["end"] < inside["end"][0]]
    after = process.seconds(before[-1]) if len(before) else -np.inf
    entered = _entered(process, site, after, process.seconds(inside["end"][0]))
    longest = process.seconds(lead["end"][0]) - entered if entered is not None else 0.0
    _trim_first(total, phases, longest * _NANOSECONDS)
    count = lead["count"].astype(np.int64)
    seconds = total / count / _NANOSECONDS
    single = len(group) == len(leaders)
    line = _line(site)
    return Loop(
        location=_location(site),
        update=Location(line.file, line.line, line.function),
        style=_style(site),
        process=process.index,
        thread=site.thread,
        end=process.seconds(lead["end"]),
        count=count,
        seconds=seconds,
        low=_ends(lead["low"], seconds, single),
        high=_ends(lead["high"], seconds, single),
        phases=phases / count[:, None] / _NANOSECONDS,
        trend=trend_of(seconds, count),
        updates_per_step=float(inside["count"].sum() / max(1, count.sum())),
        group=max(1, int(lead["group"].max())),
        elements=lead["elements"] / count,
        values=lead["value"].copy(),
        stack=locations(site.stack),
        trains=site.trains,
    )


def _per_step(inside: np.ndarray, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nanoseconds of each step, whole and by phase.

    What other sites of the loop did since the last step belongs to the step that the leader ends.
    """
    kept = int(leads.sum())
    step = np.minimum(np.concatenate(([0], np.cumsum(leads)[:-1])), kept - 1)
    total = np.bincount(step, weights=inside["total"].astype(float), minlength=kept)
    columns = [
        np.bincount(step, weights=inside["phases"][:, phase].astype(float), minlength=kept)
        for phase in range(len(Phase))
    ]
    return total, np.stack(columns, axis=1)


def _style(site: Site) -> str:
    if site.fit is not None:
        return "keras"
    return "eager" if site.style in ("optimizer", "assign") else site.style


def _entered(process: Recorded, site: Site, after: float, before: float) -> float | None:
    """When the loop was entered: the call of fit, or the first sample inside its lines.

    Without either, the first step is taken to begin with the update itself.
    """
    lines = _lines_around(site)
    if site.fit is not None:
        moments = (fit.time for fit in process.of(Fit) if fit.stack[:1] == (site.fit,))
    elif lines is not None:
        seen = process.of(StackSeen)
        moments = (stack.time for stack in seen if lines.holds(stack.stack))
    else:
        return None
    return next((moment for moment in moments if after < moment < before), None)


def _trim_first(total: np.ndarray, phases: np.ndarray, longest: float) -> None:
    """Cut off what the first step holds from before its loop: imports, model, data."""
    known = float(phases[0].sum() - phases[0][Phase.OTHER])
    wanted = min(float(total[0]), longest if longest > 0 else known)
    if wanted < known:
        phases[0] *= wanted / known
    phases[0][Phase.OTHER] = 0.0
    phases[0][Phase.OTHER] = max(0.0, wanted - float(phases[0].sum()))
    total[0] = wanted


def _ends(column: np.ndarray, seconds: np.ndarray, single: bool) -> np.ndarray:
    """Shortest or longest step of each row; the first row's is its trimmed step."""
    if not single:
        return seconds
    found = column / _NANOSECONDS
    found[0] = seconds[0]
    return found


def _location(site: Site) -> Location:
    if site.fit is not None:
        return Location(*site.fit)
    lines = _lines_around(site)
    if lines is not None and site.loop is not None:
        return Location(lines.file, lines.first, site.stack[site.loop[0]].function)
    return Location(*_line(site))
