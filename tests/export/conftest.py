"""The readers that tests of reports use, for exports too."""

from __future__ import annotations

from ..report.readers import launch, npm

__all__ = ["launch", "npm"]
