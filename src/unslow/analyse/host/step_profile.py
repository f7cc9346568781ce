"""What a profiler window shows of the steps: kernels, the executor, loops in the graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.host.xplane import Span, Thread, covered, read
from unslow.analyse.input.profile_iterators import ProfiledIterator, gets, profiled_iterators
from unslow.analyse.stats.robust import ratio
from unslow.facts.profiler import ProfilerWindow
from unslow.model import Loop, Phase, Run
from unslow.runfolder.layout import read_inside

if TYPE_CHECKING:
    import numpy.typing as npt

READS = (ProfilerWindow,)

_KERNEL = re.compile(r"^([^:]+):([A-Za-z_]\w*)$")  # "sequential/dense/MatMul:MatMul"
_CALLS = re.compile(r"^(\w*PartitionedCall(_\d+)?/)+")  # before the names of a graph that is called
_EAGER = "EagerLocalExecute: "
_COMPILED = re.compile(r"^EagerLocalExecute: (?P<name>__\w+?)(_\d+)?$")
_OFTEN = 4  # steps, of which a function is called in one: validation now and then is no part of one
_PROCESS = "ExecutorState::Process"
_WAITS = (
    "IteratorGetNext",
    "IteratorGetNextSync",
    "IteratorGetNextAsOptional",
    "MultiDeviceIteratorGetNextFromShard",
)
_OTHER_THREADS = ("tf_data", "tf_numa")  # those of pipelines, and those that help inside a kernel
# What a debugger puts behind each op.
_CHECKS = ("CheckNumerics", "DebugNumericSummary", "DebugIdentity")
_MOST_OPS = 60  # kernels by name that are kept, the most expensive ones
_MOST_PROFILES = 64  # kept in memory: a process has at most two


@dataclass(frozen=True, slots=True)
class Op:
    """A kernel by its name in the graph."""

    name: str
    kind: str
    count: int
    seconds: float


@dataclass(frozen=True)
class StepProfile:
    """Totals of a profile over its whole window, in seconds."""

    kernels: float = 0.0  # time in which at least one kernel ran
    executor: float = 0.0  # the same for the graph's executor: kernels and what lies between them
    waits: float = 0.0  # waiting for data
    ops: tuple[Op, ...] = ()  # the most expensive first
    iterations: int = 0  # of the longest loop in the graph
    looping: float = 0.0  # the executor's time in iterations of loops
    looping_kernels: float = 0.0
    checks: float = 0.0  # the executor's time for kernels that a debugger puts behind the others
    iterators: tuple[ProfiledIterator, ...] = ()
    calls: tuple[int, ...] = ()  # of each compiled function that Python called


class SketchedWindow(ProfilerWindow):
    """A window of a hand-made run, which has no file to read its profile from."""

    profile: StepProfile


@dataclass(frozen=True)
class Window:
    """A few whole steps of a loop; all seconds are per step, as in `StepProfile`."""

    steps: int
    step: int  # steps before it
    wall: float
    kernels: float
    executor: float
    waits: float
    ops: tuple[Op, ...]
    iterations: int
    looping: float
    looping_kernels: float
    checks: float
    functions: int  # different compiled functions that Python calls in a step
    process: int


def profile_of(run: Run, window: ProfilerWindow) -> StepProfile | None:
    """The profile of a window, read when first needed; None where it is missing or damaged."""
    if isinstance(window, SketchedWindow):
        return window.profile
    return _read_profile(run.folder, window.file) if window.file else None


@lru_cache(_MOST_PROFILES)
def _read_profile(folder: str, file: str) -> StepProfile | None:
    try:
        return step_profile(read(read_inside(folder, file)))
    except (OSError, ValueError):
        return None


def whole_windows(run: Run, loop: Loop) -> Iterator[tuple[ProfilerWindow, StepProfile]]:
    """The windows of whole steps that were opened during a loop, with their profiles."""
    opened = run.facts_during(loop, ProfilerWindow)
    for window in (window for window in opened if window.steps and window.whole):
        profile = profile_of(run, window)
        if profile is not None:
            yield window, profile


def windows(run: Run, loop: Loop) -> list[Window]:
    """The same, per step. One that holds a step that traced is as long as a typical one."""
    found = []
    for window, profile in whole_windows(run, loop):
        each = _per_step(window, profile)
        is_traced = _traced(loop) & (loop.end > window.time - window.wall)
        if (is_traced & (loop.end - loop.seconds < window.time)).any():
            each = replace(each, wall=min(each.wall, loop.typical()))
        found.append(each)
    return found


def repeated(loop: Loop) -> float:
    """Seconds of a loop without what windows never see: tracing, and what the first call of a new
    graph prepares. The first step, and any that traced, counts as a typical one.
    """
    if len(loop.seconds) < 2:
        return loop.total
    traced = _traced(loop)
    traced[0] = True
    alone = traced & (loop.count == 1)
    beyond = np.maximum(0.0, loop.seconds[alone] - loop.typical()).sum()
    merged = traced & ~alone
    beyond += (loop.phases[merged, Phase.TRACE] * loop.count[merged]).sum()
    return loop.total - float(beyond)


def _traced(loop: Loop) -> npt.NDArray[np.bool_]:
    """The rows in which a function was traced."""
    return np.asarray(loop.phases[:, Phase.TRACE] > 0)


def updating(window: Window, scope: str) -> float:
    """Seconds per step in kernels of an optimizer, by its name; its share where kernels overlap."""
    if not scope:
        return 0.0
    named = re.compile(rf"(^|/){re.escape(scope)}(_\d+)?/", re.IGNORECASE)
    return _share(window, [op for op in window.ops if named.search(op.name)])


def kernels_named(window: Window, names: Sequence[str]) -> float:
    """Seconds per step in kernels of ops with these names in their graph; a share as above."""
    found = [op for op in window.ops if _CALLS.sub("", op.name) in names]
    return _share(window, found)


def _share(window: Window, ops: Sequence[Op]) -> float:
    """Seconds per step of some kernels, fewer where kernels overlap."""
    spent = sum(op.seconds for op in ops)
    return spent * min(1.0, window.kernels / max(1e-12, sum(op.seconds for op in window.ops)))


def _per_step(window: ProfilerWindow, profile: StepProfile) -> Window:
    steps = window.steps
    return Window(
        steps=steps,
        step=window.step,
        wall=window.wall / steps,
        kernels=profile.kernels / steps,
        executor=profile.executor / steps,
        waits=profile.waits / steps,
        ops=tuple(
            Op(op.name, op.kind, round(op.count / steps), op.seconds / steps) for op in profile.ops
        ),
        iterations=profile.iterations,
        looping=profile.looping / steps,
        looping_kernels=profile.looping_kernels / steps,
        checks=profile.checks / steps,
        functions=sum(_OFTEN * count >= steps for count in profile.calls),
        process=window.process,
    )


@dataclass(frozen=True)
class _Kernel:
    span: Span
    name: str
    kind: str

    @property
    def in_loop(self) -> bool:
        return "/while" in self.name or self.name.startswith("while")


def step_profile(threads: Iterable[Thread]) -> StepProfile:
    threads = list(threads)
    ours = [thread for thread in threads if not thread.name.startswith(_OTHER_THREADS)]
    work, waits = _worked_and_waited(ours)
    spans = list(chain.from_iterable(thread.spans for thread in ours))
    processing = [span for span in spans if span.name == _PROCESS]
    looping = [span for span in processing if span.iteration > 0]
    busy = [kernel.span for kernel in work]
    executor = covered([*processing, *busy])
    return StepProfile(
        kernels=covered(busy),
        executor=executor,
        waits=covered([*gets(threads), *waits]),
        ops=_most_expensive(work),
        iterations=max((span.iteration for span in looping), default=0),
        looping=covered(looping),
        looping_kernels=covered(kernel.span for kernel in work if kernel.in_loop),
        checks=executor * _share_of_checks(work),
        iterators=profiled_iterators(threads, busy),
        calls=_calls(spans),
    )


def _calls(spans: Iterable[Span]) -> tuple[int, ...]:
    """How often each compiled function was called; a new trace of one is no other function."""
    calls = filter(None, (_COMPILED.match(span.name) for span in spans))
    return tuple(Counter(call["name"] for call in calls).values())


def _worked_and_waited(threads: Iterable[Thread]) -> tuple[list[_Kernel], list[Span]]:
    """Kernels that computed, and the spans of those that only waited."""
    kernels = list(chain.from_iterable(map(_kernels, threads)))
    work = [kernel for kernel in kernels if kernel.kind not in _WAITS]
    waits = [kernel.span for kernel in kernels if kernel.kind in _WAITS]
    return work, waits


def _share_of_checks(work: Sequence[_Kernel]) -> float:
    """The share of kernels that only check values."""
    checks = [kernel for kernel in work if kernel.kind.startswith(_CHECKS)]
    return ratio(_length(checks), _length(work))


def _most_expensive(kernels: Iterable[_Kernel]) -> tuple[Op, ...]:
    by_name = grouped(kernels, lambda kernel: (kernel.name, kernel.kind))
    ops = [Op(*name, len(found), _length(found)) for name, found in by_name.items()]
    return tuple(sorted(ops, key=lambda op: -op.seconds)[:_MOST_OPS])


def _length(kernels: Iterable[_Kernel]) -> float:
    return sum(kernel.span.length for kernel in kernels)


def _kernels(thread: Thread) -> Iterator[_Kernel]:
    """Kernels of graphs and ops that Python ran one by one; the outer of two that are nested."""
    end = 0.0
    for span in thread.spans:
        kernel = _kernel(span)
        if kernel is not None and span.start >= end and span.length > 0:
            end = span.start + span.length
            yield kernel


def _kernel(span: Span) -> _Kernel | None:
    found = _KERNEL.match(span.name)
    if found is not None:
        return _Kernel(span, *found.groups())
    if span.name.startswith(_EAGER) and not span.name.startswith(f"{_EAGER}__"):
        name = span.name[len(_EAGER) :]
        return _Kernel(span, name, name)
    return None
