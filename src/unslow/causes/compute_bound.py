"""Nothing is wrong: the kernels of the model take the time."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host import step_profile
from unslow.analyse.host.step_profile import Op, SketchedWindow, StepProfile, Window, windows
from unslow.analyse.input.queues import drawn
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import CannotJudge, Cause
from unslow.facts.sessions import InspectedRun
from unslow.model import Evidence, Finding, Loop, Phase, Run

_MOST = 0.7  # of a step in kernels, and of the training in TensorFlow
_SHOWN = 5
_QUEUES = ("QueueEnqueue", "QueueDequeue")


def _seen(kernels: float, *more: Op) -> Placed:
    ops = (
        Op("conv/Conv2D", "Conv2D", 10, 0.08 * kernels),
        Op("dense/MatMul", "MatMul", 10, 0.02 * kernels),
        *more,
    )
    profile = StepProfile(kernels=0.1 * kernels, executor=0.098, ops=ops)
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class ComputeBound(Cause):
    """
    What happens

    Almost all of each step is spent in the kernels of the model: multiplications, convolutions,
    their gradients and the update of the weights.

    Why it is slow

    This is the work itself. No input, no Python, no tracing and no waiting stands in its way.

    The fix

    Only a cheaper step helps: XLA (`jit_compile=True`), 16-bit numbers where the hardware has
    them, a smaller model or input, or a faster device. `unslow whatif` measures the first ones on
    this script.

    When we are wrong

    The kernels were profiled for a few steps. A kernel may be slow for a reason of its own
    (float64, an optimizer that rewrites a large table, too few threads): these causes are reported
    first.
    """

    title = "the model itself takes the time"
    reads = (*step_profile.READS, InspectedRun)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            in_tensorflow = loop.phase(Phase.RUN) >= _MOST * loop.total
            main = loop.total >= _MOST * run.trained
            seen = windows(run, loop) if in_tensorflow and main else []
            if not seen:
                continue
            window = seen[-1]
            if drawn(run, loop) or any(op.kind.startswith(_QUEUES) for op in window.ops):
                raise CannotJudge(
                    "queue runners feed the step from threads of their own, and a profile cannot "
                    "separate their kernels from the step's"
                )
            if window.ops and window.kernels >= _MOST * window.wall:
                yield self._finding(run, loop, window)

    def _finding(self, run: Run, loop: Loop, window: Window) -> Finding:
        share = window.kernels / window.wall
        kinds: dict[str, float] = {}
        for op in window.ops:
            kinds[op.kind] = kinds.get(op.kind, 0.0) + op.seconds
        most = sorted(kinds.items(), key=lambda item: -item[1])[:_SHOWN]
        return Finding(
            cause=self.id,
            location=say.place(run, loop.update),
            seconds=0.0,
            fault=False,
            # Profiling makes a short step longer: its seconds would contradict those of the loop.
            title=f"{say.share(share)} of a profiled step is in kernels, mostly in "
            f"{_kind(most[0][0])}",
            evidence=(
                Evidence("in kernels, per step", window.kernels, "s"),
                Evidence("a step while it is profiled", window.wall, "s"),
                *(Evidence(f"in {_kind(kind)}, per step", seconds, "s") for kind, seconds in most),
                Evidence("the most expensive op", window.ops[0].name),
                Evidence("steps profiled", window.steps),
            ),
            advice="`unslow whatif` measures what XLA, 16-bit numbers or another batch size would "
            "give.",
        )

    FIRES = (Sketch("nine tenths in kernels", phases={Phase.RUN: 0.95}, facts=[_seen(0.9)]),)
    QUIET = (
        Sketch("half of the step in kernels", phases={Phase.RUN: 0.95}, facts=[_seen(0.5)]),
        Sketch(
            "the step waits for data", phases={Phase.RUN: 0.5, Phase.INPUT: 0.5}, facts=[_seen(0.9)]
        ),
        Sketch(
            "queue runners feed it",
            phases={Phase.RUN: 0.95},
            facts=[_seen(0.9, Op("b", "QueueEnqueueV2", 9, 1e-4))],
        ),
    )


def _kind(kind: str) -> str:
    """A kernel by the name that users know: oneDNN's variants carry a prefix."""
    return kind.removeprefix("_MklNative").removeprefix("_Mkl").removeprefix("_Fused")
