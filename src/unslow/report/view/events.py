"""Series over the run's time beside the steps: traces with their reasons, sizes of graphs."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from unslow.facts.sessions import GraphGrew
from unslow.model import Event, Run
from unslow.report.words import Row

FUNCTIONS = 8  # functions with a series of their own, the most expensive first
TRACES = 1500  # points of one function: the recorder thins them out far below this

SAME = "the same arguments"


def traces_of(run: Run) -> list[Row]:
    """Functions that were traced, most expensive first: when, for how long, and what had changed."""
    functions: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in run.of("trace"):
        functions[str(event.data.get("name", "")), _place(event.data.get("place"))].append(event)
    rows = [_function(name, place, events) for (name, place), events in functions.items()]
    return sorted(rows, key=lambda row: -row["seconds"])[:FUNCTIONS]


def _function(name: str, place: str, events: list[Event]) -> Row:
    """Counts and sums are kept in the facts even where single traces were too many."""
    last = max(events, key=lambda event: float(event.data.get("n", 0))).data
    count = max(len(events), int(last.get("n", 0)))
    told = [event for event in events if "args" in event.data][:TRACES]
    reasons = ["first trace", *(_reason(old.data, new.data) for old, new in pairwise(told))]
    if len(reasons) > 1 and reasons[1] == SAME:
        reasons[1] = "it created variables: a first call then traces twice"
    return {
        "name": name.rpartition(".")[2] or name,
        "place": place,
        "count": count,
        "seconds": float(
            last.get("sum") or sum(float(event.data.get("took", 0)) for event in events)
        ),
        "nodes": max((int(event.data.get("nodes", 0)) for event in events), default=0),
        "points": [
            [round(event.time, 4), float(event.data.get("took", 0)), reason]
            for event, reason in zip(told, reasons, strict=False)
        ],
        "reason": reasons[-1] if len(told) > 1 else "",
    }


def _reason(old: Any, new: Any) -> str:
    """What differs between two traces of one function."""
    if old.get("function") != new.get("function"):
        return "a new function object"
    before, after = old.get("args") or {}, new.get("args") or {}
    changed = [
        f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if not changed:
        return SAME
    more = f" and {len(changed) - 2} more" if len(changed) > 2 else ""
    return "; ".join(changed[:2]) + more


def _place(place: Any) -> str:
    """Where a function's code is; inside an installed package, where in the package."""
    if not (isinstance(place, list | tuple) and len(place) >= 2 and place[0]):
        return ""
    return f"{str(place[0]).rpartition('/site-packages/')[2]}:{place[1]}"


def graphs_of(run: Run) -> list[Row]:
    """Session graphs that were seen to grow: nodes over time, and the lines that add them."""
    graphs: dict[tuple[int, int], list[GraphGrew]] = defaultdict(list)
    for look in run.facts(GraphGrew):
        graphs[look.process, look.graph].append(look)
    grown = [looks for looks in graphs.values() if len({look.nodes for look in looks}) > 1]
    grown.sort(key=lambda looks: -looks[-1].nodes)
    return [
        {
            "x": [round(look.time, 4) for look in looks],
            "nodes": [look.nodes for look in looks],
        }
        for looks in grown[:4]
    ]


def workers_of(run: Run) -> list[Row]:
    """Processes that trained, side by side; nothing where there was only one."""
    rows = []
    for process in run.processes:
        loops = [loop for loop in run.loops if loop.process == process.index]
        if not loops:
            continue
        longest = max(loops, key=lambda loop: loop.total)
        rows.append(
            {
                "process": process.index,
                "name": process.worker or f"process {process.index}",
                "host": process.host,
                "steps": sum(loop.steps for loop in loops),
                "seconds": sum(loop.total for loop in loops),
                "typical": longest.typical(),
                "loop": next(number for number, loop in enumerate(run.loops) if loop is longest),
            }
        )
    return rows if len(rows) > 1 else []
