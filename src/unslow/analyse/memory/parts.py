"""The parts that a peak of memory consists of."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unslow.model import Location


class Part(enum.Enum):
    """Who holds a part of the memory."""

    START = "TensorFlow itself"
    HELD = "your arrays and containers"
    STATE = "weights, gradients and optimizer state"
    SOURCE = "arrays in datasets"
    BUFFER = "pipeline buffers"
    CONSTANT = "constants in graphs"
    COPIES = "copies of constants"
    KEPT = "functions kept for pipelines"
    TENSORS = "other tensors that Python holds"
    SLACK = "allocator slack"
    TEMPORARY = "activations and temporaries"
    GROWTH = "growth with the steps"
    REST = "the rest"


@dataclass(frozen=True)
class MemoryPart:
    """Some bytes of the peak under one name."""

    part: Part
    name: str
    bytes: float
    location: Location | None = None
