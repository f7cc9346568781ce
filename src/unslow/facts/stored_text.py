"""A long text of a fact that stays in its file: those of a thousand processes fill the memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class StoredText(NamedTuple):
    """Where the text is."""

    path: str
    begin: int  # byte at which its line begins
    size: int  # bytes of the line
    key: str  # of the text in its line

    def read(self) -> str:
        """The text; nothing where the file was changed or removed meanwhile."""
        try:
            with Path(self.path).open("rb") as file:
                file.seek(self.begin)
                text = json.loads(file.read(self.size))[self.key]
        except (OSError, ValueError, LookupError, TypeError):
            return ""
        return text if isinstance(text, str) else ""
