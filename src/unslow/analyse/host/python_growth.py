"""How the user's own Python in a loop grows with the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.growth import Slope, slope
from unslow.analyse.stats.robust import ascent, block_middles
from unslow.model import Forecast, Loop, Phase

if TYPE_CHECKING:
    from unslow.model import Floats

_FEWEST_STEPS = 20  # a judgement: in fewer, growth cannot be told from chance
_BLOCKS = 16  # parts of a run that are compared with each other
_CLEAR_ASCENT = 4  # of the blocks, where the slope itself is not certain
_FASTER_THAN_RUNS = 1.2  # times: where TensorFlow's runs became slower too, it is the machine


def python_growth(loop: Loop) -> Slope | None:
    """Seconds that a step's own Python gains per step; None where it does not grow by itself."""
    if len(loop.seconds) < _FEWEST_STEPS:
        return None
    own, runs = loop.phases[1:, Phase.OTHER], loop.phases[1:, Phase.RUN]
    rate = slope(loop.number.astype(float)[1:], own)
    if rate.value <= 0 or _late_by_early(own) < _FASTER_THAN_RUNS * max(1.0, _late_by_early(runs)):
        return None
    is_clear = rate.low > 0 or ascent(block_middles(own, _BLOCKS)) > _CLEAR_ASCENT
    return rate if is_clear else None


def _late_by_early(values: Floats) -> float:
    middle = len(values) // 2
    early = float(np.median(values[:middle]))
    return float(np.median(values[middle:])) / early if early > 0 else 1.0


def step_forecast(loop: Loop, rate: Slope) -> Forecast:
    """From the end on, as fast as the second half grew: sorting grows faster than its items."""
    half, last = len(loop.seconds) // 2, len(loop.seconds) // 8
    lately = slope(loop.number.astype(float)[half:], loop.phases[half:, Phase.OTHER])
    if lately.sure():
        rate = lately
    step = 10 ** len(str(loop.steps))
    ahead = step - float(np.mean(loop.number[-last:]))
    now = float(np.median(loop.seconds[-last:]))
    return Forecast(step=step, step_seconds=now + rate.value * ahead)
