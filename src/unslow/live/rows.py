"""The steps of one process in bounded memory: old rows are merged in pairs."""

from __future__ import annotations

import numpy as np

from unslow.runfolder.folding import folded_to
from unslow.runfolder.steplog import FIELDS, taken

MOST = 2048  # rows kept: finding loops and trends in them takes about 4 ms
LATEST = 512  # rows at the end that are never merged: they show the present

_AT_ONCE = 16 * MOST  # rows taken in one go, so that joining a long run needs little memory


class Rows:
    """The rows of a `.steps` file, but never more than a few thousand."""

    def __init__(self) -> None:
        self._rows: np.ndarray = np.empty(0, dtype=FIELDS)
        self.steps_seen = 0  # updates in all rows so far
        self.fresh: np.ndarray = self._rows  # rows of the last `add`, as they were written

    def add(self, data: bytes) -> int:
        """Take whole rows as they were written; says how many bytes they were."""
        fresh, size, _ = taken(data)
        self.fresh = fresh
        self.steps_seen += int(fresh["count"].sum())
        for begin in range(0, len(fresh), _AT_ONCE):
            self._rows = np.concatenate((self._rows, fresh[begin : begin + _AT_ONCE]))
            self._rows = folded_to(self._rows, MOST, LATEST)
        return size

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def last_end(self) -> int:
        """When the last row ended, by the clock of its process; 0 without rows."""
        return int(self._rows["end"].max()) if len(self._rows) else 0

    @property
    def sites(self) -> set[int]:
        """The places at which these updates were made."""
        return {int(site) for site in np.unique(self._rows["site"])}

    def packed(self) -> bytes:
        """The rows in the format of the run folder."""
        data: bytes = self._rows.tobytes()
        return data
