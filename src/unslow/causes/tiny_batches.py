"""The fixed cost of a step outweighs the work on its batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.fixed_cost import batch_hooks, fixed_cost, fixed_cost_by_size
from unslow.analyse.host.machine import processor_seconds
from unslow.analyse.host.step_profile import (
    READS,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stretches import TRAINING, stretch_at
from unslow.cause import CannotJudge, Cause
from unslow.facts.keras import Epoch, Fit, Hook, Prediction
from unslow.facts.memory import Compile
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import set_keyword
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)

_FEWEST_STEPS = 500  # a judgement: in fewer, the fixed cost is over before it hurts
_FIXED_SHARE = 0.5  # of a step (judgement)
_MOST_KERNELS = 0.3  # of a step: where they take more, the batch is not what is small
_MOST_TOGETHER = 32  # steps in one call: more gains little (judgement)
_USUALLY_TOGETHER = 10  # where no number of them divides an epoch
_LARGER = 8  # how much larger a batch the advice suggests
_KERAS_ROWS = 32  # Keras's default batch: no smaller one is asked for without need
# Seconds: a batch of Keras's own loop costs about 1 ms on a laptop; in one that takes much longer,
# the model itself may take the time.
_KERAS_BATCH = 3e-3
_ROWS = 256  # enough for the fixed cost of a batch to vanish, small enough for any memory
_CALLS = ("predict", "evaluate")
_STYLES = ("keras", "function", "session")


def _seen(kernels: float, executor: float, calls: tuple[int, ...] = (10,)) -> Placed:
    profile = StepProfile(kernels=0.01 * kernels, executor=0.01 * executor, calls=calls)
    return at(200, SketchedWindow(steps=10, step=200, wall=0.01, profile=profile))


_FIT = at(0, Fit(stack=stack_at(10), batch_size=4))


@dataclass(frozen=True)
class _LargerBatch:
    """The call of Keras that should be given larger batches."""

    call: str


@dataclass(frozen=True)
class _Together:
    """Steps to run in one call."""

    steps: int  # 1: Keras cannot run several
    users_hooks: bool  # hooks of the user's for batches, which are then called more rarely
    compile: Location | None


def _predicted(rows: float, batch_size: float, took: float) -> Placed:
    where = stack_at(8)
    seen = Prediction(call="predict", key="p", rows=rows, batch_size=batch_size, stack=where)
    return at(0, seen.replace(took=took, sum=took))


class TinyBatches(Cause):
    """
    What happens

    The batches are so small that most of a step is overhead: Python, Keras's bookkeeping, the call
    of the compiled function and the dispatch of its ops. The kernels themselves take little.

    Why it is slow

    Calling a compiled function takes 0.1 to 0.3 ms, a batch of Keras's `fit` about 1 ms, and every
    op a few microseconds, for one row as for a thousand.

    The fix

    With Keras, `compile(steps_per_execution=…)` runs several batches in one call, with the same
    results; callbacks are then called for every N-th batch. Otherwise use a larger batch, with a
    learning rate to match, or a loop over several batches inside the `tf.function`. Give `predict`
    and `evaluate` a larger `batch_size`: the results are the same.

    When we are wrong

    The fixed cost is measured: by TensorFlow's profiler in a few steps, and by how the step time
    follows the batch size where sizes differ. A small batch may still be what the training needs to
    learn well. Steps that call several compiled functions, such as those of an agent that acts
    between its updates, are not reported. For `predict` and `evaluate` the cost is inferred from
    short batches of fewer rows than Keras's default.
    """

    title = "the fixed cost of a step outweighs its work"
    reads = (Fit, Epoch, Hook, Prediction, Compile, *READS)

    def detect(self, run: Run) -> Iterable[Finding]:
        for call in {call.key: call for call in run.facts(Prediction)}.values():
            if call.call in _CALLS and not any(loop.holds(call) for loop in run.training):
                yield from self._judge_prediction(run, call)
        for loop in run.training:
            if loop.style in _STYLES and loop.steps >= _FEWEST_STEPS:
                seen = windows(run, loop)
                if not seen:
                    raise CannotJudge("the run was too short for TensorFlow's profiler")
                yield from self._judge(run, loop, seen[-1])

    def _judge_prediction(self, run: Run, last: Prediction) -> Iterable[Finding]:
        """Calls of predict or evaluate at one line, outside of the training."""
        if not isinstance(last.batch_size, int | float) or not last.batch_size or not last.stack:
            return
        batches = last.rows / last.batch_size
        each = last.took / max(1.0, batches)
        computed = _computed(run, last) / max(1.0, batches)
        is_small = last.batch_size < _KERAS_ROWS and computed <= _KERAS_BATCH
        if batches < _FEWEST_STEPS or not is_small:
            return
        stretch = stretch_at(run, last.process, last.time)
        rows = f"{last.batch_size:.0f} row" + ("s" if last.batch_size > 1 else "")
        yield Finding(
            cause=self.id,
            location=say.place(run, last.stack[0]),
            seconds=last.sum * (1 - 1 / _LARGER),
            certainty=Certainty.LIKELY,
            title=f"{last.call} runs {batches:,.0f} batches of {rows}: {say.time(each)} each, "
            "whatever the size of the batch",
            evidence=(
                Evidence("rows", last.rows),
                Evidence("batches", round(batches)),
                Evidence("one batch", each, "s"),
                Evidence(f"one call of {last.call}", last.took, "s"),
            ),
            advice=f"Give {last.call} batch_size={_ROWS}: the results are the same up to rounding.",
            detail=_LargerBatch(last.call),
            stretch="" if stretch == TRAINING else stretch,
        )

    def _judge(self, run: Run, loop: Loop, window: Window) -> Iterable[Finding]:
        step = min(window.wall, loop.typical())  # the profiler makes very short steps longer
        cost = fixed_cost(run, loop, window, step)
        by_size = fixed_cost_by_size(loop)
        least = cost.total if by_size is None else min(cost.total, by_size)
        if window.kernels > _MOST_KERNELS * step or least < _FIXED_SHARE * step:
            return
        if window.functions > 1:
            return  # an agent that acts between its updates: a larger batch would not help it
        together = _together(run, loop) if loop.style == "keras" else 1
        saved = cost.total * (1 - 1 / _LARGER)
        instead = f"batches {_LARGER} times as large"
        if together > 1:
            saved = cost.outside_graph * (1 - 1 / together)
            instead = f"{together} steps in one call"
        evidence = [
            Evidence("a step", step, "s"),
            Evidence("in kernels", window.kernels, "s"),
            Evidence("fixed cost", cost.total, "s"),
            Evidence("of which outside the graph", cost.outside_graph, "s"),
            Evidence("steps profiled", window.steps),
        ]
        if by_size is not None:
            evidence.append(Evidence("fixed cost, from batches of several sizes", by_size, "s"))
        yield Finding(
            cause=self.id,
            evidence=tuple(evidence),
            location=say.place(run, loop.location if loop.style == "keras" else loop.update),
            # Of a usual step: the window may show a shorter one, of a loop whose steps grow.
            seconds=min(1.0, saved / loop.typical()) * repeated(loop),
            title=f"{say.time(cost.total)} of a step of {say.time(step)} are fixed cost, whatever "
            "the size of the batch",
            advice=f"With {instead}, a batch of this size would take about "
            f"{say.time(step - saved)}.",
            detail=_Together(
                steps=together,
                users_hooks=any(hook.users for hook in batch_hooks(run, loop)),
                compile=_compiled(run, loop),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail
        if isinstance(detail, _LargerBatch):
            line = finding.place.line
            position = 1 if detail.call == "predict" else 2
            fixed = set_keyword(script, line, detail.call, "batch_size", str(_ROWS), position)
            return Fix(f"{detail.call} {_ROWS} rows at a time", Safety.CLOSE, fixed.files)
        if not isinstance(detail, _Together) or detail.steps < 2:
            return None
        steps, where = detail.steps, detail.compile
        in_script = where is not None and where.file == script.path
        if where is None or not in_script or script.call_at(where.line, "compile") is None:
            return Refusal("the call of compile was not found", where or finding.location)
        fixed = set_keyword(script, where.line, "compile", "steps_per_execution", str(steps))
        note = f"Hooks for batches are then called once for {steps} of them."
        return Fix(
            f"run {steps} steps in one call",
            Safety.REVIEW if detail.users_hooks else Safety.EXACT,
            {where.file: fixed.text},
            note=note if detail.users_hooks else "",
        )


def _computed(run: Run, call: Prediction) -> float:
    """Seconds of a call as they would be on a machine that nobody else uses, at most."""
    process = run.processes[call.process]
    busy = processor_seconds(process, call.time - call.took, call.time)
    return min(call.took, busy) if busy else call.took


def _together(run: Run, loop: Loop) -> int:
    """How many steps to run in one call: a divisor of an epoch's, so that none is left over."""
    fits = run.facts(Fit, loop.process)
    if not fits or fits[-1].run_eagerly or fits[-1].steps_per_execution not in (None, 1):
        return 1
    epochs = [one for one in run.facts(Epoch) if loop.holds(one) or one.time >= loop.stop]
    first = epochs[0].step if epochs else 0
    epoch = first if 0 < first <= loop.steps else loop.steps
    divisors = [number for number in range(2, _MOST_TOGETHER + 1) if epoch % number == 0]
    return max(divisors, default=_USUALLY_TOGETHER)


def _compiled(run: Run, loop: Loop) -> Location | None:
    """The line that compiles the model of Keras."""
    calls = [call for call in run.facts(Compile, loop.process) if call.stack]
    return say.place(run, calls[-1].stack[0]) if calls else None


def _steps(says: str, running: float, *facts: Placed, style: str, steps: int = 1200) -> Sketch:
    seconds = (0.001,) * steps
    return Sketch(says, seconds, phases={Phase.RUN: running}, style=style, facts=facts)


def _predicting(says: str, seen: Placed) -> Sketch:
    return Sketch(says, seconds=(), facts=[seen])


_ROW_BY_ROW = _predicted(rows=9000, batch_size=1, took=49.0)
TinyBatches.FIRES = (
    _steps("a batch of four rows in fit", 0.4, _FIT, _seen(0.05, 0.3), style="keras"),
    _steps("a compiled step, a tenth in kernels", 0.9, _seen(0.1, 0.6), style="function"),
    _predicting(
        "predict over a whole table, row by row", _predicted(rows=9000, batch_size=1, took=9.0)
    ),
    Sketch(
        "the same while others use the machine",
        seconds=(),
        before=50.0,
        facts=[_ROW_BY_ROW],
        ticks={"user_cpu": [0.0, 9.0], "system_cpu": [0.0, 1.0]},
    ),
)
TinyBatches.QUIET = (
    _predicting(
        "a large model predicts a few rows at a time",
        _predicted(rows=2000, batch_size=2, took=20.0),
    ),
    _predicting(
        "one tiny batch after the other, but few of them",
        _predicted(rows=100, batch_size=1, took=0.1),
    ),
    _steps("a small batch of heavy rows", 0.98, _FIT, _seen(0.95, 0.97), style="keras"),
    _steps("the user's own Python takes the time", 0.3, _seen(0.1, 0.2), style="function"),
    _steps(
        "an agent that acts by a compiled function between its updates",
        0.9,
        _seen(0.1, 0.6, calls=(10, 5)),
        style="function",
    ),
    _steps("a short run", 0.4, _FIT, _seen(0.05, 0.3), style="keras", steps=300),
)
