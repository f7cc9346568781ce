"""What lives in the user's process: standard library only, never raises, restores what it wrapped.

The package is callable: `with unslow.record():` shares its name.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType


class _Callable(ModuleType):
    def __call__(self, out: str | None = None, report: bool = True) -> AbstractContextManager[str]:
        """Record a block of code in this process; yields the folder of the recording.

        `out` is the run folder (default: below .unslow/). `report=False` prints nothing at the end;
        `unslow why` shows the report later. In a notebook the report appears below the cell.
        """
        from unslow.record.engine.inline import recording

        return recording(out, report)


sys.modules[__name__].__class__ = _Callable
