"""What a program may ask of unslow; the package itself offers these names."""

from __future__ import annotations

from pathlib import Path

from unslow.model import Diagnosis


def why(folder: str | Path) -> Diagnosis:
    """Judge a recorded run: what `unslow why` prints, as data. `folder` is the run folder."""
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose

    return diagnose(load(str(folder)))
