"""The optimizer's own state is a large part of the memory."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during
from unslow.analyse.host.step_profile import repeated, updating, windows
from unslow.analyse.memory.process_memory import limit
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.memory import Built, Weights
from unslow.facts.profiler import ProfilerWindow
from unslow.model import Certainty, Evidence, Finding, Loop, Run

_LARGE_SHARE = 0.15  # of the process (judgement)
_LEAST_BYTES = 128 << 20  # a judgement: less is no problem on any machine
# Numbers that an optimizer keeps for each weight, without a momentum that may be off.
_SLOTS = {
    "Adam": 2,
    "AdamW": 2,
    "Nadam": 2,
    "Adamax": 2,
    "Lamb": 2,
    "Adadelta": 2,
    "Ftrl": 2,
    "Lion": 1,
    "Adagrad": 1,
    "RMSprop": 1,
    "SGD": 0,
    "Adafactor": 0,
    "Momentum": 1,
    "MomentumOptimizer": 1,
    "AdamOptimizer": 2,
    "AdagradOptimizer": 1,
    "RMSPropOptimizer": 2,
    "AdadeltaOptimizer": 2,
    "FtrlOptimizer": 2,
}
_MORE_WITH_MOMENTUM = ("SGD", "RMSprop")
_OTHERS = (
    ("SGD", 0.0),
    ("SGD with momentum", 1.0),
    ("Lion", 1.0),
    ("Adafactor", 0.0),
    ("Adam with 16-bit slots", 1.0),
)


class OptimizerState(Cause):
    """
    What happens
    The optimizer keeps numbers of its own for each weight: Adam two, a momentum one. With large
    models they are a large part of what the process holds.

    Why it is slow
    They are read and written in every step, and take memory that a larger batch could use. Where
    memory is short, they may be what exceeds it.

    The fix
    SGD keeps nothing, SGD with momentum and Lion one number for each weight, Adafactor a row
    and a column for each matrix. Try which of them trains as well: they need other learning
    rates.

    When we are wrong
    Where there is memory to spare, this is information and no problem. What the state costs in a
    step is estimated from the time of the update and the numbers that it reads and writes.
    """

    title = "the optimizer's state is large"
    reads = (Weights, Built, ProfilerWindow)
    needs = ("machine",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            largest = max(run.facts(Weights, loop.process), key=state_bytes, default=None)
            finding = self._judge(run, loop, largest) if largest is not None else None
            if finding is not None:
                yield finding
                return

    def _judge(self, run: Run, loop: Loop, data: Weights) -> Finding | None:
        process = run.process_of(loop)
        _, rss = during(run, loop, "rss")
        if not len(rss):
            return None
        weights, whole, slots = data.bytes, float(rss.max()), slots_of(data)
        # Options such as amsgrad and averaging keep more than the optimizer's kind tells.
        made = [fact.bytes for fact in run.facts(Built, loop.process) if fact.what == "slots"]
        state = max(state_bytes(data), *made, 0.0)
        if state < max(_LEAST_BYTES, _LARGE_SHARE * whole):
            return None
        rest = max(0.0, whole - 2 * weights - state)
        wall, update = _updates(run, loop, data.scope)
        # The weights are read and written and the gradients read; the state is read and written.
        extra = update * 2 * slots / (2 * slots + 3)
        others = [(name, weights * each) for name, each in _OTHERS if weights * each < state]
        update_rows = (
            Evidence("the optimizer's kernels, per step", update, "s"),
            Evidence("of it for its state, about", extra, "s"),
        )
        of_step = f", {say.share(update / wall)} of a step" if update else ""
        sizes = ", ".join(f"{name} {say.size(size)}" for name, size in others)
        return Finding(
            cause=self.id,
            location=say.place(run, data.made[0] if data.made else loop.update),
            seconds=min(1.0, extra / wall) * repeated(loop) if wall else 0.0,
            certainty=Certainty.LIKELY,
            fault=False,
            title=f"{data.optimizer} keeps {say.size(state)} for {say.size(weights)} of weights: "
            f"{say.share(state / whole)} of the process{of_step}",
            evidence=(
                Evidence("weights", weights, "bytes"),
                Evidence("gradients", weights, "bytes"),
                Evidence("state of the optimizer", state, "bytes"),
                Evidence("activations and all else, about", rest, "bytes"),
                Evidence("limit", limit(process), "bytes"),
                *(update_rows if update else ()),
                *(Evidence(f"{name} would keep", size, "bytes") for name, size in others),
            ),
            advice=f"If the memory is needed: {sizes}.",
        )


def _updates(run: Run, loop: Loop, scope: str) -> tuple[float, float]:
    """Seconds of a step and of the optimizer's kernels in it; zeros without a profiler window."""
    seen = windows(run, loop)
    return (seen[-1].wall, updating(seen[-1], scope)) if seen else (0.0, 0.0)


def slots_of(data: Weights) -> int:
    """Numbers that the optimizer keeps for each weight; 0 where it is not known."""
    has_momentum = data.optimizer in _MORE_WITH_MOMENTUM and data.momentum
    return _SLOTS.get(data.optimizer, 0) + has_momentum


def state_bytes(data: Weights) -> float:
    return data.bytes * slots_of(data)


def _weights(optimizer: str, size: float, momentum: bool = False) -> Placed:
    made = stack_at(5, "f")
    return at(1, Weights(optimizer=optimizer, bytes=size, momentum=momentum, made=made))


_TICKS = {"rss": [1.2e9] * 10}
OptimizerState.FIRES = (
    Sketch(
        "AdamW that also keeps maxima and averages",
        facts=[_weights("AdamW", 1e8), at(1, Built(what="slots", bytes=4e8))],
        ticks=_TICKS,
    ),
    Sketch("Adam on a large model", facts=[_weights("Adam", 1.5e8)], ticks=_TICKS),
    Sketch("a momentum on a larger one", facts=[_weights("SGD", 3e8, True)], ticks=_TICKS),
)
OptimizerState.QUIET = (
    Sketch("Adam on a small model", facts=[_weights("Adam", 1e7)], ticks=_TICKS),
    Sketch("plain SGD on a large one", facts=[_weights("SGD", 3e8)], ticks=_TICKS),
)
