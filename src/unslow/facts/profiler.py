"""Facts about profilers: our own short windows, and those that the program left on."""

from __future__ import annotations

from unslow.facts.schema import Duration, Fact, Stack, Tally, Thinned


class ProfilerWindow(Fact, probe="window", kind="window"):
    """A few steps were recorded by TensorFlow's profiler."""

    file: str = ""  # the profile, below the run folder; empty where it was too large
    steps: int = 0
    step: int = 0  # steps before it
    wall: Duration = 0.0
    spent: Duration = 0.0  # closing it
    whole: bool = True  # False: closed in the middle of a step


class ProfilerSwitch(Thinned, probe="profilers", kind="profiler"):
    """A profiler, debugger or tracer went on or off; `took`: starting or writing its results."""

    what: str
    on: bool
    step: int = 0
    stack: Stack = ()


class Timeline(Tally, probe="profilers"):
    """The trace of a session's run was turned into the text of a file."""


class FullTrace(Fact, probe="sessions"):
    """A run of a session that the program asked a full trace of."""

    took: Duration = 0.0
    inside: Duration = 0.0  # from the start of the first node to the end of the last
