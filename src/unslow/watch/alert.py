"""What is reported about a run: one message per matter, as data and as a sentence."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime, timezone

Json = dict[str, object]


class Matter(str, enum.Enum):
    """What can happen to a training."""

    SLOWER = "slower"
    STALLED = "stalled"
    MEMORY = "memory"
    DISK = "disk"
    DIED = "died"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Alert:
    """One message about one run."""

    matter: Matter
    run: str  # name of its folder
    folder: str
    text: str
    time: float  # seconds since the epoch
    since: float | None = None  # when it began, as far as known
    numbers: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> Json:
        """A line of `unslow watch --format json`; see report/schema-watch.json."""
        return {
            "schema": 1,
            "kind": self.matter.value,
            "run": self.run,
            "folder": self.folder,
            "text": self.text,
            "time": stamp(self.time),
            "since": None if self.since is None else stamp(self.since),
            "numbers": self.numbers,
        }


def stamp(seconds: float) -> str:
    """A moment as ISO 8601 in UTC, to the second."""
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
