"""TensorFlow was told to use fewer threads than there are cores, and its kernels are what costs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from unslow.analyse import wording as say
from unslow.analyse.host.step_profile import (
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.sketches.sketch import Fact, Placed, Sketch, at, fact
from unslow.cause import Cause
from unslow.facts.profiler import ProfilerWindow
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


def _are(intra: int, **more: Any) -> Fact:
    return fact(
        "settings", 3, **{"intra": intra, "inter": 0, "affinity": 8, "affinity_at_start": 8, **more}
    )


def _set(what: str, value: int) -> Fact:
    return fact("setting", 0, what=what, value=value, stack=[["train.py", 3, "<module>"]])


def _seen(kernel: float) -> Placed:
    op = Op("dense/MatMul", "MatMul", round(0.09 / kernel), 0.09)
    profile = StepProfile(kernels=0.095, executor=0.098, ops=(op,))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class ThreadSettings(Cause):
    """
    What happens

    The program, or the environment it was started in, limits the threads that share the work inside a
    kernel (`set_intra_op_parallelism_threads`, a session's configuration, `TF_NUM_INTRAOP_THREADS`) or the cores
    that the process may run on (`os.sched_setaffinity`) to fewer than the machine has.

    Why it is slow

    A large multiplication or convolution is split among these threads. With one thread it runs on one core
    while the others idle.

    The fix

    Leave the setting out: TensorFlow then starts one thread per core. Limits belong where several trainings
    share a machine.

    When we are wrong

    The limit may be there on purpose, for the sake of other processes or of results that do not depend on
    the order of sums. What is to be gained is estimated from the kernels that are long enough to be split.
    """

    title = "too few threads for the cores there are"
    needs = ("settings",)
    reads = (ProfilerWindow,)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for process in run.processes:
            facts = [event.data for event in run.of("settings") if event.process == process.index]
            loops = [loop for loop in run.loops if loop.process == process.index]
            if facts and loops and not facts[-1].get("devices"):
                yield from self._judge(
                    run, process, max(loops, key=lambda loop: loop.total), facts[-1]
                )

    def _judge(
        self, run: Run, process: Process, loop: Loop, data: Mapping[str, Any]
    ) -> Iterable[Finding]:
        cores = _cores(process)
        given = [event.data for event in run.of("setting") if event.process == process.index]
        threads, what, stack = _limit(data, given, cores)
        looked = windows(run, loop)
        used = _used(process, loop)
        if threads >= cores or not looked or (used is not None and used > threads + _SLACK):
            return
        gain = _splittable(looked[-1]) / looked[-1].wall * (1 - threads / cores) * _GAIN
        seconds = gain * repeated(loop)
        if seconds < _WORTH * run.trained:
            return
        where = (
            say.place(run, stack[0])
            if stack
            else _set_in_script(run)
            if what.startswith(_VARIABLE)
            else None
        )
        yield Finding(
            cause=self.id,
            location=where,
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{what} keeps the kernels to {threads} of {cores} cores",
            evidence=(
                Evidence("threads inside a kernel", threads),
                Evidence("cores", cores),
                *(
                    (Evidence("cores in use while training", round(used, 2)),)
                    if used is not None
                    else ()
                ),
                Evidence("in kernels that can be split, per step", _splittable(looked[-1]), "s"),
                Evidence("a step", looked[-1].wall, "s"),
            ),
            advice=f"Take {what} out, unless other processes need the remaining cores.",
            facts={"call": what.partition("(")[0].rpartition(".")[2] if stack else ""},
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, name = finding.location, str(finding.facts["call"])
        if where is None or not name.startswith(("set_", "sched_")):
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
            facts=[_set("intra", 1), _are(1), _seen(0.002)],
        ),
        Sketch(
            "the program itself keeps to one core",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_set("affinity", 1), _are(0, affinity=1), _seen(0.002)],
        ),
    )
    QUIET = (
        Sketch(
            "one thread, and short kernels that nobody would split",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_set("intra", 1), _are(1), _seen(0.00002)],
        ),
        Sketch(
            "nothing was set",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 8},
            facts=[_are(0), _seen(0.002)],
        ),
        Sketch(
            "whoever started the process gave it one core",
            phases={Phase.RUN: 1.0},
            machine={"cores": 8, "affinity": 1},
            facts=[_are(0, affinity=1, affinity_at_start=1), _seen(0.002)],
        ),
    )


def _cores(process: Process) -> int:
    """Cores that the process was given: by the machine, its affinity at the start, and its container's quota."""
    machine = process.machine
    given = [machine.get("cores") or 1, machine.get("affinity") or machine.get("cores") or 1]
    if machine.get("quota_cores"):
        given.append(max(1, round(machine["quota_cores"])))
    return int(min(given))


def _limit(
    data: Mapping[str, Any], given: list[Mapping[str, Any]], cores: int
) -> tuple[int, str, list[Any]]:
    """The narrowest limit: threads, what set it as the user writes it, and from where."""
    environment = data.get("environment") or {}
    found: list[tuple[int, str, list[Any]]] = [(cores, "", [])]
    if data.get("intra"):
        stack: list[Any] = next(
            (entry["stack"] for entry in reversed(given) if entry["what"] == "intra"), []
        )
        name = "set_intra_op_parallelism_threads" if stack else "intra_op_parallelism_threads"
        found.append((int(data["intra"]), f"{name}({data['intra']})", stack))
    elif str(environment.get(_VARIABLE, "")).isdigit():
        number = environment[_VARIABLE]
        found.append((int(number), f"{_VARIABLE}={number}", []))
    moved = [entry for entry in given if entry["what"] == "affinity"]
    if moved and int(data["affinity"]) < int(data["affinity_at_start"]):
        found.append((int(data["affinity"]), "os.sched_setaffinity(…)", moved[-1]["stack"]))
    return min(found, key=lambda entry: entry[0])


def _set_in_script(run: Run) -> Location | None:
    """The line of the program that sets the variable of the environment; None where it came from outside."""
    for file, text in run.sources.items():
        try:
            line = next((node.lineno for node in ast.walk(ast.parse(text)) if _sets(node)), 0)  # type: ignore[attr-defined]
        except (SyntaxError, ValueError):
            continue
        if line:
            return say.place(run, [file, line, ""])
    return None


def _sets(node: ast.AST) -> bool:
    """`os.environ[NAME] = …`, `os.environ.setdefault(NAME, …)`, `os.putenv(NAME, …)`; to read it is no setting."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        named: ast.AST = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        named = node.args[0] if node.func.attr in ("setdefault", "putenv") else node
    else:
        return False
    return isinstance(named, ast.Constant) and named.value == _VARIABLE


def _used(process: Process, loop: Loop) -> float | None:
    """Cores that the process used while it trained; None where it was not seen."""
    columns = process.ticks.columns
    if "user_cpu" not in columns or len(process.ticks.time) < 2:
        return None
    inside = (process.ticks.time >= loop.start) & (process.ticks.time <= loop.stop)
    time, cpu = (
        process.ticks.time[inside],
        columns["user_cpu"][inside] + columns["system_cpu"][inside],
    )
    return (
        float((cpu[-1] - cpu[0]) / (time[-1] - time[0]))
        if len(time) > 1 and time[-1] > time[0]
        else None
    )


def _splittable(window: Window) -> float:
    """Seconds per step in kernels that are long enough to be shared among threads."""
    long = sum(op.seconds for op in window.ops if op.seconds / max(1, op.count) >= _LONG)
    return min(window.kernels, long)
