"""Facts about TF1-style sessions: their runs, what is fed and fetched, and graphs that grow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from unslow.facts.schema import Duration, Fact, Record, Stack, Tally, Thinned


class RunsAtLine(Tally, probe="sessions", kind="runs"):
    """Runs of a session at a line."""


class Reopened(Thinned, probe="sessions"):
    """The first run of some fetches in a session whose graph another session has run before."""

    session: int  # the how many-th session of its graph
    usual: Duration = 0.0  # the shortest repeated run of the same fetches; 0 if there was none
    stack: Stack = ()  # who opened the session
    step: int = 0


class Restarted(Thinned, probe="sessions"):
    """The first update after a pipeline was started again; `took` includes its wait for data."""

    start: Duration  # the run of the initializer
    stack: Stack = ()  # who ran the initializer
    step: int = 0


class InspectedRun(Fact, probe="sessions", kind="run"):
    """One run of a training step that was inspected (at steps 4, 8, 16 …)."""

    KEYS: ClassVar[Mapping[str, str]] = {"update": "with"}

    cycle: int  # the step
    index: int = 0  # of the run within the step
    stack: Stack = ()
    took: Duration = 0.0
    updates: bool = False  # it trains
    runs: int = 1  # in the step
    fetches: tuple[str, ...] = ()
    feeds: int = 0
    ops: int = 0
    kernels: Duration = 0.0  # in which at least one node was at work
    timed: bool = False  # TensorFlow timed its nodes
    # Beside an update that is fed the same values:
    same_before: bool = False  # the update that follows
    same_after: bool = False  # the update that precedes it
    update: Stack = ()  # that update's line
    random: bool = False
    draws: bool = False  # it takes a batch from a pipeline
    writes: bool = False  # it changes variables
    depends: bool = False  # on what the update changes
    like: int | None = None  # where no update is fed so: `index` of the first run that is
    # Beside that update or run:
    shared: float = 0.0  # part of its ops that the other needs too
    own: Duration = 0.0  # kernels that the other does not need
    reads_own: bool = False  # it reads variables that the other does not
    # Where it takes its batch from a queue:
    queue: str = ""
    queue_wait: Duration = 0.0  # only the dequeue was at work
    made: Stack = ()  # the line that made the queue
    filled_by: int = 0  # threads


class Feed(Fact, probe="sessions"):
    """A value that was fed to an inspected run."""

    cycle: int
    index: int = 0
    stack: Stack = ()
    name: str
    type: str
    wanted: str  # dtype of the placeholder
    dtype: str = ""  # of the value; empty if it is no array
    bytes: int = 0
    contiguous: bool = True
    convert: Duration = 0.0  # repeated by the probe, as is `copy`
    copy: Duration = 0.0
    elements: int = 0
    position: int = 0  # in the feed_dict


class Fetch(Fact, probe="sessions"):
    """A value that an inspected update fetched."""

    cycle: int
    index: int = 0
    stack: Stack = ()
    name: str
    bytes: int
    position: int = 0
    of: int = 1  # values that were fetched
    key: str | int | None = None  # of the value in the result, if one key leads to it
    own_ops: int = 0  # ops that the update does not need
    own: Duration = 0.0  # kernels that the update does not need
    spare: Duration = math.inf  # the same of all fetches together
    timed: bool = False
    dtype: str = ""


class RunSite(Record):
    """What the runs of a growing graph took at one line."""

    stack: Stack = ()
    known: int = 0  # runs of fetches that were run before
    known_took: Duration = 0.0
    extended: Duration = 0.0  # taking over new ops before those runs
    fresh: int = 0  # runs of fetches that were never run before
    fresh_took: Duration = 0.0
    idle: Duration = 0.0  # least time of a fresh run in which its thread was idle: the computation


class GraphGrew(Thinned, probe="graphs", kind="graph"):
    """A session's graph has grown since the last inspection; `new` is 0 in the last fact."""

    graph: int  # its number
    nodes: int
    new: int = 0
    step: int = 0
    since: int = 0  # updates since the last inspection
    lines: tuple[tuple[Stack, int], ...] = ()  # new ops by the user's frames
    types: tuple[tuple[str, int], ...] = ()
    growths: int = 0
    runs: tuple[RunSite, ...] = ()
