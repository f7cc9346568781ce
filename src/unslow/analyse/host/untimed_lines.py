"""Time of a loop outside of all recorded calls, shared out to lines by stack samples."""

from __future__ import annotations

from unslow.facts.schema import Place
from unslow.model import Location, Loop, Phase, Run


def untimed_seconds_at(run: Run, loop: Loop, line: Location | Place) -> float:
    """Seconds of a loop at a line and below it that belong to no recorded call."""
    at_line = everywhere = 0
    for sample in run.samples:
        if sample.process != loop.process or sample.phase is not Phase.OTHER:
            continue
        everywhere += sample.in_steps
        frames = {(frame.file, frame.line) for frame in sample.stack}
        if (line.file, line.line) in frames:
            at_line += sample.in_steps
    return loop.phase(Phase.OTHER) * at_line / max(1, everywhere)
