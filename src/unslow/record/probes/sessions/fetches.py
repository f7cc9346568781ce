"""What the runs of a session fetch, and the work that nothing else needs."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.facts.sessions import Fetch
from unslow.record.engine.foreign import Foreign
from unslow.record.probes.sessions.node_times import covered
from unslow.record.probes.sessions.session_run import (
    Operations,
    Ran,
    fed_names,
    names_of,
    ops_behind,
    writes_variable,
)

_MOST_FETCHES = 40


def measured_fetches(ran: Ran, graph: object, operations: Operations) -> Iterator[Fetch]:
    """Each fetched value with the time of the nodes that only it needs, and not the update."""
    leaves = list(_leaves(ran.fetches, ran.result))[:_MOST_FETCHES]
    fed, times = fed_names(ran.feed), ran.times
    behind = [ops_behind(operations(graph, fetch), fed) for fetch, _, _ in leaves]
    needed: set[str] = set()
    for ops in behind:
        if any(writes_variable(op) for op in ops.values()):
            needed |= set(ops)
    spare = [name for name in ran.ops if name not in needed]
    for position, (fetch, value, path) in enumerate(leaves):
        size = getattr(value, "nbytes", None)
        if size is None:
            continue
        own = [name for name in behind[position] if name not in needed]
        yield Fetch(
            cycle=0,
            name=names_of(fetch)[0],
            bytes=int(size),
            position=position,
            of=len(leaves),
            key=_only_key(path),
            own_ops=len(own),
            own=covered(times[name] for name in own if name in times),
            spare=covered(times[name] for name in spare if name in times),
            timed=bool(times),
            dtype=str(getattr(value, "dtype", "")),
        )


def _only_key(path: tuple[Foreign, ...]) -> str | int | None:
    key = path[0] if len(path) == 1 else None
    return key if isinstance(key, str | int) else None


def _leaves(
    fetches: Foreign, result: Foreign, path: tuple[Foreign, ...] = ()
) -> Iterator[tuple[Foreign, Foreign, tuple[Foreign, ...]]]:
    """Fetches beside their values, one by one; and the keys that lead to each."""
    if isinstance(fetches, dict) and isinstance(result, dict):
        for key in fetches:
            yield from _leaves(fetches[key], result.get(key), (*path, key))
        return
    nested = isinstance(fetches, list | tuple) and isinstance(result, list | tuple)
    if nested and len(fetches) == len(result):
        for index, (fetch, value) in enumerate(zip(fetches, result, strict=True)):
            yield from _leaves(fetch, value, (*path, index))
        return
    yield fetches, result, path
