"""What a window of TensorFlow's profiler saw of the steps: kernels, the executor around them, loops in the graph."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unslow.analyse.host.xplane import Span, Thread, covered, read
from unslow.analyse.input.profile_iterators import gets, pipes
from unslow.model import Event, Loop, Run

_KERNEL = re.compile(r"^([^:]+):([A-Za-z_]\w*)$")  # "sequential/dense/MatMul:MatMul"
_EAGER = "EagerLocalExecute: "
_PROCESS = "ExecutorState::Process"
_WAITS = (
    "IteratorGetNext",
    "IteratorGetNextSync",
    "IteratorGetNextAsOptional",
    "MultiDeviceIteratorGetNextFromShard",
)
_OTHERS = ("tf_data", "tf_numa")  # threads of pipelines, and those that help inside a kernel
_CHECKS = (
    "CheckNumerics",
    "DebugNumericSummary",
    "DebugIdentity",
)  # what a debugger puts behind each op
_KEPT = 60  # ops by name that are kept, the dearest ones


@dataclass(frozen=True, slots=True)
class Op:
    """A kernel by its name in the graph, over the whole window."""

    name: str
    kind: str
    count: int
    seconds: float


@dataclass(frozen=True)
class Window:
    """A few whole steps of a loop; all seconds are per step."""

    steps: int
    step: int  # steps before it
    wall: float
    kernels: float  # time in which at least one kernel ran
    executor: float  # time in which the graph's executor was at work: kernels and what it does between them
    waits: float  # time in what waits for data
    ops: tuple[Op, ...]  # the dearest kernels; seconds per step, count per step rounded
    iterations: int  # of the longest loop in the graph
    looping: float  # time of the executor in iterations of loops
    looping_kernels: float  # of it, in kernels
    checks: float = 0.0  # of the executor's time: the share of the kernels that a debugger puts behind the others
    process: int = 0


def windows(run: Run, loop: Loop) -> list[Window]:
    """The windows that were opened during a loop and hold whole steps."""
    found = []
    for event in run.of("window"):
        data = event.data
        if (
            loop.holds(event)
            and data.get("steps")
            and "kernels" in data
            and data.get("whole", True)
        ):
            found.append(_window(event, data))
    return found


def repeated(loop: Loop) -> float:
    """Seconds of a loop without what its first step took more than the others: a window saw only such as these."""
    if len(loop.seconds) < 2 or loop.count[0] != 1:
        return loop.total
    return loop.total - max(0.0, float(loop.seconds[0]) - loop.typical())


def updating(window: Window, scope: str) -> float:
    """Seconds per step of the kernels that an optimizer made, which carry its name; those that run at once share."""
    if not scope:
        return 0.0
    named = re.compile(rf"(^|/){re.escape(scope)}(_\d+)?/", re.IGNORECASE)
    spent = sum(op.seconds for op in window.ops if named.search(op.name))
    return spent * min(1.0, window.kernels / max(1e-12, sum(op.seconds for op in window.ops)))


def _window(event: Event, data: Mapping[str, Any]) -> Window:
    steps = int(data["steps"])
    ops = tuple(
        Op(str(name), str(kind), round(count / steps), s / steps)
        for name, kind, count, s in data["ops"]
    )
    loops = data.get("loops") or {}
    return Window(
        steps=steps,
        step=int(data.get("step", 0)),
        wall=float(data["wall"]) / steps,
        kernels=float(data["kernels"]) / steps,
        executor=float(data.get("executor", 0.0)) / steps,
        waits=float(data.get("waits", 0.0)) / steps,
        ops=ops,
        iterations=int(loops.get("iterations", 0)),
        looping=float(loops.get("seconds", 0.0)) / steps,
        looping_kernels=float(loops.get("kernels", 0.0)) / steps,
        checks=float(data.get("checks", 0.0)) / steps,
        process=event.process,
    )


def seen(folder: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a window with what its profile says; unchanged where the profile is missing or damaged."""
    file = data.get("file")
    try:
        return {**data, **summary(read((Path(folder) / file).read_bytes()))} if file else dict(data)
    except (OSError, ValueError) as problem:
        return {**data, "unread": str(problem)}


def summary(threads: Iterable[Thread]) -> dict[str, Any]:
    """Totals over the window."""
    threads = list(threads)
    ours = [thread for thread in threads if not thread.name.startswith(_OTHERS)]
    kernels = [(span, name, kind) for thread in ours for span, name, kind in _kernels(thread)]
    processing = [span for thread in ours for span in thread.spans if span.name == _PROCESS]
    waits = [*gets(threads), *(span for span, _, kind in kernels if kind in _WAITS)]
    work = [(span, name, kind) for span, name, kind in kernels if kind not in _WAITS]
    looping = [span for span in processing if span.iteration > 0]
    ops: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for span, name, kind in work:
        ops[name, kind][0] += 1
        ops[name, kind][1] += span.length
    dearest = sorted(ops.items(), key=lambda item: -item[1][1])[:_KEPT]
    busy = [span for span, _, _ in work]
    executor = covered([*processing, *busy])
    checks = sum(span.length for span, _, kind in work if kind.startswith(_CHECKS))
    return {
        "kernels": covered(busy),
        "executor": executor,
        "waits": covered(waits),
        "ops": [[name, kind, int(count), seconds] for (name, kind), (count, seconds) in dearest],
        "loops": {
            "iterations": max((span.iteration for span in looping), default=0),
            "seconds": covered(looping),
            "kernels": covered(
                span for span, name, _ in work if "/while" in name or name.startswith("while")
            ),
        },
        "checks": executor * checks / sum(span.length for span in busy) if checks else 0.0,
        "pipes": pipes(threads, busy),
    }


def _kernels(thread: Thread) -> Iterator[tuple[Span, str, str]]:
    """Kernels of graphs, and ops that Python ran one by one; the outer of two that are nested."""
    end = 0.0
    for span in thread.spans:
        found = _KERNEL.match(span.name)
        if found is not None:
            name, kind = found.groups()
        elif span.name.startswith(_EAGER) and not span.name.startswith(f"{_EAGER}__"):
            name = kind = span.name[len(_EAGER) :]
        else:
            continue
        if span.start >= end and span.length > 0:
            end = span.start + span.length
            yield span, name, kind
