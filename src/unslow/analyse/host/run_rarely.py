"""How rarely work must be done to cost next to nothing."""

from __future__ import annotations

import math

_SHARE_LEFT = 0.01  # of the rest of a step, which rare work may still take (judgement)
_SHORTEST_INTERVAL = 10.0  # steps
_SHORTEST_REST = 1e-6  # seconds, where the work is all there is


def rare_interval(seconds: float, rest: float) -> int:
    """Steps, a power of ten, between two times of work that takes `seconds` beside the rest."""
    wanted = seconds / (_SHARE_LEFT * max(rest, _SHORTEST_REST))
    return int(10 ** math.ceil(math.log10(max(_SHORTEST_INTERVAL, wanted))))
