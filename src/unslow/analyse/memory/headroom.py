"""How much memory is left, and when growth will have used it up."""

from __future__ import annotations

from unslow.model import Process


def memory_left(process: Process) -> float:
    """Bytes until the machine, or the container's limit, is full; 0 where that is not known."""
    limit = float(process.machine.get("limit_bytes") or 0)
    used = _last_reading(process, "group_bytes") if limit else None
    if used is not None:
        return max(0.0, limit - used)
    return _last_reading(process, "available") or 0.0


def _last_reading(process: Process, column: str) -> float | None:
    values = process.ticks.columns.get(column)
    return float(values[-1]) if values is not None and len(values) else None


def steps_until_full(left: float, bytes_per_step: float) -> str:
    """When memory will be full, in words; nothing where it is not known what is left."""
    steps = int(left / bytes_per_step)
    return f"out of memory in about {steps:,} steps" if steps else ""
