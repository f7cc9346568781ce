"""The step waits for data: the pipeline makes batches more slowly than the step uses them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.repeated_fits import amid_fit
from unslow.analyse.input.overlay import READERS
from unslow.analyse.input.queues import QueueWait, queue_waits
from unslow.analyse.input.remedies import Remedy, limit, remedies
from unslow.analyse.input.repeated_work import cache_finding
from unslow.analyse.input.waits import Wait, limits_next, waits
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, fact
from unslow.cause import Cause
from unslow.facts.schema import Place
from unslow.facts.sessions import InspectedRun
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Phase, Refusal, Run

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_USUAL = 0.5
_QUEUED = 0.25  # of a step: a wait for a queue is seen in a few steps only
_WORTH = 0.10  # of a step: a pipeline that keeps up still waits a little now and then
_OURS = ("threads", "parallel", "vectorise", "prefetch", "none")


def _map(busy: float, **settings: object) -> Made:
    given = {"batch_size": 8, "function": ["train.py", 3, "load"], **settings}
    return Made(
        "Map", busy, "MapAndBatch", asynchronous=True, line=5, settings=tuple(given.items())
    )


_SOURCE = Made("TensorSlice", 1e-5, line=4, elements=8)


def _queue(wait: float) -> list[Placed]:
    ran = InspectedRun(
        cycle=0,
        took=0.01,
        updates=True,
        stack=(Place("train.py", 12, "<module>"),),
        queue="batch",
        queue_wait=wait,
        filled_by=1,
        made=(Place("train.py", 4, "batches"),),
    )
    return [at(step, ran.replace(cycle=step)) for step in (4, 8, 16, 32, 64)]


class InputBound(Cause):
    """
    What happens

    The step stands still until the next batch is there. The batch is made by a tf.data pipeline, and one of its
    stages takes longer per batch than the rest of the step does; or it comes from a queue of TensorFlow 1, and the
    threads that fill it do not keep up.

    Why it is slow

    A pipeline works ahead while the step computes, so its time is hidden until its slowest stage takes longer than
    the step; from there on every step takes as long as that stage. TensorFlow runs functions without side effects
    in parallel by itself, but not those that call Python or draw random numbers, and never in more threads than there
    are cores: a stage that waits for a disk or a server needs more.

    The fix

    It follows the reason: more threads for a stage that sleeps, `num_parallel_calls` for one that is held to
    one thread while cores are idle, a function on whole batches for one whose dispatch costs more than its work,
    `cache` for what is the same in every pass, `prefetch` where nothing works ahead, more threads for a queue. The
    finding says what would limit the step next.

    When we are wrong

    The wait itself is measured; what another stage would leave is computed from the times of the stages and the
    processor time of the process. Where other programs share the machine, or a disk is slow only for the first
    pass, a second run may show less.
    """

    title = "the step waits for data"
    needs = ("input", "pipeline")
    reads = (InspectedRun,)

    def detect(self, run: Run) -> Iterable[Finding]:
        for wait in waits(run):
            if wait.share < _WORTH or (wait.pipeline is None and not _usually(run, wait)):
                continue
            best = next(iter(remedies(run, wait)), None)
            if best is None:
                continue
            if best.kind == "cache" and not best.facts["files"]:
                yield cache_finding(self.id, run, wait, best)
            elif best.kind in _OURS:
                yield self._finding(run, wait, best)
        for queue in queue_waits(run):
            # Where all processors are busy, it is the work itself that takes the time, and no queue would help.
            if queue.share >= _QUEUED and queue.step - queue.after >= _WORTH * queue.step:
                yield self._queued(run, queue)

    def _queued(self, run: Run, queue: QueueWait) -> Finding:
        """Queue runners of TensorFlow 1: the batch comes from a queue that threads of the program fill."""
        threads = _threads(queue.threads) if queue.threads else "threads of the program"
        return Finding(
            cause=self.id,
            location=queue.location,
            seconds=(queue.step - queue.after) * queue.loop.steps,
            title=f"each step waits {say.time(queue.per_step)} of its {say.time(queue.step)} for data: the queue of "
            f"{say.code(queue.location)} is filled by {threads}",
            evidence=(
                Evidence("wait per step", queue.per_step, "s"),
                Evidence("share of the step", say.share(queue.share)),
                Evidence("seen by", f"TensorFlow's own times of the nodes, in {queue.looks} steps"),
                Evidence("threads that fill the queue", queue.threads or "not told"),
                Evidence("with more threads", f"{say.time(queue.after)} a step"),
            ),
            advice="Let more threads fill it (`num_threads=`), or make the batches with tf.data: "
            "`map(…, num_parallel_calls=tf.data.AUTOTUNE)`, `batch`, `prefetch`.",
            facts={
                "remedy": "queue",
                "threads": max(2 * queue.threads, run.processes[0].machine.get("cores") or 2),
            },
        )

    def _finding(self, run: Run, wait: Wait, remedy: Remedy) -> Finding:
        stage = remedy.stage or (limit(wait) if wait.pipeline else None)
        place = stage.location if stage and stage.location else _fetched_at(run, wait)
        place = say.place(run, place)
        waiting = f"each step waits {say.time(wait.per_step)} of its {say.time(wait.step)} for data"
        evidence = [
            Evidence("wait per step", wait.per_step, "s"),
            Evidence("share of the step", f"{say.share(wait.share)}"),
            Evidence("seen by", _seen_by(wait)),
        ]
        if stage is not None and wait.pipeline is not None:
            how = "tuned by TensorFlow" if stage.tuned else "fixed"
            evidence += [
                Evidence("slowest stage", stage.name),
                Evidence("its work per batch", stage.busy, "s"),
                Evidence("its threads", f"{stage.parallelism:.0f}, {how}"),
            ]
            after, what = limits_next(wait, stage)
            evidence.append(
                Evidence("if it were free", f"{say.time(after)} a step, limited by {what}")
            )
        return Finding(
            cause=self.id,
            title=f"{waiting}: {_why(remedy)}",
            location=place,
            seconds=remedy.saved(wait),
            evidence=tuple(evidence),
            advice=_advice(remedy),
            certainty=Certainty.MEASURED if wait.pipeline else Certainty.LIKELY,
            facts={
                **remedy.facts,
                "remedy": remedy.kind,
                "kind": stage.kind if stage else "",
                "settings": dict(stage.settings) if stage else {},
            },
        )

    FIRES = (
        Sketch(
            "a map that sleeps, one call at a time",
            phases={Phase.INPUT: 0.9, Phase.RUN: 0.08},
            facts=[
                *pipeline_facts(_SOURCE, _map(0.009, python=True, tokens=["f"]), wait=0.009),
                fact(
                    "python_function",
                    90,
                    token="f",
                    count=800,
                    took=0.9,
                    ran=0.02,
                    place=["train.py", 3, "load"],
                ),
            ],
        ),
        Sketch(
            "a map with random numbers is held to one thread, and cores are idle",
            phases={Phase.RUN: 0.95},
            style="keras",
            facts=pipeline_facts(_SOURCE, _map(0.0095, random=True), wait=0.006, in_python=False),
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
            "fetching what lies ready takes a while in Python, but nobody waits",
            seconds=[0.0004] * 100,
            phases={Phase.INPUT: 0.15, Phase.RUN: 0.6},
            facts=pipeline_facts(_SOURCE, _map(0.0001, random=True), wait=0.00001),
        ),
        Sketch(
            "fit() is called for every step, and each call starts a pipeline of its own",
            phases={Phase.INPUT: 0.4, Phase.RUN: 0.1},
            style="keras",
            facts=[
                fact("fit", step, stack=[["train.py", 10, "main"]], model=1, data="ndarray")
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

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves import dataset_cache, dataset_pipeline

        facts, where = finding.facts, finding.location
        assert where is not None
        if facts["remedy"] == "queue":
            return dataset_pipeline.fill_queue(script, where.line, int(facts["threads"]))
        settings = dict(facts["settings"])
        if facts["remedy"] == "cache":
            return dataset_cache.cache_fix(finding, script)
        if facts["remedy"] == "threads":
            file, line, name = facts["python"]
            return dataset_pipeline.more_threads(
                script, where.line, int(facts["threads"]), (str(file), int(line), str(name))
            )
        if facts["remedy"] == "parallel":
            return dataset_pipeline.parallel_map(
                script, where.line, str(facts["kind"]), bool(settings.get("random"))
            )
        if facts["remedy"] == "vectorise":
            return dataset_pipeline.whole_batches(script, where.line, settings)
        if facts["remedy"] == "prefetch":
            return dataset_pipeline.work_ahead(script, where.line)
        return None


def _seen_by(wait: Wait) -> str:
    if wait.loop.style == "session" or (wait.pipeline is not None and wait.pipeline.profiled):
        return "TensorFlow's profiler, in a few steps"
    return "the iterator's own model" if wait.compiled else "the fetch of the batch"


def _usually(run: Run, wait: Wait) -> bool:
    """Whether most steps wait, and not only those in which an iterator over data of Python's was made anew."""
    fetching = wait.loop.phases[amid_fit(run, wait.loop), Phase.INPUT]
    return len(fetching) > 0 and float(np.median(fetching)) > _USUAL * wait.per_step


def _fetched_at(run: Run, wait: Wait) -> Location:
    """The line that fetches the batches; the loop's own where it was not seen."""
    fetches = [
        event
        for event in run.of("next")
        if event.process == wait.loop.process and event.data.get("stack")
    ]
    last = {str(event.data["stack"]): event for event in fetches}
    dearest = max(last.values(), key=lambda event: float(event.data["took"]), default=None)
    return say.place(run, dearest.data["stack"][0]) if dearest is not None else wait.loop.location


def _why(remedy: Remedy) -> str:
    stage = remedy.stage
    if stage is None:
        return "its pipeline could not be looked into"
    code = say.code(stage.location) if stage.location else stage.name
    if remedy.kind == "threads":
        asleep = remedy.facts["slept"] / max(remedy.facts["took"], 1e-9)
        return f"{code} sleeps {say.share(asleep)} of its time, {stage.parallelism:.0f} at once"
    if remedy.kind == "parallel":
        return f"{code} may only use {_threads(stage.parallelism)}"
    if remedy.kind == "vectorise":
        return f"{code} is called for each of {remedy.facts['batch']:.0f} elements, and the calls cost more than the work"
    if remedy.kind == "prefetch":
        return "no stage works ahead while the step runs"
    return f"{code} takes {say.time(stage.seconds)} a batch"


def _threads(number: float) -> str:
    return "one thread" if number <= 1 else f"{number:.0f} threads"


def _advice(remedy: Remedy) -> str:
    if remedy.kind == "threads":
        count = remedy.facts["threads"]
        return (
            f"Let it run {count} times at once: `num_parallel_calls={count}`, and as"
            " many threads through `options.threading.private_threadpool_size` (TensorFlow has one per core otherwise)."
        )
    if remedy.kind == "parallel":
        return "Give it `num_parallel_calls=tf.data.AUTOTUNE`."
    if remedy.kind == "vectorise":
        return "Call `batch` first and let the function handle the whole batch."
    if remedy.kind == "prefetch":
        return "Put `.prefetch(tf.data.AUTOTUNE)` at the end of the pipeline."
    if remedy.stage is None:
        return (
            "Which stage it is cannot be seen here (a distribution strategy, a graph, autotuning switched off, or "
            "TensorFlow before 2.17): record a loop over the plain dataset to see its stages."
        )
    if remedy.stage.kind in READERS or remedy.stage.kind in ("FlatMap", "Interleave"):
        return (
            "Read several files at once: `Dataset.from_tensor_slices(files).interleave(…, "
            "num_parallel_calls=tf.data.AUTOTUNE)`; many small files are better joined into a few large ones."
        )
    return (
        "The stage already uses the cores there are: do this work once and store the result (`tf.data.Dataset.save`),"
        " or make it cheaper; more threads would not help."
    )
