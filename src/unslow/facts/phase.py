"""The shares that a step is cut into: all that the recorder and the reports must agree on."""

from __future__ import annotations

import enum


class Phase(enum.IntEnum):
    """A share of a step. Phases sum to the step's wall time; OTHER is the user's own Python."""

    INPUT = 0  # waiting for data in Python
    TRACE = 1  # turning Python into a graph
    BUILD = 2  # making ops, variables, layers or models outside any trace
    RUN = 3  # TensorFlow executes
    SYNC = 4  # a value is fetched to the host
    SAVE = 5  # checkpoints
    LOG = 6  # summaries and logs
    EVAL = 7  # validation and prediction
    HOOKS = 8  # callbacks and session hooks
    GC = 9  # Python's garbage collector
    OTHER = 10
