"""The account of a process's peak of memory as plain data: its parts, the largest first."""

from __future__ import annotations

from unslow.analyse.memory.account import MemoryAccount
from unslow.analyse.memory.parts import MemoryPart
from unslow.model import line_text
from unslow.report.words import Row

_VISIBLE = 0.01  # of the peak: smaller parts are added up


def memory_account_of(account: MemoryAccount | None) -> Row | None:
    if account is None:
        return None
    least = _VISIBLE * account.peak
    parts = sorted(account.parts, key=lambda part: -part.bytes)
    small = sum(part.bytes for part in parts if part.bytes < least)
    return {
        "process": account.process,
        "peak_bytes": account.peak,
        "limit_bytes": account.limit,
        "unexplained_bytes": account.rest,
        "line": line_text(account.at),
        "parts": [_part(part) for part in parts if part.bytes >= least],
        "small_parts_bytes": small,
    }


def _part(part: MemoryPart) -> Row:
    return {
        "owner": part.part.value,
        "name": part.name,
        "bytes": part.bytes,
        "line": line_text(part.location),
    }
