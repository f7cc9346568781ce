"""In which precision a graph computes."""

from __future__ import annotations

from unslow.record.engine.foreign import Foreign

_MOST_OPS = 20_000
_FLOATS = ("float64", "float32", "float16", "bfloat16")


def ops_by_precision(graph: Foreign) -> dict[str, int]:
    """How many ops of a graph have a first result of each precision."""
    counts = dict.fromkeys(_FLOATS, 0)
    operations = graph.get_operations()[:_MOST_OPS] if graph is not None else ()
    for op in operations:
        for output in op.outputs[:1]:
            name = output.dtype.base_dtype.name
            if name in counts:
                counts[name] += 1
    return counts
