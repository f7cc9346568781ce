"""Which example shows that a cause is found by a recording that began in the middle of a training."""

from __future__ import annotations

# By cause. `tests/live/test_attach_causes.py` attaches to each; docs/attached.md is made from this table.
TRIED: dict[str, str] = {}
