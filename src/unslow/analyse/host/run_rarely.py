"""How rarely work must be done to cost next to nothing."""

from __future__ import annotations

import math

_SHARE_LEFT = 0.01  # of the rest of a step, which rare work may still take (judgement)
_SHORTEST_INTERVAL = 10.0  # steps
_FEWEST_TIMES = 2  # in the recorded steps: a curve needs two points
_SHORTEST_REST = 1e-6  # seconds, where the work is all there is


def rare_interval(seconds: float, rest: float, steps: int) -> int:
    """Steps between two times of work that takes `seconds` beside the rest: a power of ten.

    In a short run the interval is shorter: work that is never done would look free.
    """
    wanted = seconds / (_SHARE_LEFT * max(rest, _SHORTEST_REST))
    every = int(10 ** math.ceil(math.log10(max(_SHORTEST_INTERVAL, wanted))))
    longest = max(_SHORTEST_INTERVAL, steps / _FEWEST_TIMES)
    if every <= longest:
        return every
    power = int(10 ** math.floor(math.log10(longest)))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= longest)
