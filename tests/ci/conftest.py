"""The readers that tests of reports use, for templates too."""

from __future__ import annotations

from ..report.readers import npm

__all__ = ["npm"]
