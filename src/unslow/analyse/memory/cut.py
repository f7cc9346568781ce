"""Something of a peak of memory that the program could do without, and why."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from unslow.analyse.memory.pipeline_buffers import RepeatedCache
from unslow.model import Location


class Reason(enum.Enum):
    """Why memory is held that the work does not need."""

    ONE_HOT = "one-hot labels"
    WIDE = "float64 data for a float32 model"
    COPY = "a copy that nothing reads any more"
    BATCH = "a batch far larger than that of fit"
    ONE_BATCH = "all rows in one batch"
    VALIDATION = "a validation batch far larger than that of fit"
    ONE_ELEMENT = "a dataset with a single element"
    CONSTANT = "arrays baked into a graph"
    BROADCAST = "a broadcast that is reduced at once"
    CALL = "a model called with all rows at once"
    COMPILED = "a compiled function called with far more rows than a step"
    OPS = "a large intermediate result of eager ops"
    REPEATED = "a cache behind a repetition"
    PREFETCH = "a prefetch of far more than a step needs"


@dataclass(frozen=True)
class Cut:
    """One thing that could go."""

    reason: Reason
    frees: float  # bytes of the peak
    location: Location | None
    name: str  # the user's name for it, or the call
    instead: str = ""  # for the reason: the batch of training, the name of a copy
    after: int = 0  # of a copy: the line after which nothing reads it
    dropped: float = math.inf  # of a copy: bytes of the peak that go if it is dropped there
    copies: tuple[str, ...] = ()  # names of what was made from it, which goes with it
    cache: RepeatedCache | None = None
    rows: str = ""  # of a call: how many it was given
    needs: str = ""  # of a call: the memory that it takes in batches
