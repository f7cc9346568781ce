"""Whether a worker is late all the time, or was hit by noise of the machine now and then.

Programs beside a job hold up one worker for a while, then another. A worker that is slow itself is
late in every part of the job.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from unslow.analyse.workers.job import Ints, Job

# Noise lasts for many steps, so that steps are no independent trials. Eighths of a job are, unless
# noise lasts for a tenth of it; with fewer parts no outcome would be unlikely enough.
PARTS = 8
_SIGNS = np.array(list(itertools.product((1, -1), repeat=PARTS)), dtype=np.float64)
_CHANCE = 0.01  # that noise does it; the usual level of a test


def is_persistent(job: Job, row: int) -> bool:
    """Whether it is late in all parts of the job, more than chance would have it.

    Noise may hit any worker: in each part it is as likely that another one is late as that this one
    is. How many of all signs of the parts' excess would sum up to as much tells how likely chance
    is.
    """
    excess = _excess_of_parts(job, row)
    sums = _SIGNS @ excess
    as_much = float(np.mean(sums >= excess.sum() * (1 - 1e-9)))
    return excess.sum() > 0 and 2 * as_much <= _CHANCE  # twice: any of two workers could be it


def _excess_of_parts(job: Job, row: int) -> npt.NDArray[np.float64]:
    """Per part, what the others waited for it beyond what was waited for the worst of them."""
    judged = job.judged
    caused = np.where(job.culprit >= 0, job.blamed * job.count, 0.0)[judged]
    parts = _parts(job)[judged]
    found = np.zeros((len(job.workers), PARTS))
    named = job.culprit[judged]
    np.add.at(found, (named[named >= 0], parts[named >= 0]), caused[named >= 0])
    others = np.delete(found, row, axis=0)
    return np.asarray(found[row] - others.max(axis=0, initial=0.0))


def _parts(job: Job) -> Ints:
    """Columns: the part of the job that each belongs to, parts being as long as each other."""
    wall = np.nan_to_num(np.nanmedian(job.wall, axis=0)) * job.count * job.judged
    until = np.cumsum(wall)
    middle = (until - wall / 2) / max(float(until[-1]), 1e-9)
    return np.minimum(PARTS * middle, PARTS - 1).astype(np.int64)
