"""What a profiler window shows of one call: what it prepared, compiled, waited for and ran."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from pathlib import Path

from unslow.analyse.host.xplane import Span, Thread, covered, read_trace
from unslow.facts.functions import CallProfile, UnusualCall
from unslow.runfolder.layout import read_inside

_CALL = "EagerLocalExecute: __"  # followed by the name of a compiled function
_KERNEL = "EagerKernelExecute"
_WAITS = ("IteratorGetNext", "Iterator::")
_MOST_PROFILES = 256  # kept in memory


def with_profile(call: UnusualCall, folder: str) -> UnusualCall:
    """A call with what the profiler window that was kept of it says."""
    profile = read_call(folder, Path(call.trace).name) if call.trace else None
    return call if profile is None else call.replace(**profile._asdict())


@lru_cache(_MOST_PROFILES)
def read_call(folder: str, file: str) -> CallProfile | None:
    """The profile of a call that was kept in a file; None where it cannot be read."""
    try:
        return call_profile(read_inside(folder, file))
    except (OSError, ValueError):
        return None


def call_profile(data: bytes) -> CallProfile | None:
    """The longest call of a compiled function in a serialized `Trace` of the profiler."""
    threads = read_trace(data)
    everything = chain.from_iterable(thread.spans for thread in threads)
    spans = [span for span in everything if span.length]
    calls = [span for span in spans if span.name.startswith(_CALL)]
    if not calls:
        return None
    call = max(calls, key=lambda span: span.length)
    begin = _first_kernel(threads, call)
    inside = [span for span in spans if span.starts_in(call)]
    running = [span for span in inside if span.start >= begin]
    waited = covered(span for span in running if span.name.startswith(_WAITS))
    prepared = begin - call.start
    compiling = _compiling(running, begin, call.end)
    run = max(0.0, call.length - prepared - compiling - waited)
    return CallProfile(call.length, prepared, compiling, waited, run)


def _first_kernel(threads: list[Thread], call: Span) -> float:
    """When the first kernel of a call began; its own beginning where none was seen."""
    own = next(thread.spans for thread in threads if call in thread.spans)
    kernels = [span for span in own if span.name == _KERNEL and span.starts_in(call)]
    return min((kernel.start for kernel in kernels), default=call.start)


def _compiling(running: list[Span], begin: float, end: float) -> float:
    """From the first kernel, since lowering to HLO comes before the compiler's own first event."""
    if not any("Compiler::" in span.name for span in running):
        return 0.0
    executed = [span.start for span in running if span.name.endswith("ExecuteAsyncOnStream")]
    return max(0.0, min(executed, default=end) - begin)
