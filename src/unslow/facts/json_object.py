"""An object of JSON as `json` reads and writes it: whoever reads a value knows what it should
be."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
