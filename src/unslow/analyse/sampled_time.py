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


def below(samples: Iterable[Sample], file: str, lines: Collection[int]) -> list[Sample]:
    """Samples at some lines of a file, or below them."""
    return [sample for sample in samples if passes(sample, file, lines)]


def training_samples(run: Run, process: int) -> list[Sample]:
    """Samples of the thread that trains."""
    return [sample for sample in run.samples_of(process) if sample.training]


def in_phase(samples: Iterable[Sample], phase: Phase) -> list[Sample]:
    return [sample for sample in samples if sample.phase is phase]


def untimed_seconds_at(run: Run, loop: Loop, line: Anywhere) -> float:
    """Seconds of a loop at a line and below it that belong to no recorded call."""
    untimed = in_phase(run.samples_of(loop.process), Phase.OTHER)
    here = below(untimed, line.file, (line.line,))
    return loop.phase(Phase.OTHER) * in_steps(here) / max(1, in_steps(untimed))
