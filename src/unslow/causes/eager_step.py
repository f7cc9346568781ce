"""A training step that runs op by op."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse.graphs.eager_cost import EagerCost, eager_cost
from unslow.analyse.memory.created_objects import made_often
from unslow.analyse.scopes import Sources
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.eager import EagerOps
from unslow.facts.memory import Made
from unslow.facts.schema import Place
from unslow.model import Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

FEWEST_OPS = 10  # fewer ops in a step are not worth a function
WORTH = (
    1.25  # times as fast when compiled: less is within what a loaded machine does to the estimate
)
_SIZES = 3
_STYLES = ("eager",)


@dataclass(frozen=True)
class _EagerStep:
    """What the fix needs to know."""

    updates: tuple[Location, ...]  # the line that updates the weights, and its callers
    loop: Location
    varies: bool  # shapes change between steps
    random: str  # an op that draws random numbers, if there is one
    makes: tuple[Location, ...]  # lines that make variables in every step


class EagerStep(Cause):
    """
    What happens
    The forward pass, the gradients and the update of the weights run op by op: Python asks for each
    op, and waits until TensorFlow has taken it.

    Why it is slow
    Asking for an op costs tens of microseconds of Python and of bookkeeping, whatever it computes;
    an optimizer alone asks for a dozen per variable. Small ops cost far more to ask for than to
    compute. A compiled step asks once.

    The fix
    Put `@tf.function` on the function that makes one step: forward, gradients and update. Python in
    it then runs only when it is traced; prints, `.numpy()`, lists that grow and counters belong
    outside.

    When we are wrong
    Where the ops are large, the time is theirs and compiling gives little: the numbers say so. A
    step that must stay eager (a debugger, Python libraries in the middle of it) can still compile
    its parts.
    """

    title = "the training step runs op by op"
    reads = (EagerOps, Made)
    deeper_than = ("tiny-batches", "compute-bound", "host-sync")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            cost = eager_cost(run, loop) if loop.style in _STYLES else None
            if cost is None or cost.ops < FEWEST_OPS:
                continue
            where, function = _where(run, loop, cost)
            inside = cost.within(_share(loop, cost, where, function))
            if inside.gain >= WORTH:
                yield self._finding(run, loop, inside, where, function)

    def _finding(
        self, run: Run, loop: Loop, cost: EagerCost, where: Location, function: str
    ) -> Finding:
        what = f"{function}()" if function else "the body of the loop"
        title = (
            f"{what} runs op by op: {cost.ops} ops in a step of {_ms(cost.step)}, "
            f"of which {_ms(cost.kernels)} compute"
        )
        return Finding(
            cause=self.id,
            title=title,
            location=where,
            seconds=cost.saved,
            evidence=tuple(evidence(cost)),
            detail=_EagerStep(
                updates=loop.stack or (loop.update,),
                loop=loop.location,
                varies=_varies(loop),
                random=cost.random,
                makes=tuple(line.location for line in made_often(run, loop)),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.compile_step import compile_step

        step = finding.detail
        assert isinstance(step, _EagerStep)
        update = next((frame.line for frame in step.updates if frame.file == script.path), None)
        if update is None:
            return Refusal("the line that updates the weights is in another file", finding.location)
        if step.makes:
            return Refusal(
                f"it makes variables in every step, which a graph cannot: see {step.makes[0]}",
                finding.location,
            )
        line = step.loop.line if step.loop.file == script.path else None
        edited = compile_step(script, update, line, step.varies)
        if edited.text == script.text:
            return Refusal("it is compiled already, and something keeps it eager", finding.location)
        title, files = "compile the step with `tf.function`", {script.path: edited.text}
        if not step.random:
            return Fix(title, Safety.CLOSE, files)
        note = (
            "A compiled step draws other random numbers than an eager one with the same seed "
            f"({step.random})."
        )
        return Fix(title, Safety.REVIEW, files, note)


def evidence(cost: EagerCost) -> Iterable[Evidence]:
    """What was measured of an eager step, and what follows for a compiled one."""
    yield Evidence("ops per step", cost.ops)
    yield Evidence("most of them", ", ".join(f"{count} {name}" for name, count in cost.top[:4]))
    yield Evidence("step", cost.step, "s")
    yield Evidence("of it in asking for ops and running them", cost.eager, "s")
    yield Evidence("of that computing", cost.kernels, "s")
    yield Evidence("least cost of asking for one op", cost.floor, "s")
    yield Evidence("expected of a compiled step", cost.step - cost.eager + cost.compiled, "s")


def _varies(loop: Loop) -> bool:
    """Whether batches have more sizes than a full one and a last, smaller one."""
    return (
        loop.elements is not None
        and len({float(size) for size in loop.elements if size > 0}) > _SIZES
    )


def _where(run: Run, loop: Loop, cost: EagerCost) -> tuple[Location, str]:
    """The function that makes the step, or the line in the loop where it begins."""
    frames = loop.stack or (loop.update,)
    around = next(
        (index for index, frame in enumerate(frames) if _holds_loop(frame, loop)), len(frames) - 1
    )
    tape = cost.tape
    for frame in frames[:around]:
        if not tape or any(
            (frame.file, frame.function) == (other.file, other.function) for other in tape
        ):
            return _definition(run, frame), frame.function
    if not tape:
        return loop.update, ""
    begun = next((frame for frame in tape if _holds_loop(frame, loop)), tape[0])
    return begun, ""


def _share(loop: Loop, cost: EagerCost, where: Location, function: str) -> float:
    """The share of the ops that the step itself asks for, rather than what else is in the loop."""
    total = sum(count for _, count in cost.lines)
    if function:
        inside = [
            count
            for stack, count in cost.lines
            if any(_is_in(frame, where, function) for frame in stack)
        ]
    else:
        lines = range(
            where.line,
            max(frame.line for frame in (*loop.stack, loop.update) if _holds_loop(frame, loop)) + 1,
        )
        inside = [
            count
            for stack, count in cost.lines
            if any(_holds_loop(frame, loop) and frame.line in lines for frame in stack)
        ]
    return sum(inside) / total if total and inside else 1.0


def _is_in(frame: Location, where: Location, function: str) -> bool:
    return (frame.file, frame.function) == (where.file, function)


def _holds_loop(frame: Location, loop: Loop) -> bool:
    return (frame.file, frame.function) == (loop.location.file, loop.location.function)


def _definition(run: Run, frame: Location) -> Location:
    """The `def` line of the function that a frame is in; the frame's own line where the source is
    not known."""
    found = [
        node
        for node in Sources(run.sources).around(frame)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == frame.function
    ]
    return Location(frame.file, found[-1].lineno, frame.function) if found else frame


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _window(step: int, ops: int, kernels: float) -> Placed:
    cost = EagerOps(step=step, ops=ops, took=0.004, floor=2e-5, kernels=kernels, wall=0.01)
    tape = (Place("train.py", 11, "<module>"),)
    return at(step, cost.replace(top=(("Mul", ops),), tape=tape))


_STEP = {Phase.RUN: 0.8}
EagerStep.FIRES = (
    Sketch(
        "many small ops",
        facts=[_window(step, 200, 0.001) for step in (4, 8, 16, 32, 64)],
        phases=_STEP,
    ),
)
EagerStep.QUIET = (
    Sketch(
        "a few large ops",
        facts=[_window(step, 30, 0.0099) for step in (4, 8, 16, 32, 64)],
        phases=_STEP,
    ),
    Sketch(
        "a compiled step",
        facts=[_window(step, 4, 0.0) for step in (4, 8, 16, 32, 64)],
        style="function",
        phases=_STEP,
    ),
)
