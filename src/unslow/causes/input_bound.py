"""The step waits for data: the pipeline makes batches more slowly than the step uses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.repeated_fits import amid_fit
from unslow.analyse.host.machine import contention, cores_of
from unslow.analyse.input import remedies
from unslow.analyse.input import remedy_words as words
from unslow.analyse.input.discarded_elements import Discard, DiscardApart, discards_apart
from unslow.analyse.input.pipeline import Stage
from unslow.analyse.input.queues import QueueWait, queue_waits
from unslow.analyse.input.remedies import (
    SLEEPING_THREADS,
    Remedy,
    best_remedy,
    certainty,
    require_models,
)
from unslow.analyse.input.repeated_work import cache_finding
from unslow.analyse.input.waits import Wait, waits
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import LEAST_SHARE, Cause
from unslow.facts.data import BuiltStage, Next, PythonFunction
from unslow.facts.functions import UnusualCall
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.facts.sessions import InspectedRun
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Phase, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_USUALLY_WAITS = 0.5  # of the mean wait, which the median step must wait (judgement)
_WORTH = 0.10  # of a step: a pipeline that keeps up still waits a little now and then
_WORTH_IN_QUEUE = 0.25  # the same for a queue: its wait is seen in a few steps only
_FEW_STEPS = 6  # with the first, which waits for buffers: fewer waits may be chance (judgement)
_MOST = 0.5  # of a step where nothing trains: the pipeline is what the program does (judgement)
_OWN_KINDS = ("threads", "parallel", "vectorise", "discard", "prefetch", "none")


@dataclass(frozen=True)
class _MoreThreads:
    """For a queue of TensorFlow 1."""

    threads: int


def _map(busy: float, **asked: object) -> Made:
    built = BuiltStage(kind="Map", batch_size=8, function=Place("train.py", 3, "load"))
    return Made("Map", busy, "MapAndBatch", asynchronous=True, line=5, asked=built.replace(**asked))


_SOURCE = Made("TensorSlice", 1e-5, line=4, elements=8)


def _cut(kind: str, reaching: float, busy: float) -> list[Made]:
    """A map in front of a stage that throws away all but one of the elements that reach it.

    Passes that end early leave nothing to cache.
    """
    source = Made("TensorSlice", 1e-5, line=4, elements=reaching)
    asked = BuiltStage(kind="Map", function=Place("train.py", 3, "load"))
    mapped = Made(
        kind="Map",
        busy=busy,
        runs_as="ParallelMapV2",
        parallelism=2,
        tuned=True,
        asynchronous=True,
        elements=reaching,
        line=5,
        asked=asked,
    )
    cut = [Made(kind, line=6), Made("Take", line=6)]
    return [source, mapped, *cut, Made("Prefetch", asynchronous=True, line=7)]


def _validated(reaching: float) -> Sketch:
    """A pass over a split at the end of each of four epochs."""
    seconds = [0.26 if step % 25 == 24 else 0.01 for step in range(100)]
    return Sketch(
        f"a validation for whose elements {reaching:.4g} times as many are made",
        seconds,
        phases={Phase.EVAL: [0.96 if each > 0.1 else 0.0 for each in seconds]},
        style="keras",
        facts=pipeline_facts(*_cut("Skip", reaching, 0.018), wait=0, passes=4, evaluates=True),
    )


_BURSTS = ([0.0045] * 19 + [0.076]) * 10


def _queue(wait: float) -> list[Placed]:
    ran = InspectedRun(
        cycle=0,
        took=0.01,
        updates=True,
        stack=stack_at(12),
        queue="batch",
        queue_wait=wait,
        filled_by=1,
        made=stack_at(4, "batches"),
    )
    return [at(step, ran.replace(cycle=step)) for step in (4, 8, 16, 32, 64)]


class InputBound(Cause):
    """
    What happens

    The step waits until the next batch is ready. The batch is made by a tf.data pipeline, one of
    whose stages takes longer per batch than the rest of the step; or it comes from a queue of
    TensorFlow 1, and the threads that fill it do not keep up.

    Why it is slow

    A pipeline works ahead while the step computes, so its time is hidden until its slowest stage
    takes longer than the step; from then on every step takes as long as that stage. TensorFlow
    parallelizes functions without side effects automatically, but not those that call Python or
    draw random numbers, and never in more threads than there are cores: a stage that waits for a
    disk or a server needs more. `skip` and `shard` make every element that they throw away: behind
    an expensive `map`, each pass pays for the skipped ones, and each of n shards for all of them.

    The fix

    It depends on the reason: more threads for a stage that sleeps, `num_parallel_calls` for one
    that is limited to one thread while cores are idle, a function on whole batches where calling it
    costs more than its work, `cache` for what is the same in every pass, `skip` and `shard` in
    front of the work on what they throw away, `prefetch` where nothing works ahead, more threads
    for a queue. The finding says what would limit the step next.

    When we are wrong

    The wait is measured; what would remain is computed from the times of the stages and the
    processor time of the process. Where other programs share the machine, or a disk is slow only in
    the first pass, a second run may show less. Where nothing trains, the work of the pipeline is
    what the program is for: that it takes the time is an answer then, and no fault.
    """

    title = "the step waits for data"
    reads = (*remedies.READS, Next, InspectedRun, Fit, UnusualCall)

    def detect(self, run: Run) -> Iterable[Finding]:
        found = list(self._found(run))
        yield from found
        if not found:
            require_models(run, _WORTH)

    def _found(self, run: Run) -> Iterable[Finding]:
        for wait in waits(run):
            if wait.share >= _WORTH:
                yield from self._judge(run, wait)
        for apart in discards_apart(run):
            if apart.seconds >= LEAST_SHARE * apart.loop.total:
                yield self._in_validation(run, apart)
        for queue in queue_waits(run):
            # Where all processors are busy, no queue would help: the work itself takes the time.
            is_worth = queue.step - queue.after >= _WORTH * queue.step
            if is_worth and queue.share >= _WORTH_IN_QUEUE:
                yield self._queue_finding(run, queue)

    def _judge(self, run: Run, wait: Wait) -> Iterable[Finding]:
        if wait.pipeline is None and not _usually_waits(run, wait):
            return
        best = best_remedy(run, wait)
        if best is None or (best.stage is None and not _is_habit(run, wait)):
            return
        if best.kind == "none" and not wait.loop.trains:
            yield from self._own_work(run, wait, best)
            return
        if best.kind == "cache" and best.cache is not None and not best.cache.files:
            yield cache_finding(self.id, run, wait, best)
        elif best.kind in _OWN_KINDS:
            yield self._finding(run, wait, best)

    def _own_work(self, run: Run, wait: Wait, best: Remedy) -> Iterable[Finding]:
        """Where nothing trains, the pipeline is what the program computes."""
        stage, pipeline = best.stage, wait.pipeline
        if stage is None or pipeline is None:
            return
        share = stage.seconds * pipeline.per_step / wait.step
        if share >= _MOST:
            yield Finding(
                cause=self.id,
                fault=False,
                title=f"the pipeline's own work takes {say.share(share)} of a step, in "
                f"{words.threads(stage.parallelism)}",
                location=say.place(run, stage.location or _fetched_at(run, wait)),
                seconds=wait.seconds,
                evidence=(
                    Evidence("wait per batch", wait.per_step / pipeline.per_step, "s"),
                    *words.evidence(wait, best),
                ),
                advice="Nothing trains here: this work is what the program is for. "
                f"{words.advice(best)}",
            )

    def _in_validation(self, run: Run, found: DiscardApart) -> Finding:
        by, work = found.discard.by, words.work(found.discard)
        place = say.place(run, by.location or found.loop.location)
        remedy = Remedy("discard", by, 0.0, discard=found.discard)
        return Finding(
            cause=self.id,
            title=f"each validation throws away {found.elements:,.0f} elements that {work} makes: "
            f"{say.code(place)}",
            location=place,
            seconds=found.seconds,
            evidence=(
                Evidence("passes of a validation", found.passes),
                Evidence("elements thrown away in each", round(found.elements)),
                Evidence("making them, per pass", found.seconds / found.passes, "s"),
            ),
            advice=words.advice(remedy),
            certainty=Certainty.LIKELY,
            detail=remedy,
        )

    def _queue_finding(self, run: Run, queue: QueueWait) -> Finding:
        """Queue runners of TensorFlow 1: threads of the program fill the queue of batches."""
        threads = words.threads(queue.threads) if queue.threads else "threads of the program"
        return Finding(
            cause=self.id,
            location=queue.location,
            seconds=(queue.step - queue.after) * queue.loop.steps,
            title=f"each step waits {say.time(queue.per_step)} of its {say.time(queue.step)} for "
            f"data: the queue of {say.code(queue.location)} is filled by {threads}",
            evidence=(
                Evidence("wait per step", queue.per_step, "s"),
                Evidence("share of the step", say.share(queue.share)),
                Evidence("measured by", f"TensorFlow's node times, in {queue.inspected} steps"),
                Evidence("threads that fill the queue", queue.threads or "unknown"),
                Evidence("with more threads", f"{say.time(queue.after)} a step"),
            ),
            advice="Let more threads fill it (`num_threads=`), or make the batches with tf.data: "
            "`map(…, num_parallel_calls=tf.data.AUTOTUNE)`, `batch`, `prefetch`.",
            detail=_MoreThreads(max(2 * queue.threads, cores_of(run, queue.loop) or 2)),
        )

    def _finding(self, run: Run, wait: Wait, remedy: Remedy) -> Finding:
        stage = remedy.stage
        place = stage.location if stage is not None else None
        is_guess = stage is not None and not stage.seen
        waiting = f"each step waits {say.time(wait.per_step)} of its {say.time(wait.step)} for data"
        return Finding(
            cause=self.id,
            title=f"{waiting}: {words.reason(remedy)}",
            location=say.place(run, place or _fetched_at(run, wait)),
            seconds=remedy.saved(wait),
            evidence=(
                Evidence("wait per step", wait.per_step, "s"),
                Evidence("share of the step", say.share(wait.share)),
                Evidence("measured by", words.measured_by(wait)),
                *words.evidence(wait, remedy),
            ),
            advice=words.advice(remedy),
            certainty=Certainty.LIKELY if is_guess else certainty(wait),
            detail=remedy,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves import dataset_cache, dataset_pipeline

        where, detail = finding.place, finding.detail
        if isinstance(detail, _MoreThreads):
            return dataset_pipeline.fill_queue(script, where.line, detail.threads)
        if not isinstance(detail, Remedy) or detail.stage is None:
            return None
        stage, asked = detail.stage, detail.stage.asked
        if detail.cache is not None:
            return dataset_cache.cache_fix(script, where, stage.kind, detail.cache)
        if detail.kind == "threads" and detail.python is not None:
            return dataset_pipeline.more_threads(
                script, where.line, SLEEPING_THREADS, detail.python.place
            )
        if detail.kind == "parallel":
            return dataset_pipeline.parallel_map(
                script, where.line, stage.kind, asked.random, asked.function
            )
        if detail.kind == "vectorise":
            return dataset_pipeline.whole_batches(script, where.line, asked.types, asked.scalars)
        if detail.kind == "prefetch":
            return dataset_pipeline.work_ahead(script, where.line)
        if detail.discard is not None:
            return _discard_first(script, where, detail.discard)
        return _behind_stage(script, where, stage)

    FIRES = (
        Sketch(
            "a map that sleeps, one call at a time",
            phases={Phase.INPUT: 0.9, Phase.RUN: 0.08},
            facts=[
                *pipeline_facts(_SOURCE, _map(0.009, python=True, tokens=("f",)), wait=0.009),
                at(
                    90,
                    PythonFunction(
                        token="f", place=Place("train.py", 3, "load"), count=800, took=0.9, ran=0.02
                    ),
                ),
            ],
        ),
        Sketch(
            "a map with random numbers is limited to one thread, and cores are idle",
            phases={Phase.RUN: 0.95},
            style="keras",
            facts=pipeline_facts(_SOURCE, _map(0.0095, random=True), wait=0.006, in_python=False),
        ),
        Sketch(
            "a shuffle that is refilled every 20 steps: 76 ms, and 4.5 ms in the others",
            seconds=_BURSTS,
            phases={Phase.INPUT: [0.95 if step > 0.01 else 0.05 for step in _BURSTS]},
            facts=pipeline_facts(_SOURCE, _map(0.002, random=True), wait=0.0036, steps=200),
        ),
        Sketch(
            "three of four elements are made for other workers",
            phases={Phase.INPUT: 0.85, Phase.RUN: 0.1},
            facts=pipeline_facts(*_cut("Shard", 4.0, 0.018), wait=0.0085),
        ),
        Sketch(
            "nothing trains, and each of four iterators skips as much as it takes",
            phases={Phase.INPUT: 0.85},
            style="data",
            trains=False,
            facts=pipeline_facts(*_cut("Skip", 2.0, 0.018), wait=0.0085, passes=4),
        ),
        _validated(2.0),
        Sketch(
            "a fifth of each step is waiting, and no stage explains it",
            phases={Phase.INPUT: 0.2, Phase.RUN: 0.75},
            facts=pipeline_facts(_SOURCE, _map(0.00002), wait=0.002),
        ),
        Sketch(
            "a queue that one thread fills",
            phases={Phase.RUN: 0.95},
            style="session",
            facts=_queue(0.006),
        ),
    )
    QUIET = (
        Sketch(
            "nothing trains: the pipeline, on all cores, is what the program computes",
            phases={Phase.INPUT: 0.85},
            style="data",
            trains=False,
            facts=pipeline_facts(
                _SOURCE,
                Made("ParallelMap", 0.017, parallelism=2, tuned=True, asynchronous=True, line=5),
                wait=0.0085,
            ),
        ),
        _validated(1.05),
        Sketch(
            "nothing trains, and a few elements are skipped",
            phases={Phase.INPUT: 0.85},
            style="data",
            trains=False,
            facts=pipeline_facts(*_cut("Skip", 1.05, 0.018), wait=0.0085, passes=4),
        ),
        Sketch(
            "nothing trains, and what is skipped costs nothing",
            phases={Phase.INPUT: 0.85},
            style="data",
            trains=False,
            facts=pipeline_facts(*_cut("Skip", 4.0, 0.0002), wait=0.0085, passes=4),
        ),
        Sketch(
            "the elements of other workers are made while a longer step runs",
            phases={Phase.INPUT: 0.01, Phase.RUN: 0.95},
            facts=pipeline_facts(*_cut("Shard", 4.0, 0.018), wait=0.00005),
        ),
        Sketch(
            "no stage explains the wait, and others use the processors",
            phases={Phase.INPUT: 0.2, Phase.RUN: 0.75},
            facts=pipeline_facts(_SOURCE, _map(0.00002), wait=0.002),
            ticks={
                "waited": [0.0, 0.5, 1.0, 1.5, 2.0],
                "ran": [0.0, 0.2, 0.4, 0.6, 0.8],
                "machine_cpu": [0.0, 1.0, 2.0, 3.0, 4.0],
                "user_cpu": [0.0, 0.2, 0.4, 0.6, 0.8],
            },
        ),
        Sketch(
            "no stage explains the wait in a run of five steps",
            seconds=[2.0] + [0.5] * 4,
            phases={Phase.INPUT: 0.6, Phase.RUN: 0.3},
        ),
        Sketch(
            "a queue that is never empty",
            phases={Phase.RUN: 0.95},
            style="session",
            facts=_queue(0.0002),
        ),
        Sketch(
            "an expensive map is hidden behind a longer step",
            phases={Phase.INPUT: 0.01, Phase.RUN: 0.95},
            facts=pipeline_facts(_SOURCE, _map(0.0095, random=True), wait=0.00005),
        ),
        Sketch(
            "fetching a ready batch takes a while in Python, but nobody waits",
            seconds=[0.0004] * 100,
            phases={Phase.INPUT: 0.15, Phase.RUN: 0.6},
            facts=pipeline_facts(_SOURCE, _map(0.0001, random=True), wait=0.00001),
        ),
        Sketch(
            "fit() is called for every step, and each call starts a pipeline of its own",
            phases={Phase.INPUT: 0.4, Phase.RUN: 0.1},
            style="keras",
            facts=[
                at(step, Fit(stack=stack_at(10, "main"), model=1, data="ndarray"))
                for step in range(1, 101)
            ],
        ),
        Sketch(
            "a cache is being filled: the first pass waits, the later ones do not",
            phases={Phase.INPUT: [0.8] * 25 + [0.005] * 75, Phase.RUN: [0.1] * 25 + [0.9] * 75},
            facts=pipeline_facts(
                _SOURCE, _map(0.008), Made("Cache", line=6), wait=0.00005, passes=4
            ),
        ),
    )


def _discard_first(script: Script, where: Location, found: Discard) -> Fix | Refusal:
    """What is thrown away is left out in front of the map that makes it."""
    from unslow.fix.moves.discard_first import discard_first

    work = found.made_by.location
    if not found.one_to_one:
        reason = "a stage between the two gives more or fewer elements than it is given"
        return Refusal(reason, where)
    if work is None or work.file != where.file:
        return Refusal("the work on what it throws away is added in another file", work)
    is_same = not (found.made_by.asked.random or found.made_by.asked.python)
    return discard_first(script, where.line, found.by.kind.lower(), work.line, is_same)


def _behind_stage(script: Script, where: Location, stage: Stage) -> Fix | Refusal | None:
    """A cache in front of the stage that takes the time is moved behind it."""
    from unslow.fix.moves.dataset_cache import LARGE_CACHE, cache_behind

    asked = stage.asked
    size = asked.length * stage.item_bytes
    if asked.random or asked.python or asked.length <= 0 or not size:
        return None
    edited = cache_behind(script, where.line, stage.kind)
    if edited is None:
        return None
    if size > LARGE_CACHE:
        why = f"a cache behind it would hold {say.size(size)}: whether that fits is yours to say"
        return Refusal(why, where)
    note = f"The cache then holds {say.size(size)} of what this line makes."
    return Fix("cache behind the expensive stage", Safety.EXACT, edited.files, note)


def _usually_waits(run: Run, wait: Wait) -> bool:
    """Whether most steps wait, not only those in which Keras made a new iterator over arrays."""
    fetching = wait.loop.phases[amid_fit(run, wait.loop), Phase.INPUT]
    return len(fetching) > 0 and float(np.median(fetching)) > _USUALLY_WAITS * wait.per_step


def _is_habit(run: Run, wait: Wait) -> bool:
    """Whether a wait that no stage explains is the program's, and not that of a few steps.

    On a busy machine the batches may have been ready while threads waited for a processor.
    """
    return wait.loop.steps > _FEW_STEPS and not contention(run, wait.loop).is_busy


def _fetched_at(run: Run, wait: Wait) -> Location:
    """The line that fetches the batches; the loop's own where it was not seen."""
    fetches = [one for one in run.facts(Next, wait.loop.process) if one.stack]
    longest = max(fetches, key=lambda one: one.took, default=None)
    return say.place(run, longest.stack[0]) if longest is not None else wait.loop.location
