"""What a wait for data and its remedy are called in a finding."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.analyse import wording as say
from unslow.analyse.input.discarded_elements import Discard
from unslow.analyse.input.overlay import READERS
from unslow.analyse.input.pipeline import Stage
from unslow.analyse.input.remedies import SLEEPING_THREADS, Remedy
from unslow.analyse.input.waits import Wait, limits_next
from unslow.analyse.stats.robust import ratio
from unslow.model import Evidence

_ADVICE = {
    "threads": f"Let it run {SLEEPING_THREADS} times at once: "
    f"`num_parallel_calls={SLEEPING_THREADS}`, and as many threads through "
    "`options.threading.private_threadpool_size` (TensorFlow has one per core otherwise).",
    "parallel": "Give it `num_parallel_calls=tf.data.AUTOTUNE`.",
    "vectorise": "Call `batch` first and let the function handle the whole batch.",
    "prefetch": "Put `.prefetch(tf.data.AUTOTUNE)` at the end of the pipeline.",
}
_READS = (*READERS, "FlatMap", "Interleave")


def reason(remedy: Remedy) -> str:
    stage = remedy.stage
    if stage is None:
        return "the reason is not visible"
    code = _named(stage)
    if remedy.kind == "threads" and remedy.python is not None:
        asleep = ratio(remedy.python.slept, remedy.python.took)
        return f"{code} sleeps {say.share(asleep)} of its time, in {threads(stage.parallelism)}"
    if remedy.kind == "parallel":
        return f"{code} may only use {threads(stage.parallelism)}"
    if remedy.kind == "vectorise":
        size = stage.asked.batch_size
        return (
            f"{code} is called for each of {size} elements, and the calls cost more than the work"
        )
    if remedy.discard is not None:
        found = remedy.discard
        return f"{code} throws away {say.share(found.share)} of what {work(found)} makes"
    if remedy.kind == "prefetch":
        return "no stage works ahead while the step runs"
    if not stage.seen:
        return f"most likely for {code}, whose work was done before it could be read"
    return f"{code} takes {say.time(stage.seconds)} a batch"


def work(found: Discard) -> str:
    where = found.made_by.location
    return f"the map at {where.file}:{where.line}" if where else found.made_by.name


def _named(stage: Stage) -> str:
    return say.code(stage.location) if stage.location else stage.name


def threads(number: float) -> str:
    return "one thread" if number <= 1 else f"{number:.0f} threads"


def advice(remedy: Remedy) -> str:
    stage = remedy.stage
    if stage is None:
        return (
            "Its stages cannot be read here (a distribution strategy, a graph, autotuning switched "
            "off, or TensorFlow before 2.17): record a loop over the plain dataset to see them."
        )
    if remedy.discard is not None:
        return _discard_advice(remedy.discard)
    if remedy.kind in _ADVICE:
        return _ADVICE[remedy.kind]
    if not stage.seen:
        return (
            "How long the stage takes is not known. Iterate over the dataset without training to "
            "measure it, and store its result (`tf.data.Dataset.save`) or make it cheaper."
        )
    if stage.kind in _READS:
        return (
            "Read several files in parallel: `Dataset.from_tensor_slices(files).interleave(…, "
            "num_parallel_calls=tf.data.AUTOTUNE)`; merge many small files into a few large ones."
        )
    return (
        "The stage already uses all cores: do this work once and store the result "
        "(`tf.data.Dataset.save`), or make it cheaper; more threads would not help."
    )


def _discard_advice(found: Discard) -> str:
    method = found.by.kind.lower()
    advice = f"Call `{method}` in front of {work(found)}: what it leaves out is not made then."
    if found.by.kind == "Skip" and not found.one_to_one:
        advice += " There it counts single elements, in the order of the source."
    return advice


def _discard_evidence(found: Discard) -> Iterator[Evidence]:
    yield Evidence("elements thrown away", say.share(found.share))
    yield Evidence("made by", work(found))
    yield Evidence("making them, per step", found.seconds, "s")


def evidence(wait: Wait, remedy: Remedy) -> Iterator[Evidence]:
    stage = remedy.stage
    if stage is None or wait.pipeline is None:
        return
    if remedy.discard is not None:
        yield from _discard_evidence(remedy.discard)
        return
    if not stage.seen:
        yield Evidence("likely stage", stage.name)
        return
    how = "tuned by TensorFlow" if stage.tuned else "fixed"
    yield Evidence("slowest stage", stage.name)
    yield Evidence("its work per batch", stage.busy, "s")
    yield Evidence("its threads", f"{stage.parallelism:.0f}, {how}")
    after, limit = limits_next(wait, wait.pipeline, stage)
    yield Evidence("if it were free", f"{say.time(after)} a step, limited by {limit}")


def measured_by(wait: Wait) -> str:
    profiled = wait.pipeline is not None and wait.pipeline.profiled
    if profiled or wait.loop.style == "session":
        return "TensorFlow's profiler, in a few steps"
    return "the iterator's own model" if wait.compiled else "the fetch of the batch"
