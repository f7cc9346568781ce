"""TensorFlow may use fewer threads than there are cores, and its kernels take the time."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.machine import gained
from unslow.analyse.host.step_profile import (
    READS,
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.machine import Machine, ThreadLimit
from unslow.facts.machine import ThreadSettings as Seen
from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Phase,
    Process,
    Refusal,
    Run,
    Safety,
)

_VARIABLE = "TF_NUM_INTRAOP_THREADS"
_WORTH = 0.10  # of the training time
_LONG = 100e-6  # seconds: a shorter kernel is not worth splitting among threads
_GAIN = 0.85  # of what twice the threads would give if they shared the work without any loss
_SLACK = 0.35  # cores that Python and the input may use beside the kernels


@dataclass(frozen=True)
class _Limit:
    """What keeps the kernels to fewer threads."""

    threads: int
    what: str = ""  # as the user writes it
    where: Stack = ()  # the line that set it

    @property
    def function(self) -> str:
        """The function that set it; empty where a line of the program did not."""
        return self.what.partition("(")[0].rpartition(".")[2] if self.where else ""


_EIGHT = Seen(affinity=8, affinity_at_start=8)


def _set(what: str, value: int) -> Placed:
    stack = (Place("train.py", 3, "<module>"),)
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

    Leave the setting out: TensorFlow then starts one thread per core. Limits belong where several
    trainings share a machine.

    When we are wrong

    The limit may be there on purpose, for the sake of other processes or of results that do not
    depend on the order of sums. What is to be gained is estimated from the kernels that are long
    enough to be split.
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
        cores = _cores(process)
        limits = _limits(settings, run.facts(ThreadLimit, process.index))
        limit = min(limits, key=lambda limit: limit.threads, default=_Limit(cores))
        seen = windows(run, loop)
        if limit.threads >= cores or not seen:
            return
        used = _cores_in_use(process, loop)
        if used is not None and used > limit.threads + _SLACK:
            return
        window, splittable = seen[-1], _splittable(seen[-1])
        gain = splittable / window.wall * (1 - limit.threads / cores) * _GAIN
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
            location=_where(run, limit),
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{limit.what} keeps the kernels to {limit.threads} of {cores} cores",
            evidence=tuple(evidence),
            advice=f"Remove {limit.what}, unless other processes need the remaining cores.",
            detail=limit,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, limit = finding.location, finding.detail
        if where is None or not isinstance(limit, _Limit):
            return None
        name = limit.function
        if not name.startswith(("set_", "sched_")):
            return None
        if script.call_at(where.line, name) is None:
            return Refusal(f"`{name}` is not called on this line by that name", where)
        fixed = delete(script, where.line)
        return Fix("let TensorFlow use all cores", Safety.CLOSE, {where.file: fixed.text})

    FIRES = (
        Sketch(
            "one thread on eight cores, and long kernels",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_set("intra", 1), at(3, _EIGHT.replace(intra=1)), _seen(0.002)],
        ),
        Sketch(
            "the program itself keeps to one core",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_set("affinity", 1), at(3, _EIGHT.replace(affinity=1)), _seen(0.002)],
        ),
    )
    QUIET = (
        Sketch(
            "one thread, and short kernels that nobody would split",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_set("intra", 1), at(3, _EIGHT.replace(intra=1)), _seen(0.00002)],
        ),
        Sketch(
            "nothing was set",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[at(3, _EIGHT), _seen(0.002)],
        ),
        Sketch(
            "whoever started the process gave it one core",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 1},
            facts=[at(3, _EIGHT.replace(affinity=1, affinity_at_start=1)), _seen(0.002)],
        ),
    )


def _cores(process: Process) -> int:
    """Cores that the process was given: by the machine, its affinity and its container's quota."""
    machine = process.machine
    quota = max(1, round(machine.get("quota_cores") or 0))
    cores = machine.get("cores") or 1
    given = (cores, machine.get("affinity"), quota if machine.get("quota_cores") else None)
    return int(min(filter(None, given)))


def _limits(settings: Seen, given: Sequence[ThreadLimit]) -> Iterable[_Limit]:
    """Everything that limits the threads inside a kernel."""
    stacks = {limit.what: limit.stack for limit in given}  # the last one counts
    variable = settings.environment.get(_VARIABLE, "")
    if settings.intra:
        stack = stacks.get("intra", ())
        name = "set_intra_op_parallelism_threads" if stack else "intra_op_parallelism_threads"
        yield _Limit(settings.intra, f"{name}({settings.intra})", stack)
    elif variable.isdigit():
        yield _Limit(int(variable), f"{_VARIABLE}={variable}")
    if "affinity" in stacks and settings.affinity < settings.affinity_at_start:
        yield _Limit(settings.affinity, "os.sched_setaffinity(…)", stacks["affinity"])


def _where(run: Run, limit: _Limit) -> Location | None:
    if limit.where:
        return say.place(run, limit.where[0])
    return _set_in_script(run) if limit.what.startswith(_VARIABLE) else None


def _set_in_script(run: Run) -> Location | None:
    """The line of the program that sets the variable; None where it came from outside."""
    for file, text in run.sources.items():
        try:
            nodes = ast.walk(ast.parse(text))
        except (SyntaxError, ValueError):
            continue
        for node in nodes:
            if isinstance(node, ast.expr) and _sets(node):
                return say.place(run, Place(file, node.lineno))
    return None


def _sets(node: ast.expr) -> bool:
    """`os.environ[NAME] = …`, `os.environ.setdefault(NAME, …)` or `os.putenv(NAME, …)`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and _is_variable(node.slice)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    is_setter = node.func.attr in ("setdefault", "putenv")
    return is_setter and any(map(_is_variable, node.args[:1]))


def _is_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == _VARIABLE


def _cores_in_use(process: Process, loop: Loop) -> float | None:
    """Cores that the process used while it trained; None where that was not measured."""
    user, system = gained(process, loop, "user_cpu"), gained(process, loop, "system_cpu")
    return None if user is None else user + (system or 0.0)


def _splittable(window: Window) -> float:
    """Seconds per step in kernels that are long enough to be shared among threads."""
    long = sum(op.seconds for op in window.ops if op.seconds / max(1, op.count) >= _LONG)
    return min(window.kernels, long)
