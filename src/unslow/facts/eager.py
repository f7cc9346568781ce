"""Facts about eager execution: single ops, values fetched to the host, tensors indexed in
Python."""

from __future__ import annotations

from unslow.facts.schema import Duration, Fact, Stack, Tally


class EagerOps(Fact, probe="eager"):
    """Every eager op of one step, or of a moment outside of steps, was timed."""

    step: int = 0  # updates so far
    ops: int = 0
    took: Duration = 0.0  # in all of them
    floor: Duration = 0.0  # the least cost of dispatching one op
    kernels: Duration = 0.0  # computing beyond that, without what a loaded machine adds
    functions: int = 0  # compiled functions that were called meanwhile
    functions_took: Duration = 0.0
    tape: Stack = ()  # where the gradient tape was opened
    wall: Duration = 0.0
    lines: tuple[tuple[Stack, int, Duration], ...] = ()  # ops and time by the user's stack
    top: tuple[tuple[str, int], ...] = ()  # the most frequent op types
    random: str = ""  # an op that draws random numbers
    outside: bool = False  # no step was under way


class Sync(Tally, probe="tensors"):
    """A tensor's value was fetched to the host at a line; `amount`: bytes."""

    way: str = ""  # numpy, __float__, …


class Index(Tally, probe="tensors"):
    """An eager tensor was indexed at a line; `amount`: how often it was another tensor."""
