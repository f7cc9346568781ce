"""What a step costs whatever the size of its batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.analyse.host.step_profile import Window
from unslow.facts.keras import Hook
from unslow.model import Loop, Phase, Run

_APART = (Phase.EVAL, Phase.SAVE, Phase.LOG, Phase.GC)  # of Keras's loop: other causes' time
_FEWEST_SIZED = 50  # steps whose batch size is known (judgement)
_FEWEST_EACH = 5  # steps with a small batch, and with a large one
_SMALL, _LARGE = 0.6, 0.9  # of the largest batch


@dataclass(frozen=True)
class FixedCost:
    """Seconds per step whatever the batch, and those of them outside the graph's executor."""

    total: float
    outside_graph: float


def fixed_cost(run: Run, loop: Loop, window: Window, step: float) -> FixedCost:
    """Only what the step itself needs: waits, the user's callbacks and Python are other causes."""
    if loop.style == "keras":
        hooks = sum(hook.own for hook in batch_hooks(run, loop) if hook.users)
        apart = sum(loop.phase(phase) for phase in _APART)
        needed = step - window.waits - hooks - apart / loop.steps
    else:
        needed = min(step, float(np.median(loop.phases[1:, Phase.RUN])))
        if loop.style == "session":
            needed -= window.waits
    return FixedCost(
        total=max(0.0, needed - window.kernels),
        outside_graph=max(0.0, needed - max(window.executor, window.kernels)),
    )


def batch_hooks(run: Run, loop: Loop) -> list[Hook]:
    """The last call of each callback's hook for batches, in a loop."""
    hooks = run.facts_during(loop, Hook)
    return list({hook.key: hook for hook in hooks if "batch" in hook.hook}.values())


def fixed_cost_by_size(loop: Loop) -> float | None:
    """The time that an empty step would take; None unless batch sizes differ enough to tell."""
    if loop.elements is None:
        return None
    known = loop.elements[1:] > 0
    sizes, seconds = loop.elements[1:][known], loop.seconds[1:][known]
    if len(sizes) < _FEWEST_SIZED:
        return None
    small, large = sizes <= _SMALL * sizes.max(), sizes > _LARGE * sizes.max()
    if min(small.sum(), large.sum()) < _FEWEST_EACH:
        return None
    low, high = float(np.median(sizes[small])), float(np.median(sizes[large]))
    quick, slow = float(np.median(seconds[small])), float(np.median(seconds[large]))
    return min(quick, max(0.0, quick - low * (slow - quick) / (high - low)))
