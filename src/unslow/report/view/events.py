"""Series over the run's time beside the steps: traces with their reasons, sizes of graphs."""

from __future__ import annotations

from itertools import pairwise

from unslow.analyse.grouping import grouped
from unslow.facts.functions import Trace
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import Process, Run
from unslow.report.words import Row

FUNCTIONS = 8  # functions with a series of their own, the most expensive first
TRACES = 1500  # points of one function: the recorder thins them out far below this

SAME = "the same arguments"


def traces_of(run: Run) -> list[Row]:
    """Functions that were traced, most expensive first: when, how long, and what had changed."""
    functions = grouped(run.facts(Trace), lambda trace: (trace.name, _place(trace.place)))
    rows = [_function(name, place, traces) for (name, place), traces in functions.items()]
    return sorted(rows, key=lambda row: -row["seconds"])[:FUNCTIONS]


def _function(name: str, place: str, traces: list[Trace]) -> Row:
    """Counts and sums are kept in the facts even where single traces were too many."""
    last = max(traces, key=lambda trace: trace.n)
    shown = traces[:TRACES]
    reasons = ["first trace", *(_reason(old, new) for old, new in pairwise(shown))]
    if len(reasons) > 1 and reasons[1] == SAME:
        reasons[1] = "it created variables: a first call then traces twice"
    return {
        "name": name.rpartition(".")[2] or name,
        "place": place,
        "count": max(len(traces), last.n),
        "seconds": last.sum or sum(trace.took for trace in traces),
        "nodes": max(trace.nodes for trace in traces),
        "points": [
            [round(trace.time, 4), trace.took, reason]
            for trace, reason in zip(shown, reasons, strict=True)
        ],
        "reason": reasons[-1] if len(shown) > 1 else "",
    }


def _reason(old: Trace, new: Trace) -> str:
    """What differs between two traces of one function."""
    if old.function != new.function:
        return "a new function object"
    names = [name for name in {**old.args, **new.args} if old.args.get(name) != new.args.get(name)]
    if not names:
        return SAME
    changed = [f"{n}: {old.args.get(n, 'none')} → {new.args.get(n, 'none')}" for n in names[:2]]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return "; ".join(changed) + more


def _place(place: Place) -> str:
    """Where a function's code is; inside an installed package, where in the package."""
    return f"{place.file.rpartition('/site-packages/')[2]}:{place.line}" if place.file else ""


def graphs_of(run: Run) -> list[Row]:
    """Session graphs that were seen to grow: nodes over time, and the lines that add them."""
    graphs = grouped(run.facts(GraphGrew), lambda reading: (reading.process, reading.graph))
    grown = [each for each in graphs.values() if len({reading.nodes for reading in each}) > 1]
    grown.sort(key=lambda readings: -readings[-1].nodes)
    return [
        {
            "x": [round(reading.time, 4) for reading in readings],
            "nodes": [reading.nodes for reading in readings],
        }
        for readings in grown[:4]
    ]


def workers_of(run: Run) -> list[Row]:
    """Processes that trained, side by side; nothing where there was only one."""
    trained = [process for process in run.processes if run.loops_of(process.index)]
    return [_worker(run, process) for process in trained] if len(trained) > 1 else []


def _worker(run: Run, process: Process) -> Row:
    loops = run.loops_of(process.index)
    longest = max(loops, key=lambda loop: loop.total)
    return {
        "process": process.index,
        "name": process.worker or f"process {process.index}",
        "host": process.host,
        "steps": sum(loop.steps for loop in loops),
        "seconds": sum(loop.total for loop in loops),
        "typical": longest.typical(),
        "loop": run.loops.index(longest),
    }
