"""Settings of a project: `[tool.unslow]` in pyproject.toml, or unslow.toml, and comments."""

from __future__ import annotations

from unslow.settings.file import Known as Known
from unslow.settings.file import Settings as Settings
from unslow.settings.file import load as load
