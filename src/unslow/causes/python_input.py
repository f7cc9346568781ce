"""Python makes the data of a step: a generator, a function inside tf.data, a Keras PyDataset."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.input import python_calls, remedies
from unslow.analyse.input.cache_plans import CachePlan, python_elements
from unslow.analyse.input.loop_generators import MadeInLoop, made_in_loop
from unslow.analyse.input.python_calls import by_workers, hottest, lines_inside
from unslow.analyse.input.remedies import (
    PythonWork,
    Remedy,
    best_remedy,
    certainty,
    require_models,
)
from unslow.analyse.input.repeated_work import cache_advice
from unslow.analyse.input.waits import Wait, waits
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch, at, sampled, stack_at
from unslow.cause import Cause
from unslow.facts.data import BuiltStage, PythonElements, PythonFunction, PythonLine
from unslow.facts.functions import UnusualCall
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.model import Evidence, Finding, Fix, Location, Phase, Refusal, Run, Sample

_WORTH = 0.10  # of a step: a pipeline that keeps up still waits a little now and then
_CHEAP_CALL = 500e-6  # seconds: below, passing an element on costs as much as making it
_MANY_CALLS = 4  # per batch

_SOURCE = Made("TensorSlice", 1e-5, line=4)
_MAP = Made(
    "Map",
    0.009,
    "MapAndBatch",
    asynchronous=True,
    line=5,
    asked=BuiltStage(
        kind="Map", batch_size=8, function=Place("train.py", 3, "f"), python=True, tokens=("f",)
    ),
)
_CALLED = PythonFunction(
    token="f", count=800, took=0.9, ran=0.85, place=Place("train.py", 3, "load")
)
_IN_GENERATOR = (Location("train.py", 3, "data"), Location("train.py", 10))
_GENERATOR = Made(
    "FlatMap",
    0.009,
    elements=8,
    line=4,
    asked=BuiltStage(
        kind="FlatMap",
        function=Place("tensorflow/data.py", 9, "flat_map_fn"),
        python=True,
        tokens=("made", "f"),
    ),
)
_BATCH = Made("Batch", 1e-5, "BatchV2", line=5, asked=BuiltStage(kind="Batch", batch_size=8))
_FROM_GENERATOR = """import tensorflow as tf

def examples(): yield from map(features, rows)
ds = tf.data.Dataset.from_generator(examples, output_signature=spec)
ds = ds.batch(8)
"""


def _generated(says: str, elements: PythonElements, passes: int = 4) -> Sketch:
    """A generator of 200 elements that the steps wait for."""
    facts = pipeline_facts(_GENERATOR, _BATCH, wait=0.009, passes=passes)
    phases = {Phase.INPUT: 0.9, Phase.RUN: 0.08}
    return Sketch(
        says,
        phases=phases,
        source=_FROM_GENERATOR,
        facts=[*facts, at(90, _CALLED), at(90, elements.replace(token="f", generator=True))],
    )


_SAME = PythonElements(token="f", compared=600, same=True, elements=200, bytes=2e5)
# A generator that trains (its update is line 12), driven by another loop at line 16.
_TRAINING_GENERATOR = """import data

def batches(rows):
    for row in rows: yield data.read(row)



def folds(parts):
    for x in batches(parts):
        note(x)
        train(x)
        yield len(x)


for score in folds(data.parts()):
    scores.append(score)
"""


def _in_python(*stack: Location) -> Sample:
    """Half of the samples of a run, in the script's own Python."""
    return Sample(stack, "python", 0, True, 12, 13, 25)


class PythonInput(Cause):
    """
    What happens

    The step waits for data that Python code makes: a generator, a function called through
    `py_function` or `numpy_function`, a Keras `PyDataset`, or an iterator of the script's own.

    Why it is slow

    Python runs one thread at a time: parallel calls do not make such code faster, and while it
    runs in the background it also holds the interpreter that the training loop needs. A generator
    that the loop itself drives is worse: nothing computes while it makes the next batch.

    The fix

    Make the hot line cheaper first: one NumPy operation for a whole batch instead of a Python loop
    over elements. Better, write it as TensorFlow operations in `Dataset.map`, which run in
    parallel without the interpreter. What is the same in every pass is made once and kept:
    `cache()` right behind the generator or the map, and `shuffle` behind that where the generator
    itself gives each pass another order. What only waits (for files, a server) can run many times
    in parallel.

    When we are wrong

    That elements are the same is seen from a few kilobytes of each, of up to four passes: Python
    that changes less than one element in ten, or begins to do so later, looks the same. The line
    comes from about fifty stack samples a second. Libraries that release the interpreter
    while they work (large NumPy operations, image decoders) count as Python here, though threads
    would help them.
    """

    title = "Python code makes the data, one piece at a time"
    needs = ("watcher",)
    reads = (*remedies.READS, *python_calls.READS, UnusualCall, Fit)

    def detect(self, run: Run) -> Iterable[Finding]:
        for wait in waits(run):
            best = best_remedy(run, wait) if wait.share >= _WORTH else None
            if best is not None and best.kind == "python":
                yield self._in_pipeline(run, wait, best)
        for process in run.processes:
            made = made_in_loop(run, process.index)
            if made is not None and made.seconds >= _WORTH * made.trained:
                yield self._in_loop(run, process.index, made)
        require_models(run, _WORTH)

    def _in_pipeline(self, run: Run, wait: Wait, remedy: Remedy) -> Finding:
        stage, work = remedy.stage, remedy.python
        assert stage is not None and work is not None
        process, tokens = wait.loop.process, stage.asked.tokens
        function = say.place(run, work.place) if run.sources.get(work.place.file) else None
        made_at = stage.location or wait.loop.location
        plan = remedy.cache
        hot = hottest(run, lines_inside(run, process, tokens))
        place = say.place(run, hot or function or made_at)
        return Finding(
            cause=self.id,
            title=f"each step waits {say.time(wait.per_step)} of its {say.time(wait.step)} for "
            f"Python: {say.code(place)} makes the {'same ' if plan else ''}data"
            f"{' in every pass' if plan else ''}",
            location=place,
            seconds=remedy.saved(wait),
            certainty=certainty(wait),
            evidence=(
                Evidence("wait per step", wait.per_step, "s"),
                Evidence("share of the step", say.share(wait.share)),
                Evidence("Python per batch", work.took, "s"),
                Evidence("of it on a processor", work.ran, "s"),
                Evidence("calls per batch", round(work.calls, 1)),
                Evidence("the stage", f"{stage.name} at {made_at}"),
                *_cache_evidence(plan),
            ),
            advice=self._advice(run, wait, remedy),
            detail=plan,
        )

    def _advice(self, run: Run, wait: Wait, remedy: Remedy) -> str:
        stage, plan = remedy.stage, remedy.cache
        assert stage is not None and remedy.python is not None
        if plan is not None and _is_of_keras(run, wait, plan.behind.location):
            return (
                "What it makes is the same in every epoch: keep it, by index, the first time "
                f"`__getitem__` is asked for it; {say.size(plan.bytes)} fit into memory."
            )
        if plan is not None and plan.behind.location is not None:
            return cache_advice(plan, say.code(plan.behind.location))
        if by_workers(run, wait.loop.process, stage.asked.tokens):
            return _BY_WORKERS
        made = python_elements(run, wait.loop.process, stage)
        return _advice(remedy.python, is_new=made is not None and not made.same)

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.dataset_cache import cache_fix

        plan = finding.detail  # of a cache; None where it would not help
        where = plan.behind.location if isinstance(plan, CachePlan) else None
        if not isinstance(plan, CachePlan) or where is None:
            return None
        return cache_fix(script.of(where.file), where, plan.behind.kind, plan)

    def _in_loop(self, run: Run, process: int, made: MadeInLoop) -> Finding:
        """A generator or iterator of the script's own that the training loop drives."""
        longest = max(run.loops_of(process), key=lambda loop: loop.total)
        place = say.place(run, hottest(run, made.samples) or longest.location)
        each, step = made.seconds / made.steps, made.trained / made.steps
        return Finding(
            cause=self.id,
            title=f"each step waits {say.time(each)} of its {say.time(step)} "
            f"for Python: {say.code(place)} makes the data in the loop itself",
            location=place,
            # In a thread of its own it would run beside the rest of the step, at best hiding it.
            seconds=min(made.seconds, made.trained - made.seconds),
            evidence=(
                Evidence("making data, per step", each, "s"),
                Evidence("share of the training", say.share(made.seconds / made.trained)),
                Evidence("stack samples there", made.samples.total()),
            ),
            advice="Make the batch with NumPy on whole arrays, or give the work to `tf.data` "
            "(`from_generator` at least, with `prefetch`), so that the next batch is made while "
            "this one is trained on.",
        )

    FIRES = (
        Sketch(
            "a Python function inside a map holds the interpreter's lock",
            phases={Phase.INPUT: 0.9, Phase.RUN: 0.08},
            facts=[
                *pipeline_facts(_SOURCE, _MAP, wait=0.009),
                at(90, _CALLED),
                at(90, PythonLine(token="f", count=40, stack=stack_at(7, "load"))),
            ],
        ),
        _generated("a generator that makes the same in every pass", _SAME),
        _generated("the same in another order", _SAME.replace(reordered=True)),
        _generated("a generator with random augmentation", _SAME.replace(same=False)),
        Sketch(
            "a generator that makes batches, inside of one that trains",
            phases={Phase.RUN: 0.5},
            source=_TRAINING_GENERATOR,
            line=16,
            samples=[
                _in_python(
                    Location("train.py", 4, "batches"),
                    Location("train.py", 10, "folds"),
                    Location("train.py", 16),
                ),
            ],
        ),
        Sketch(
            "a generator that the loop itself drives takes half of each step",
            phases={Phase.RUN: 0.5},
            source="def data():\n    while True:\n        yield 1\n\n\n\n\n\n\n"
            "for x in data():\n    a\n    train(x)\n",
            samples=[
                _in_python(*_IN_GENERATOR),
                sampled(12, "tensorflow", 12, 13, Phase.RUN),
            ],
        ),
    )
    QUIET = (
        Sketch(
            "a generator that loads models: below its line, layers are built",
            phases={Phase.RUN: 0.5},
            source="def models():\n    while True:\n        yield load()\n\n\n\n\n\n\n"
            "for model in models():\n    a\n    model(x)\n",
            samples=[
                _in_python(*_IN_GENERATOR),
                Sample(_IN_GENERATOR, "keras", 0, True, 5, 5, 10, Phase.BUILD),
            ],
        ),
        Sketch(
            "the same function, hidden behind a longer step",
            phases={Phase.INPUT: 0.01, Phase.RUN: 0.95},
            facts=[*pipeline_facts(_SOURCE, _MAP, wait=0.00005), at(90, _CALLED)],
        ),
        Sketch(
            "Python of the loop's body is not the data's",
            phases={Phase.RUN: 0.5},
            source="\n" * 9 + "for x in batches():\n    count(x)\n    train(x)\n",
            samples=[_in_python(Location("train.py", 11))],
        ),
        Sketch(
            "the generator that the outer loop drives trains: its Python makes no data",
            phases={Phase.RUN: 0.5},
            source=_TRAINING_GENERATOR,
            line=16,
            samples=[
                _in_python(Location("train.py", 11, "folds"), Location("train.py", 16)),
            ],
        ),
    )


_BY_WORKERS = (
    "Python threads make the batches, and run one at a time: more of them do not help. Make this "
    "line cheaper (do once what it reads or computes again), or use processes: "
    "`use_multiprocessing=True`."
)


def _cache_evidence(plan: CachePlan | None) -> Iterable[Evidence]:
    if plan is not None:
        yield Evidence("made again, and the same", plan.compared)
        yield Evidence("size of a cache", plan.bytes, "B")
        yield Evidence("memory available for it", plan.spare, "B")


def _is_of_keras(run: Run, wait: Wait, where: Location | None) -> bool:
    """Whether a stage was built by `fit`, for a PyDataset: the program has no line for it."""
    calls = [call.stack[0] for call in run.facts(Fit, wait.loop.process) if call.stack]
    return where is not None and any(say.place(run, place) == where for place in calls)


def _advice(work: PythonWork, is_new: bool) -> str:
    each = work.took / max(work.calls, 1e-9)
    if work.slept > 0.5 * work.took:
        return (
            "It mostly waits: several at once would help. Make it a function of one element for "
            "`Dataset.map` with `num_parallel_calls` and a larger `private_threadpool_size`, or "
            "give a Keras `PyDataset` `workers`."
        )
    if work.calls > _MANY_CALLS and each < _CHEAP_CALL:
        return (
            f"It is called {work.calls:.0f} times per batch, {say.time(each)} each: make a whole "
            "batch per call (yield batches, map after `batch`), which enters Python once."
        )
    if is_new:
        return (
            "Write it as TensorFlow operations in `Dataset.map`, or with NumPy on whole batches. "
            "It makes other elements in every pass: keep only what comes before anything random."
        )
    return (
        "Write it as TensorFlow operations in `Dataset.map`, or with NumPy on whole batches; if it "
        "is the same in every epoch, do it once before training and store the result."
    )
