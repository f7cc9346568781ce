"""Several names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_NAMED = 3  # a judgement: a title with more is not read


def listed(names: Sequence[str]) -> str:
    """`a`; `a and b`; `a, b, c and 4 more`."""
    shown = list(names)
    if len(names) > _MOST_NAMED:
        shown = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
