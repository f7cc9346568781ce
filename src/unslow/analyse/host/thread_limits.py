"""What keeps TensorFlow's kernels to fewer threads than there are cores."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.machine import gained
from unslow.analyse.scopes import Sources
from unslow.facts.machine import ThreadLimit, ThreadSettings
from unslow.facts.schema import Place, Stack
from unslow.model import Location, Loop, Process, Run
from unslow.syntax.nodes import inside

_VARIABLE = "TF_NUM_INTRAOP_THREADS"


@dataclass(frozen=True)
class Limit:
    """One setting, and the line that made it."""

    threads: int
    what: str = ""  # as the user writes it
    where: Stack = ()

    @property
    def function(self) -> str:
        """The function that set it; empty where a line of the program did not."""
        return self.what.partition("(")[0].rpartition(".")[2] if self.where else ""

    def location(self, run: Run) -> Location | None:
        if self.where:
            return say.place(run, self.where[0])
        return _set_in_script(run) if self.what.startswith(_VARIABLE) else None


def cores_given(process: Process) -> int:
    """Cores that the process was given: by the machine, its affinity and its container's quota."""
    machine = process.machine
    given = (machine.get("cores"), machine.get("affinity"), machine.get("quota_cores"))
    return max(1, round(min(filter(None, given), default=1)))


def cores_in_use(run: Run, loop: Loop) -> float | None:
    """Cores that the process used while it trained; None where that was not measured."""
    user, system = gained(run, loop, "user_cpu"), gained(run, loop, "system_cpu")
    return None if user is None else user + (system or 0.0)


def thread_limits(settings: ThreadSettings, given: Sequence[ThreadLimit]) -> Iterator[Limit]:
    """Everything that limits the threads inside a kernel."""
    stacks = {limit.what: limit.stack for limit in given}  # the last one counts
    variable = settings.environment.get(_VARIABLE, "")
    if settings.intra:
        stack = stacks.get("intra", ())
        name = "set_intra_op_parallelism_threads" if stack else "intra_op_parallelism_threads"
        yield Limit(settings.intra, f"{name}({settings.intra})", stack)
    elif variable.isdigit():
        yield Limit(int(variable), f"{_VARIABLE}={variable}")
    if "affinity" in stacks and settings.affinity < settings.affinity_at_start:
        yield Limit(settings.affinity, "os.sched_setaffinity(…)", stacks["affinity"])


def _set_in_script(run: Run) -> Location | None:
    """The line of the program that sets the variable; None where it came from outside."""
    sources = Sources(run.sources)
    for file in run.sources:
        found = next(filter(_sets_variable, inside(sources.tree(file).tree, ast.expr)), None)
        if found is not None:
            return say.place(run, Place(file, found.lineno))
    return None


def _sets_variable(node: ast.expr) -> bool:
    """`os.environ[NAME] = …`, `os.environ.setdefault(NAME, …)` or `os.putenv(NAME, …)`."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=name), ctx=ast.Store()):
            return bool(name == _VARIABLE)
        case ast.Call(
            func=ast.Attribute(attr="setdefault" | "putenv"), args=[ast.Constant(value=name), *_]
        ):
            return bool(name == _VARIABLE)
    return False
