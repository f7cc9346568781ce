"""What TensorFlow ran in a step, from the windows of its own profiler."""

from __future__ import annotations

from unslow.analyse.host.step_profile import Window, windows
from unslow.model import Loop, Run
from unslow.report.words import Row

SHOWN = 10
WORTH = 0.005  # of a step: ops below it get no row, except the three most expensive


def kernels_of(run: Run) -> list[Row]:
    """The last window of each loop, which shows the steady state."""
    found = []
    for loop in run.loops:
        seen = windows(run, loop)
        if seen and seen[-1].wall > 0 and seen[-1].ops:
            found.append(_window(loop, seen[-1]))
    return found


def _window(loop: Loop, window: Window) -> Row:
    return {
        "line": str(loop.location),
        "steps": window.steps,
        "after": window.step,
        "wall": window.wall,
        "kernels_share": min(1.0, window.kernels / window.wall),
        "waits_share": min(1.0, window.waits / window.wall),
        "ops": [
            {
                "name": op.name,
                "kind": op.kind,
                "count": op.count,
                "seconds": op.seconds,
                "share": min(1.0, op.seconds / window.wall),
            }
            for number, op in enumerate(window.ops[:SHOWN])
            if number < 3 or op.seconds >= WORTH * window.wall
        ],
    }
