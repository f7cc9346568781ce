"""Whether a worker is late all the time, or was hit by noise of the machine now and then.

Programs beside a job hold up one worker for a while, then another. A worker that is slow itself is
late in every part of the job.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from unslow.analyse.workers.job import Ints, Job

# Noise lasts for many steps, so that steps are no independent trials. Eighths of a job are, unless
# noise lasts for a tenth of it; with fewer parts no outcome would be unlikely enough.
PARTS = 8
# What holds a worker up for minutes on end is no noise, however long the job is. A judgement.
PART = 60.0  # seconds: parts are no longer than this in a job that has at least eight of them
_MOST_PARTS = 1024
_ALL_SIGNS = 16  # parts: 65,536 outcomes
_CHANCE = 0.01  # that noise does it; the usual level of a test


def is_persistent(job: Job, row: int) -> bool:
    """Whether it is late in more parts of the job than chance would have it.

    Noise may hit any worker: in each part it is as likely that another one is late as that this one
    is. How likely the parts' excess adds up to as much with random signs tells whether it is noise.
    """
    excess = _excess_of_parts(job, row)
    return excess.sum() > 0 and 2 * _chance(excess) <= _CHANCE  # any of two workers could be it


def _chance(excess: npt.NDArray[np.float64]) -> float:
    """The share of all choices of signs that add up to as much, or a bound of it (Hoeffding's)."""
    whole = float(excess.sum())
    if len(excess) > _ALL_SIGNS:
        return math.exp(-(whole**2) / (2 * float((excess**2).sum())))
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(excess))))
    return float(np.mean(signs @ excess >= whole * (1 - 1e-9)))


def _excess_of_parts(job: Job, row: int) -> npt.NDArray[np.float64]:
    """Per part, what the others waited for it beyond what was waited for the worst of them."""
    number, parts = _parts(job)
    found = np.zeros((len(job.workers), number))
    named = job.judged & (job.culprit >= 0)
    caused = job.blamed[named] * job.count[named]
    np.add.at(found, (job.culprit[named], parts[named]), caused)
    others = np.delete(found, row, axis=0)
    return np.asarray(found[row] - others.max(axis=0, initial=0.0))


def _parts(job: Job) -> tuple[int, Ints]:
    """How many parts the job has, as long as each other, and the one that each column is in."""
    wall = np.nan_to_num(np.nanmedian(job.wall, axis=0)) * job.count * job.judged
    until = np.cumsum(wall)
    seconds = max(float(until[-1]), 1e-9)
    number = min(max(PARTS, int(seconds / PART)), _MOST_PARTS)
    middle = (until - wall / 2) / seconds
    return number, np.minimum(number * middle, number - 1).astype(np.int64)
