"""TensorFlow may use fewer threads than there are cores, and its kernels take the time."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.analyse.host.step_profile import (
    READS,
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.host.thread_limits import (
    Limit,
    cores_given,
    cores_in_use,
    thread_limits,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.machine import Machine, ThreadLimit
from unslow.facts.machine import ThreadSettings as Seen
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Loop,
    Phase,
    Process,
    Refusal,
    Run,
    Safety,
)

_WORTH = 0.10  # of the training time; a judgement, since the gain is an estimate
_LONG_KERNEL = 100e-6  # seconds: a shorter one is not worth splitting among threads
_EFFICIENCY = 0.85  # of what more threads would give if they shared the work without any loss
_OTHER_CORES = 0.35  # that Python and the input may use beside the kernels


_EIGHT = Seen(affinity=8, affinity_at_start=8)


def _set(what: str, value: int) -> Placed:
    stack = stack_at(3)
    return at(0, ThreadLimit(what=what, value=value, stack=stack))


def _seen(kernel: float) -> Placed:
    op = Op("dense/MatMul", "MatMul", round(0.09 / kernel), 0.09)
    profile = StepProfile(kernels=0.095, executor=0.098, ops=(op,))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class ThreadSettings(Cause):
    """
    What happens

    The program, or the environment it was started in, limits the threads that share the work inside
    a kernel (`set_intra_op_parallelism_threads`, a session's configuration,
    `TF_NUM_INTRAOP_THREADS`) or the cores that the process may run on (`os.sched_setaffinity`) to
    fewer than the machine has.

    Why it is slow

    A large multiplication or convolution is split among these threads. With one thread it runs on
    one core while the others idle.

    The fix

    Remove the setting: TensorFlow then starts one thread per core. Limits are for machines that
    several trainings share.

    When we are wrong

    The limit may be there on purpose: for other processes, or for results that do not depend on the
    order of sums. The gain is estimated from the kernels that are long enough to be split.
    """

    title = "too few threads for the cores there are"
    reads = (Seen, ThreadLimit, Machine, *READS)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for process in run.processes:
            settings = run.facts(Seen, process.index)
            loops = run.loops_of(process.index)
            if settings and loops and not settings[-1].devices:
                longest = max(loops, key=lambda loop: loop.total)
                yield from self._judge(run, process, longest, settings[-1])

    def _judge(self, run: Run, process: Process, loop: Loop, settings: Seen) -> Iterable[Finding]:
        cores = cores_given(process)
        limits = thread_limits(settings, run.facts(ThreadLimit, process.index))
        limit = min(limits, key=lambda limit: limit.threads, default=Limit(cores))
        seen = windows(run, loop)
        if limit.threads >= cores or not seen:
            return
        used = cores_in_use(run, loop)
        if used is not None and used > limit.threads + _OTHER_CORES:
            return
        window, splittable = seen[-1], _splittable(seen[-1])
        gain = splittable / window.wall * (1 - limit.threads / cores) * _EFFICIENCY
        seconds = gain * repeated(loop)
        if seconds < _WORTH * run.trained:
            return
        evidence = [
            Evidence("threads inside a kernel", limit.threads),
            Evidence("cores", cores),
            Evidence("in kernels that can be split, per step", splittable, "s"),
            Evidence("a step", window.wall, "s"),
        ]
        if used is not None:
            evidence.insert(2, Evidence("cores in use while training", round(used, 2)))
        yield Finding(
            cause=self.id,
            location=limit.location(run),
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{limit.what} keeps the kernels to {limit.threads} of {cores} cores",
            evidence=tuple(evidence),
            advice=f"Remove {limit.what}, unless other processes need the remaining cores.",
            detail=limit,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, name = finding.place, finding.detail_of(Limit).function
        if not name.startswith(("set_", "sched_")):
            return None
        call = script.call_at(where.line, name)
        if call is None:
            return Refusal(f"`{name}` is not called on this line by that name", where)
        if not isinstance(script.parents[call], ast.Expr):
            return Refusal(f"the statement does more than call `{name}`", where)
        fixed = delete(script, where.line)
        return Fix("let TensorFlow use all cores", Safety.CLOSE, {where.file: fixed.text})


def _splittable(window: Window) -> float:
    """Seconds per step in kernels that are long enough to be shared among threads."""
    long = sum(op.seconds for op in window.ops if op.seconds / max(1, op.count) >= _LONG_KERNEL)
    return min(window.kernels, long)


def _sketch(says: str, *facts: Placed, affinity: int = 8) -> Sketch:
    machine = {"cores": 8, "affinity": affinity}
    return Sketch(says, phases={Phase.RUN: 1.0}, machine=machine, facts=facts)


_ONE_THREAD, _ONE_CORE = at(3, _EIGHT.replace(intra=1)), at(3, _EIGHT.replace(affinity=1))
ThreadSettings.FIRES = (
    _sketch(
        "one thread on eight cores, and long kernels", _set("intra", 1), _ONE_THREAD, _seen(0.002)
    ),
    _sketch("the program itself keeps to one core", _set("affinity", 1), _ONE_CORE, _seen(0.002)),
)
ThreadSettings.QUIET = (
    _sketch(
        "one thread, and kernels too short to be split", _set("intra", 1), _ONE_THREAD, _seen(2e-5)
    ),
    _sketch("nothing was set", at(3, _EIGHT), _seen(0.002)),
    _sketch(
        "whoever started the process gave it one core",
        at(3, _EIGHT.replace(affinity=1, affinity_at_start=1)),
        _seen(0.002),
        affinity=1,
    ),
)
