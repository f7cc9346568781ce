"""What a step costs whatever its batch outweighs the work on the batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.step_profile import SketchedWindow, StepProfile, Window, repeated, windows
from unslow.analyse.sketches.sketch import Placed, Sketch, at, fact
from unslow.cause import CannotJudge, Cause
from unslow.facts.profiler import ProfilerWindow
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import set_keyword
from unslow.model import Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run, Safety

_FEWEST = 500  # steps: in fewer, the fixed cost is over before it hurts
_MOST = 0.5  # of a step that is fixed
_KERNELS = 0.3  # of a step, at most: else the batch is not what is small
_TOGETHER = 32  # steps that Keras can run in one go, at most
_LARGER = 8  # how much larger a batch the advice speaks of


def _seen(kernels: float, executor: float) -> Placed:
    profile = StepProfile(kernels=0.01 * kernels, executor=0.01 * executor)
    return at(200, SketchedWindow(steps=10, step=200, wall=0.01, profile=profile))


_FIT = fact(
    "fit",
    0,
    stack=[["train.py", 10, "<module>"]],
    batch_size=4,
    steps_per_execution=1,
    run_eagerly=False,
)


class TinyBatches(Cause):
    """
    What happens

    The batches are so small that most of a step is what it costs to start one: Python, Keras's bookkeeping, the
    call of the compiled function and its ops one by one. The kernels themselves take little.

    Why it is slow

    Calling a compiled function takes 0.1 to 0.3 ms, a batch of Keras's `fit` about 1 ms, and every op some
    microseconds, for one row as for a thousand.

    The fix

    With Keras, `compile(steps_per_execution=…)` runs several batches in one call, with the same results; callbacks
    then hear of every N-th batch. Otherwise a larger batch, with a learning rate to match, or a loop over several
    batches inside the `tf.function`.

    When we are wrong

    The fixed cost is measured, not guessed from the size of the batch: by TensorFlow's profiler in a few steps,
    and by how the time of a step follows its size where sizes differ. A small batch may still be what the
    training needs to learn well.
    """

    title = "the fixed cost of a step outweighs its work"
    reads = (ProfilerWindow,)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            if loop.style in ("keras", "function", "session") and loop.steps >= _FEWEST:
                looked = windows(run, loop)
                if not looked:
                    raise CannotJudge(
                        "the run was too short for a look through TensorFlow's profiler"
                    )
                yield from self._judge(run, loop, looked[-1])

    def _judge(self, run: Run, loop: Loop, window: Window) -> Iterable[Finding]:
        step = min(window.wall, loop.typical())  # the profiler makes very short steps longer
        cost = _cost(run, loop, window, step)
        by_size = _by_size(loop)
        small = window.kernels <= _KERNELS * step
        if (
            not small
            or cost.fixed < _MOST * step
            or (by_size is not None and by_size < _MOST * step)
        ):
            return
        together = _together(run, loop) if loop.style == "keras" else 1
        saved = cost.host * (1 - 1 / together) if together > 1 else cost.fixed * (1 - 1 / _LARGER)
        evidence = [
            Evidence("a step", step, "s"),
            Evidence("of it in kernels", window.kernels, "s"),
            Evidence("fixed", cost.fixed, "s"),
            Evidence("of that outside the graph", cost.host, "s"),
            Evidence("steps seen by the profiler", window.steps),
        ]
        if by_size is not None:
            evidence.append(Evidence("fixed, by how time follows the batch's size", by_size, "s"))
        gives = (
            f"{together} steps in one call" if together > 1 else f"batches {_LARGER} times as large"
        )
        yield Finding(
            cause=self.id,
            evidence=tuple(evidence),
            location=say.place(run, loop.location if loop.style == "keras" else loop.update),
            seconds=min(1.0, saved / step) * repeated(loop),
            title=f"{say.time(cost.fixed)} of a step of {say.time(step)} are spent whatever the size of the batch",
            advice=f"With {gives} a batch of this size would take some {say.time(step - saved)}.",
            facts={
                "together": together,
                "users_hooks": _users_hooks(run, loop),
                "compile": _compiled(run, loop),
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        together, where = int(finding.facts["together"]), finding.facts["compile"]
        if together < 2:
            return None
        if (
            where is None
            or where.file != script.path
            or script.call_at(where.line, "compile") is None
        ):
            return Refusal("the call of compile was not found", where or finding.location)
        fixed = set_keyword(script, where.line, "compile", "steps_per_execution", str(together))
        heard = bool(finding.facts["users_hooks"])
        return Fix(
            f"run {together} steps in one call",
            Safety.REVIEW if heard else Safety.EXACT,
            {where.file: fixed.text},
            note=f"Hooks for batches are then called once for {together} of them." if heard else "",
        )

    FIRES = (
        Sketch(
            "a batch of four rows in fit",
            seconds=(0.001,) * 1200,
            style="keras",
            phases={Phase.RUN: 0.4},
            facts=[_FIT, _seen(0.05, 0.3)],
        ),
        Sketch(
            "a compiled step whose kernels take a tenth",
            seconds=(0.001,) * 1200,
            style="function",
            phases={Phase.RUN: 0.9},
            facts=[_seen(0.1, 0.6)],
        ),
    )
    QUIET = (
        Sketch(
            "a small batch of heavy rows",
            seconds=(0.001,) * 1200,
            style="keras",
            phases={Phase.RUN: 0.98},
            facts=[_FIT, _seen(0.95, 0.97)],
        ),
        Sketch(
            "the user's own Python takes the time",
            seconds=(0.001,) * 1200,
            style="function",
            phases={Phase.RUN: 0.3},
            facts=[_seen(0.1, 0.2)],
        ),
        Sketch(
            "a short run",
            seconds=(0.001,) * 300,
            style="keras",
            phases={Phase.RUN: 0.4},
            facts=[_FIT, _seen(0.05, 0.3)],
        ),
    )


@dataclass(frozen=True)
class _Cost:
    """Seconds per step that do not depend on the batch, and those of them outside the graph's executor."""

    fixed: float
    host: float


def _cost(run: Run, loop: Loop, window: Window, step: float) -> _Cost:
    """Only what the step itself needs: waits, callbacks of the user's and their Python are other causes'."""
    if loop.style == "keras":
        hooks = sum(
            float(event.data["own"]) for event in _last_hooks(run, loop) if event.data.get("users")
        )
        apart = sum(loop.phase(phase) for phase in (Phase.EVAL, Phase.SAVE, Phase.LOG, Phase.GC))
        ours = step - window.waits - hooks - apart / max(1, loop.steps)
    else:
        ours = min(step, float(np.median(loop.phases[1:, Phase.RUN]))) - window.waits * (
            loop.style == "session"
        )
    return _Cost(
        fixed=max(0.0, ours - window.kernels),
        host=max(0.0, ours - max(window.executor, window.kernels)),
    )


def _last_hooks(run: Run, loop: Loop) -> list[Any]:
    """The last call of each hook for batches, in this loop."""
    last = {}
    for event in run.of("hook"):
        if loop.holds(event) and "batch" in str(event.data.get("hook")) and "own" in event.data:
            last[event.data["key"]] = event
    return list(last.values())


def _users_hooks(run: Run, loop: Loop) -> bool:
    return any(event.data.get("users") for event in _last_hooks(run, loop))


def _by_size(loop: Loop) -> float | None:
    """The time that a step of no size would take, where sizes differ enough to tell."""
    if loop.elements is None:
        return None
    sizes, seconds = loop.elements[1:], loop.seconds[1:]
    known = sizes > 0
    sizes, seconds = sizes[known], seconds[known]
    if len(sizes) < 50:
        return None
    small, large = sizes <= 0.6 * sizes.max(), sizes > 0.9 * sizes.max()
    if small.sum() < 5 or large.sum() < 5:
        return None
    low, high = float(np.median(sizes[small])), float(np.median(sizes[large]))
    quick, slow = float(np.median(seconds[small])), float(np.median(seconds[large]))
    return min(quick, max(0.0, quick - low * (slow - quick) / (high - low)))


def _together(run: Run, loop: Loop) -> int:
    """How many steps to run in one call: a divisor of an epoch's, so that none is left over."""
    fits = [event.data for event in run.of("fit") if event.process == loop.process]
    if not fits or fits[-1].get("run_eagerly") or (fits[-1].get("steps_per_execution") or 1) > 1:
        return 1
    ends = [
        int(event.data["step"])
        for event in run.of("epoch")
        if loop.holds(event) or event.time >= loop.stop
    ]
    epoch = ends[0] if ends and 0 < ends[0] <= loop.steps else loop.steps
    return max((number for number in range(2, _TOGETHER + 1) if epoch % number == 0), default=10)


def _compiled(run: Run, loop: Loop) -> Location | None:
    """The line that compiles the model of Keras."""
    lines = [
        e.data["stack"][0]
        for e in run.of("compile")
        if e.process == loop.process and e.data.get("stack")
    ]
    return say.place(run, lines[-1]) if lines else None
