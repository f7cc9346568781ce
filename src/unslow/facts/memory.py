"""Facts about memory: who holds it, what is made, and what the garbage collector does."""

from __future__ import annotations

from unslow.facts.schema import Stack, Thinned


class Gc(Thinned, probe="gc"):
    """A garbage collection of more than a millisecond."""

    generation: int = 0
    collected: int | None = None
    asked: bool = False  # somebody called gc.collect(); Python's own come past its thresholds
    stack: Stack = ()  # the user's line that asked
