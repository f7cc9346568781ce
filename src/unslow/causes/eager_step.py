"""A training step that runs op by op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse.graphs.eager_cost import EagerCost, eager_cost
from unslow.analyse.graphs.step_code import StepCode, step_code
from unslow.analyse.memory.created_objects import made_often
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.eager import EagerOps
from unslow.facts.memory import Made
from unslow.fix.edit.script import Script
from unslow.fix.moves.compile_step import compile_step
from unslow.model import Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run, Safety

FEWEST_OPS = 10  # in a step; a judgement: fewer are not worth a function
WORTH = 1.25  # times as fast when compiled; a judgement: a loaded machine blurs the estimate
_USUAL_SIZES = 3  # of batches: a full one, a smaller last one, and one more


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
    The forward pass, the gradients and the weight update run op by op: Python dispatches each op
    separately.

    Why it is slow
    Dispatching an op takes tens of microseconds, whatever it computes, and an optimizer alone runs
    a dozen ops per variable. Small ops take far longer to dispatch than to compute. A compiled
    step is dispatched once.

    The fix
    Put `@tf.function` on the function that makes one step: forward pass, gradients and update.
    Its Python code then runs only during tracing; keep prints, `.numpy()`, growing lists and
    counters outside.

    When we are wrong
    If the ops are large, compiling saves little; the numbers show it. The first compiled step is
    traced, which takes as long as ten to thirty eager ones: a run of so few steps gains nothing. A
    step that must stay eager (a debugger, Python libraries in the middle of it) can still compile
    parts of itself.
    """

    title = "the training step runs op by op"
    reads = (EagerOps, Made)
    deeper_than = ("tiny-batches", "compute-bound", "host-sync")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            cost = eager_cost(run, loop) if loop.style == "eager" else None
            if cost is None or cost.ops < FEWEST_OPS:
                continue
            code = step_code(run, loop, cost)
            inside = cost.within(code.share(cost))
            if inside.gain >= WORTH:
                yield self._finding(run, loop, inside, code)

    def _finding(self, run: Run, loop: Loop, cost: EagerCost, code: StepCode) -> Finding:
        what = f"{code.function}()" if code.function else "the body of the loop"
        return Finding(
            cause=self.id,
            title=f"{what} runs op by op: {cost.ops} ops in a step of {cost.step * 1e3:.3g} ms, "
            f"of which {cost.kernels * 1e3:.3g} ms compute",
            location=code.location,
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
        step, where = finding.detail_of(_EagerStep), finding.location
        update = next((frame.line for frame in step.updates if frame.file == script.path), None)
        if update is None:
            return Refusal("the line that updates the weights is in another file", where)
        if step.makes:
            reason = "it makes variables in every step, which a graph cannot"
            return Refusal(f"{reason}: see {step.makes[0]}", where)
        line = step.loop.line if step.loop.file == script.path else None
        edited = compile_step(script, update, line, step.varies)
        files = edited.files
        if all(script.modules.get(path, script.text) == text for path, text in files.items()):
            return Refusal("it is compiled already, and something keeps it eager", where)
        title = "compile the step with `tf.function`"
        if not step.random:
            return Fix(title, Safety.CLOSE, files)
        note = (
            "With the same seed, a compiled step draws other random numbers than an eager one "
            f"({step.random})."
        )
        return Fix(title, Safety.REVIEW, files, note)


def evidence(cost: EagerCost) -> Iterable[Evidence]:
    """What was measured of an eager step, and what follows for a compiled one."""
    yield Evidence("ops per step", cost.ops)
    yield Evidence("most of them", ", ".join(f"{count} {name}" for name, count in cost.top[:4]))
    yield Evidence("step", cost.step, "s")
    yield Evidence("op dispatch and execution", cost.eager, "s")
    yield Evidence("of that computing", cost.kernels, "s")
    yield Evidence("least cost of dispatching one op", cost.floor, "s")
    yield Evidence("expected of a compiled step", cost.step - cost.eager + cost.compiled, "s")
    yield Evidence("expected of its first call", cost.first_call, "s")


def _varies(loop: Loop) -> bool:
    """Whether batches have more sizes than a full one and a smaller last one."""
    if loop.elements is None:
        return False
    return len({float(size) for size in loop.elements if size > 0}) > _USUAL_SIZES


def _window(step: int, ops: int, kernels: float, wall: float = 0.01) -> Placed:
    cost = EagerOps(step=step, ops=ops, took=0.004, floor=2e-5, kernels=kernels, wall=wall)
    tape = stack_at(11)
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
        "large ops that other programs slowed down after the first window",
        [0.01] * 100,
        facts=[
            _window(4, 30, 0.0047, wall=0.005),
            *(_window(step, 30, 0.0085) for step in (8, 16, 32, 64)),
        ],
        phases={Phase.RUN: 1.0},
    ),
    Sketch(
        "a compiled step",
        facts=[_window(step, 4, 0.0) for step in (4, 8, 16, 32, 64)],
        style="function",
        phases=_STEP,
    ),
)
