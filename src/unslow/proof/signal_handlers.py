"""Handlers of signals that hold for a while."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

Handler = Callable[[int, FrameType | None], None]


@contextlib.contextmanager
def handling(handlers: Mapping[int, Handler]) -> Iterator[None]:
    """Put handlers in, and those that were there before back at the end."""
    kept = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, before in kept.items():
            # None: it was not set by Python, and cannot be put back.
            signal.signal(number, before if before is not None else signal.SIG_DFL)
