"""Stack samples as time: how many fell into the steps, and at which lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from unslow.analyse.places import Anywhere, Line, line_of
from unslow.model import Loop, Phase, Run, Sample


def in_steps(samples: Iterable[Sample]) -> int:
    return sum(sample.in_steps for sample in samples)


def is_at(sample: Sample, lines: Collection[Line]) -> bool:
    """Whether the user's innermost line is one of some lines."""
    return bool(sample.stack) and line_of(sample.stack[0]) in lines


def passes(sample: Sample, file: str, lines: Collection[int]) -> bool:
    """Whether a sample is at one of some lines of a file, or below it."""
    return any(frame.file == file and frame.line in lines for frame in sample.stack)


def untimed_seconds_at(run: Run, loop: Loop, line: Anywhere) -> float:
    """Seconds of a loop at a line and below it that belong to no recorded call."""
    untimed = [each for each in run.samples_of(loop.process) if each.phase is Phase.OTHER]
    here = [sample for sample in untimed if passes(sample, line.file, (line.line,))]
    return loop.phase(Phase.OTHER) * in_steps(here) / max(1, in_steps(untimed))
