"""What batches of new shapes cost: steps with a new shape compared with those without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.graphs.unusual_calls import calls_in
from unslow.analyse.stats.robust import spread
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Batch
from unslow.model import Evidence, Loop, Phase, Run

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

    Mask = npt.NDArray[np.bool_]

_FEWEST_STEPS = 8  # steps of either kind: fewer say nothing
_NEIGHBOURS = 5  # steps of about the same size that a step is compared with
_APART = (Phase.INPUT, Phase.TRACE, Phase.SAVE, Phase.LOG, Phase.EVAL, Phase.HOOKS, Phase.GC)


@dataclass(frozen=True)
class Churn:
    """Shapes of a loop's batches, and what a new one costs."""

    distinct: int
    steps: int
    extra: float  # seconds that a step with a new shape takes longer than one of its size
    first: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def seconds(self) -> float:
        return self.extra * (self.distinct - 1)

    def evidence(self) -> tuple[Evidence, ...]:
        return (
            Evidence("different shapes", self.distinct),
            Evidence("steps", self.steps),
            Evidence("one of the first shapes", str(list(self.first))),
            Evidence("one of the last", str(list(self.last))),
            Evidence("seconds that a new shape adds to its step", self.extra, "s"),
        )

    def advice(self) -> str:
        return (
            f"Pad the batches to a few lengths, so that {self.distinct} shapes become four or "
            "eight: `dataset.bucket_by_sequence_length(…, pad_to_bucket_boundary=True)`, or round "
            "the length up to a multiple (`tf.pad`) and mask what was added."
        )


def new_shapes(run: Run, loop: Loop) -> list[tuple[float, tuple[int, ...]]]:
    """When a shape was first seen in a loop, and its largest tensor.

    Of a compiled step, or of an eager model.
    """
    untraced = [call for call in calls_in(run, loop) if call.was("shapes", but_not="traced")]
    seen: list[UnusualCall | Batch] = [call.fact for call in untraced]
    seen += run.facts_during(loop, Batch)
    found = [(fact.time, _largest(fact.shapes)) for fact in seen if fact.shapes]
    return sorted(found, key=lambda moment: moment[0])


def _largest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return max(shapes, key=lambda shape: (math.prod(shape), shape))


def churn_of(run: Run, loop: Loop) -> Churn | None:
    """What new shapes cost in a loop; None where they are few or cannot be told from noise."""
    moments = new_shapes(run, loop)
    is_merged = int(loop.count.max()) > 1
    if is_merged or len(moments) < _FEWEST_STEPS or len(loop.seconds) < 3 * _FEWEST_STEPS:
        return None
    fresh, known = _steps_with(loop, [time for time, _ in moments])
    if fresh.sum() < _FEWEST_STEPS or known.sum() < _FEWEST_STEPS:
        return None
    work = loop.seconds - loop.phases[:, list(_APART)].sum(axis=1)
    sizes = loop.elements if loop.elements is not None else np.zeros(len(work))
    usual = _Usual(work[known], sizes[known])
    over = work[fresh] - usual.near(sizes[fresh])
    noise = work[known] - usual.near_each()
    extra = float(np.median(over))
    if not _is_certain(over, extra, spread(noise)):
        return None
    return Churn(len(moments) + 1, loop.steps, extra, moments[0][1], moments[-1][1])


def _steps_with(loop: Loop, times: Sequence[float]) -> tuple[Mask, Mask]:
    """Steps with a new shape, and those without to compare them with; the first is in neither."""
    fresh = np.zeros(len(loop.end), dtype=bool)
    # The fact is written when its call returns: the step that it belongs to ends just after.
    fresh[np.minimum(np.searchsorted(loop.end, times), len(fresh) - 1)] = True
    known = ~fresh
    fresh[0] = known[0] = False
    # Steps after the last new shape may differ for other reasons: the machine, a warm-up's end.
    last = int(np.flatnonzero(fresh).max(initial=0))
    known[last + _NEIGHBOURS :] = False
    return fresh, known


def _is_certain(over: Floats, extra: float, sigma: float) -> bool:
    """Whether the extra cost is beyond noise, in most of the steps, and early as well as late."""
    # Four sigmas of a fair coin, where there are enough throws.
    most = 0.5 + min(0.3, 2 / math.sqrt(len(over)))
    late = float(np.median(over[len(over) // 2 :]))
    beyond_noise = extra > 3 * sigma / math.sqrt(len(over))
    return bool(beyond_noise and np.mean(over > 0) >= most and late > 0.3 * extra)


class _Usual:
    """What steps with known shapes take, by their size."""

    def __init__(self, seconds: Floats, sizes: Floats) -> None:
        order = np.argsort(sizes, kind="stable")
        self._seconds, self._sizes = seconds[order], sizes[order]
        self._order = order

    def near(self, sizes: Floats) -> Floats:
        """The median of the steps nearest to each size."""
        places = np.searchsorted(self._sizes, sizes)
        return np.array([float(np.median(self._around(place)[0])) for place in places.tolist()])

    def near_each(self) -> Floats:
        """The same for each of these steps, itself left out, in the order they were given."""
        found = np.empty(len(self._seconds))
        for place, step in enumerate(self._order.tolist()):
            near, first = self._around(place)
            found[step] = np.median(np.delete(near, place - first))
        return found

    def _around(self, place: int) -> tuple[Floats, int]:
        first = max(0, min(place - _NEIGHBOURS // 2, len(self._seconds) - _NEIGHBOURS))
        return self._seconds[first : first + _NEIGHBOURS], first
