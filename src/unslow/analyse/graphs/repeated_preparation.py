"""Calls of a compiled function that prepare it again: what could have been saved."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from unslow.analyse.graphs.unusual_calls import Call, prepared_share, profiles


def usual_seconds(calls: Sequence[Call]) -> float:
    """What the same calls take without preparing; 0 where there was none to compare with."""
    known = [call.fact.usual for call in calls if call.fact.usual > 0]
    return median(known) if known else 0.0


def avoidable_seconds(calls: Sequence[Call]) -> float | None:
    """Seconds beyond usual calls, or of preparing in profiler windows; None without either."""
    usual, windows = usual_seconds(calls), profiles(calls)
    if usual:
        return sum(max(0.0, call.fact.took - usual) * call.weight for call in calls)
    if not windows:
        return None
    share = prepared_share(windows)
    return sum(_preparing(call, share) * call.weight for call in calls)


def _preparing(call: Call, share: float) -> float:
    return call.fact.traced + share * (call.fact.took - call.fact.traced)
