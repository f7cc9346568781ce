"""Nothing is wrong: the kernels of the model take the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import nlargest
from operator import itemgetter

from unslow.analyse import wording as say
from unslow.analyse.host import step_profile
from unslow.analyse.host.step_profile import Op, StepProfile, Window, windows
from unslow.analyse.input.queues import drawn
from unslow.analyse.sketches.sketch import Placed, Sketch
from unslow.analyse.sketches.windows import profiled
from unslow.cause import CannotJudge, Cause
from unslow.facts.sessions import InspectedRun
from unslow.model import Evidence, Finding, Loop, Phase, Run

_MOST = 0.7  # of a step in kernels, and of the training in TensorFlow; a judgement
_KINDS_SHOWN = 5
_QUEUES = ("QueueEnqueue", "QueueDequeue")


class ComputeBound(Cause):
    """
    What happens
    Almost all of each step is spent in the kernels of the model: matrix multiplications,
    convolutions, their gradients and the update of the weights.

    Why it is slow
    This is the work itself. Neither input, Python, tracing nor waiting takes a large share.

    The fix
    Only a cheaper step helps: XLA (`jit_compile=True`), 16-bit numbers where the hardware supports
    them, a smaller model or input, or a faster device. `unslow whatif` measures the first two on
    this script.

    When we are wrong
    The kernels were profiled for a few steps. A kernel may be slow for a reason of its own
    (float64, an optimizer that rewrites a large table, too few threads); those causes are reported
    first.
    """

    title = "the model itself takes the time"
    reads = (*step_profile.READS, InspectedRun)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            is_in_tensorflow = loop.phase(Phase.RUN) >= _MOST * loop.total
            is_main = loop.total >= _MOST * run.trained
            seen = windows(run, loop) if is_in_tensorflow and is_main else []
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
        kinds: defaultdict[str, float] = defaultdict(float)
        for op in window.ops:
            kinds[op.kind] += op.seconds
        most = nlargest(_KINDS_SHOWN, kinds.items(), key=itemgetter(1))
        return Finding(
            cause=self.id,
            location=say.place(run, loop.update),
            seconds=0.0,
            fault=False,
            # A share: profiling makes a short step longer, and its seconds would contradict those
            # of the loop.
            title=f"{say.share(window.kernels / window.wall)} of a profiled step is in kernels, "
            f"mostly in {_known_name(most[0][0])}",
            evidence=(
                Evidence("in kernels, per step", window.kernels, "s"),
                Evidence("a step while it is profiled", window.wall, "s"),
                *(Evidence(f"in {_known_name(kind)}, per step", each, "s") for kind, each in most),
                Evidence("the most expensive op", window.ops[0].name),
                Evidence("steps profiled", window.steps),
            ),
            advice="`unslow whatif` measures the effect of XLA, 16-bit numbers or another batch "
            "size.",
        )


def _known_name(kind: str) -> str:
    """A kernel by the name that users know: oneDNN's variants carry a prefix."""
    return kind.removeprefix("_MklNative").removeprefix("_Mkl").removeprefix("_Fused")


def _seen(kernels: float, *more: Op) -> Placed:
    ops = (
        Op("conv/Conv2D", "Conv2D", 10, 0.08 * kernels),
        Op("dense/MatMul", "MatMul", 10, 0.02 * kernels),
        *more,
    )
    return profiled(StepProfile(kernels=0.1 * kernels, executor=0.098, ops=ops))


_IN_TENSORFLOW = {Phase.RUN: 0.95}
_QUEUE = Op("b", "QueueEnqueueV2", 9, 1e-4)
ComputeBound.FIRES = (Sketch("nine tenths in kernels", phases=_IN_TENSORFLOW, facts=[_seen(0.9)]),)
ComputeBound.QUIET = (
    Sketch("half of the step in kernels", phases=_IN_TENSORFLOW, facts=[_seen(0.5)]),
    Sketch(
        "the step waits for data", phases={Phase.RUN: 0.5, Phase.INPUT: 0.5}, facts=[_seen(0.9)]
    ),
    Sketch("queue runners feed it", phases=_IN_TENSORFLOW, facts=[_seen(0.9, _QUEUE)]),
)
