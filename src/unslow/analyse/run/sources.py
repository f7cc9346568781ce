"""The user's files as they were when the run was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse.run.recorded import Recorded
from unslow.facts.process import SourceKept
from unslow.runfolder import layout


def sources_of(folder: str, processes: Iterable[Recorded]) -> dict[str, str]:
    """The text of each file that was copied into the run folder; damaged copies are left out."""
    found: dict[str, str] = {}
    for process in processes:
        for source in process.of(SourceKept):
            try:
                kept = layout.read_inside(folder, layout.SOURCES, f"{source.digest}.py")
                found[source.file] = kept.decode("utf-8", "surrogatepass")
            except (OSError, ValueError):
                continue
    return found
