"""Requests the lowest rate of recording once the verdict on a running training has been stable."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from unslow.errors import UnslowError
from unslow.live.beside import lower_priority
from unslow.live.judge import Judge
from unslow.runfolder.layout import request_lowest_rate

STABLE = 60.0  # seconds for which the verdict must be the same, unless another time is given
_PATIENCE = 2.0  # seconds to wait at the end for a diagnosis under way

Verdict = frozenset[tuple[str, str, int]]


@dataclass
class Stability:
    """For how long diagnoses have found the same."""

    wanted: float
    _verdict: Verdict | None = None
    _since: float = 0.0
    _judged: int = 0

    def is_known(self, judge: Judge, now: float) -> bool:
        """Whether a diagnosis just now says what one said at least the wanted time ago."""
        if judge.judged < 2 or judge.judged == self._judged:
            return False
        self._judged = judge.judged
        verdict = verdict_of(judge)
        if verdict != self._verdict:
            self._verdict, self._since = verdict, now
        return now - self._since >= self.wanted


def verdict_of(judge: Judge) -> Verdict:
    """The certain findings by cause and line; none is a verdict, too."""
    places = ((each["cause"], each["location"] or {}) for each in judge.certain)
    return frozenset(
        (cause, str(place.get("file", "")), int(place.get("line", 0))) for cause, place in places
    )


class UntilKnown:
    """Use as a context manager around a command that is recorded; `stable` None does nothing."""

    def __init__(self, folder: str, stable: float | None) -> None:
        self._folder = folder
        self._stability = Stability(stable) if stable is not None else None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="until known", daemon=True)

    def __enter__(self) -> UntilKnown:
        if self._stability is not None:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _work(self) -> None:
        lower_priority()
        try:
            self._request_when_known()
        except Exception:  # noqa: BLE001 - the training is recorded in detail to its end
            return

    def _request_when_known(self) -> None:
        from unslow.live.watch import SHORTEST, Watch

        assert self._stability is not None
        watch = Watch(self._folder)
        while not self._stop.wait(SHORTEST):
            before = time.thread_time()
            try:
                watch.poll()
            except UnslowError:  # it has not begun yet
                continue
            if self._stability.is_known(watch.judge, time.monotonic()):
                request_lowest_rate(self._folder)
                return
            self._stop.wait(watch.rest(before))
