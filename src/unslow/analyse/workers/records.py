"""The records of a worker's steps, read back; nothing in them is trusted."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import numpy as np

from unslow.analyse.workers.job import Origin
from unslow.facts.stored_text import StoredText
from unslow.facts.workers import SYNC, SYNC_FIELDS

_FORMS = {"q": "<i8", "I": "<u4", "f": "<f4"}
RECORD = np.dtype([(name, _FORMS[form]) for name, form in SYNC_FIELDS])
assert RECORD.itemsize == SYNC.size

_LONGEST = 1e8  # seconds, three years: a sum beyond it is damage
SUMS = [name for name, form in SYNC_FIELDS if form == "f"]


def records_of(blocks: Iterable[str | StoredText], origin: Origin | None = None) -> np.ndarray:
    """The records of some blocks, in order of their steps; damaged ones are left out.

    `origin`: when the run began by the process's clock; ends are nanoseconds since then.
    """
    data = b"".join(map(_decoded, blocks))
    found = np.frombuffer(data, dtype=RECORD)
    sane = (found["count"] > 0) & (found["step"] >= found["count"]) & (found["end"] > 0)
    for name in SUMS:
        sane &= np.isfinite(found[name]) & (found[name] >= 0)
    sane &= (found["wall"] < _LONGEST) & (found["before"] <= found["wall"] * 1.001 + 1e-6)
    found = found[sane]
    found = found[np.argsort(found["step"], kind="stable")]
    first = np.ones(len(found), dtype=bool)
    first[1:] = found["step"][1:] > found["step"][:-1]
    found = found[first]
    if origin is not None:
        found["end"] -= origin.start
    return found


def _decoded(block: str | StoredText) -> bytes:
    text = block.read() if isinstance(block, StoredText) else block
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return data[: len(data) // SYNC.size * SYNC.size]
