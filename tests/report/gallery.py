"""Hand-made diagnoses that between them use every part of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.facts.functions import Trace
from unslow.facts.memory import Container, Containers
from unslow.facts.process import Imported
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import (
    Certainty,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Forecast,
    Location,
    Phase,
    Proof,
    Refusal,
    Run,
    Safety,
    Sample,
    Shape,
    Trend,
    Unjudged,
    Verdict,
)

SOURCE = """\
import tensorflow as tf

model = make_model()
optimizer = tf.keras.optimizers.Adam()


def step(x, y, scale):
    return update(model, optimizer, x, y, scale)

for number, (x, y) in enumerate(batches):
    scale = 1.0 / (number + 1)
    loss = step(x, y, scale)
    history.append(loss)
    if number % 100 == 0:
        print(number, float(loss))
"""
FIXED = SOURCE.replace(
    "step(x, y, scale)\n    history", "step(x, y, tf.constant(scale))\n    history"
)
LINE = Location("train.py", 12, "<module>")


def _wobble(length: int, base: float, spread: float = 0.05) -> list[float]:
    """Step times with the same noise in every test run."""
    return [
        base * (1 + spread * float(np.sin(7.3 * number) * np.cos(2.1 * number)))
        for number in range(length)
    ]


def _run(sketch: Sketch, trend: Trend) -> Run:
    run = sketch.run()
    loops = tuple(replace(loop, trend=trend) for loop in run.loops)
    return replace(run, loops=loops, folder=".unslow/20260101-120000-train", started=1767268800.0)


def _diagnosis(
    run: Run, *findings: Finding, fixes: dict[int, Fix | Refusal] | None = None
) -> Diagnosis:
    return Diagnosis(
        run=run,
        findings=findings,
        fixes=fixes or {},
        not_judged=(),
        unexplained=0.02 * run.trained,
        own_seconds=0.004 * run.seconds,
        own_peak_bytes=9.1e6,
    )


def _sample(line: int, leaf: str, first: int, second: int) -> Sample:
    stack = (Location("train.py", line, "<module>"),)
    return Sample(
        stack,
        leaf,
        process=0,
        training=True,
        first_half=first,
        second_half=second,
        in_steps=first + second,
    )


SAMPLES = (
    _sample(12, "tensorflow", 400, 410),
    _sample(11, "python", 20, 90),
    _sample(13, "python", 15, 17),
    _sample(10, "numpy", 11, 12),
)
STEADY = Trend(Shape.STEADY, 0.01, 0.01)
RSS = {"rss": [3e8, 6.2e8, 6.3e8, *[6.31e8] * 30, 6.35e8]}


def healthy() -> Diagnosis:
    sketch = Sketch(
        "all is well",
        [0.9, *_wobble(1199, 0.0123)],
        {Phase.RUN: 0.8, Phase.INPUT: 0.04},
        source=SOURCE,
        samples=SAMPLES,
        ticks=RSS,
        style="function",
    )
    return _diagnosis(_run(sketch, Trend(Shape.STEADY, 0.0123, 0.0123)))


def _traces(count: int) -> list[Placed]:
    traced = [
        at(
            number,
            Trace(
                name="step",
                place=Place("train.py", 7, "step"),
                function=1,
                n=number,
                sum=0.071 * number,
                took=0.07 + 0.02 * (number % 5),
                nodes=412,
                args={"x": "float32(32, 10)", "scale": f"float {1 / number:.6f}"},
            ),
        )
        for number in range(1, count + 1)
    ]
    inner = [
        at(
            1,
            Trace(
                name="map_fn",
                place=Place("train.py", 3, "parse"),
                n=1,
                sum=0.02,
                took=0.02,
                args={},
            ),
        )
    ]
    return [*traced, *inner]


def retracing() -> Diagnosis:
    sketch = Sketch(
        "retraced",
        [0.4, *_wobble(299, 0.1)],
        {Phase.TRACE: 0.7, Phase.RUN: 0.25},
        source=SOURCE,
        samples=SAMPLES,
        ticks=RSS,
        style="function",
        facts=_traces(297),
    )
    finding = Finding(
        "retracing",
        "step is traced again on 297 of 300 calls: scale is a new Python number each time",
        LINE,
        21.4,
        (
            Evidence("traces of step", 297),
            Evidence("time per trace", 0.071, "s"),
            Evidence("argument that changed", "scale: 1.0 → 0.5"),
        ),
        merged=("native-growth",),
    )
    fix = Fix("give step a tensor for scale", Safety.EXACT, {"train.py": FIXED})
    return _diagnosis(_run(sketch, Trend(Shape.STEADY, 0.1, 0.1)), finding, fixes={0: fix})


def proof() -> Proof:
    return Proof(
        Verdict.PROVED,
        3.4,
        3.1,
        3.7,
        (0.101, 0.099),
        (0.03, 0.029),
        300,
        0.0,
        0.0,
        "3.4 times as fast (3.1 to 3.7 in 95 of 100), with the same weights",
    )


def growth() -> Diagnosis:
    seconds = [0.019 + 0.000276 * number for number in range(1500)]
    grown = [
        at(step, GraphGrew(graph=1, nodes=12 + 2 * step, step=step))
        for step in (1, 2, 4, 8, 100, 400, 900, 1500)
    ]
    phases = {Phase.BUILD: 0.1, Phase.RUN: 0.85}
    sketch = Sketch(
        "grows", seconds, phases, source=SOURCE, style="session", ticks=RSS, facts=grown
    )
    trend = Trend(Shape.DRIFTING, 0.019, 0.433, 0.000276, 0.00027, 0.00028)
    finding = Finding(
        "graph-growth",
        "2 ops are added to the graph in every step",
        LINE,
        250.0,
        (
            Evidence("ops added per step", 2.0),
            Evidence("graph", 3012, "nodes"),
            Evidence("step time", "19 → 433 ms"),
        ),
        grows=True,
        forecast=Forecast(100_000, 27.6),
        advice="build the op once, before the loop",
    )
    refusal = Refusal("the op depends on the loop's variable number", Location("train.py", 11))
    return _diagnosis(_run(sketch, trend), finding, fixes={0: refusal})


def several() -> Diagnosis:
    run = _run(Sketch("pre-training", _wobble(400, 0.01), {Phase.RUN: 0.9}, source=SOURCE), STEADY)
    first = run.loops[0]
    times = [0.25 if number % 50 == 49 else 0.02 for number in range(500)]
    second = (
        Sketch(
            "fine-tuning",
            times,
            {Phase.RUN: 0.5, Phase.EVAL: 0.3, Phase.SAVE: 0.1},
            before=run.seconds,
            line=3,
            update=3,
            style="keras",
        )
        .run()
        .loops[0]
    )
    periodic = replace(
        second, trend=Trend(Shape.PERIODIC, 0.02, 0.02, period=50, spike=0.25), updates_per_step=2.0
    )
    jump = [*_wobble(210, 0.01), *_wobble(190, 0.015)]
    third = (
        Sketch("again", jump, {Phase.RUN: 0.9}, before=run.seconds + 12.3, line=14).run().loops[0]
    )
    third = replace(third, trend=Trend(Shape.JUMPED, 0.01, 0.015, at_step=211))
    run = replace(run, loops=(first, periodic, third), seconds=25.0)
    slow = Finding(
        "checkpoint-cost",
        "a checkpoint of 410 MB is written every 50 steps",
        Location("train.py", 3),
        2.3,
        (Evidence("seconds per save", 0.23, "s"), Evidence("bytes per save", 4.1e8, "bytes")),
        certainty=Certainty.LIKELY,
        advice="save every 1,000 steps: 0.1 s in this run, at most 20 s of work lost",
    )
    honest = Finding(
        "compute-bound",
        "the model itself costs 71% of each step",
        None,
        0.0,
        (Evidence("share of the step in kernels", 0.71, "share"),),
        fault=False,
        advice="a faster machine, or a smaller model",
    )
    other = Finding(
        "host-sync", "float(loss) waits in every step", Location("train.py", 15), 0.6, ()
    )
    return _diagnosis(run, slow, other, honest)


def hoarding() -> Diagnosis:
    """Memory that a list of the user's holds; it costs no second yet."""
    history = Container(path="history", file="train.py", function="<module>", kind="list")
    element = "float32 tensor[512, 1024]"
    inspections = []
    for step in (16, 22, 30, 60, 120, 240, 400):
        grown = history.replace(length=step, bytes=step * 2e6, element=element)
        inspections.append(at(step, Containers(step=step, found=(grown,))))
    rss = list(np.linspace(6e8, 1.4e9, 80))
    ticks = {"rss": rss, "heap_used": [value * 0.8 for value in rss]}
    sketch = Sketch(
        "hoards",
        _wobble(400, 0.01),
        {Phase.RUN: 0.9},
        source=SOURCE,
        facts=inspections,
        ticks=ticks,
    )
    finding = Finding(
        "hoarded-tensors",
        "`history` keeps 2.00 MB of every step: 800 MB after 400 steps",
        Location("train.py", 13),
        0.0,
        (Evidence("each is", "float32 tensor[512, 1024]"),),
        grows=True,
        forecast=Forecast(4000, bytes=8e9, text="the memory is full 7,300 steps later"),
    )
    return _diagnosis(_run(sketch, STEADY), finding)


def slower() -> Diagnosis:
    """Steps that drift without a cause, and a third of the time that nothing explains."""
    seconds = [0.02 + 0.00005 * number for number in range(800)]
    imported = at(0, Imported(since=0.0, tensorflow="2.21.0"))
    run = _run(
        Sketch("slower", seconds, {Phase.RUN: 0.6}, source=SOURCE, facts=[imported], before=4.0),
        Trend(Shape.DRIFTING, 0.02, 0.06, 0.00005, 0.000049, 0.000051),
    )
    return replace(_diagnosis(run), unexplained=0.35 * run.trained)


def no_steps() -> Diagnosis:
    facts = [at(0, Trace(name="f")), at(0, Trace(name="g"))]
    run = _run(Sketch("no steps", (), facts=facts, before=41.0), STEADY)
    return replace(
        _diagnosis(run), not_judged=(Unjudged("retracing", "no training step was seen"),)
    )


def killed() -> Diagnosis:
    diagnosis = healthy()
    run = diagnosis.run
    process = replace(run.processes[0], how="killed")
    return replace(diagnosis, run=replace(run, ended="killed by SIGKILL", processes=(process,)))


def lost() -> Diagnosis:
    why = "tracing_compilation has no _create_concrete_function"
    sketch = Sketch(
        "lost", _wobble(50, 0.01), lost={"functions": why, "input": "AttributeError: OwnedIterator"}
    )
    run = replace(
        _run(sketch, STEADY),
        notes=("events of process 0 end in the middle of a line: 1 line left out",),
    )
    missing = "the probe functions was lost"
    unjudged = tuple(
        Unjudged(name, missing) for name in ("function-in-loop", "retracing", "unrolled-loop")
    )
    return replace(
        _diagnosis(run), not_judged=(*unjudged, Unjudged("input-bound", "the probe input was lost"))
    )


def long_names() -> Diagnosis:
    file = "experiments/" + "very_long_folder_name/" * 5 + "train_with_a_name_that_does_not_end.py"
    code = "loss = " + "the_same_function_again_and_again(" * 6 + "x" + ")" * 6
    where = Location(file, 1234, "a_method_with_quite_a_long_name_too")
    run = retracing().run
    run = replace(
        run,
        loops=tuple(replace(loop, location=where) for loop in run.loops),
        sources={file: "\n" * 1233 + code},
        command=("python", file, "--output", "x" * 90),
        samples=tuple(replace(each, stack=(where,)) for each in SAMPLES),
    )
    title = f"{'the_same_function_again_and_again' * 3} is traced again on 297 of 300 calls"
    evidence = (Evidence("a label that says more than a label should say", "y" * 120),)
    return _diagnosis(run, Finding("retracing", title, where, 21.4, evidence))


def unicode() -> Diagnosis:
    source = "for größe in データ:\n    verlust = schritt(größe)  # 学習 🚀\n"
    where = Location("café/訓練.py", 2, "schritt")
    run = retracing().run
    run = replace(
        run,
        sources={where.file: source},
        command=("python", where.file, "--ort", "b\udce9ta\x1b[31m"),
        loops=tuple(replace(loop, location=replace(where, line=1)) for loop in run.loops),
        samples=(),
    )
    return _diagnosis(
        run,
        Finding(
            "eager-step", "schritt läuft eager 🚀 \x07", where, 9.0, (Evidence("größe", "→ ∞"),)
        ),
    )


def workers() -> Diagnosis:
    """The same training in two processes."""
    diagnosis = retracing()
    run = diagnosis.run
    (process,) = run.processes
    processes = tuple(
        replace(process, index=number, worker=f"worker {number}") for number in (0, 1)
    )
    loops = tuple(replace(loop, process=number) for loop in run.loops for number in (0, 1))
    return replace(diagnosis, run=replace(run, processes=processes, loops=loops))


GALLERY: dict[str, Callable[[], Diagnosis]] = {
    "healthy": healthy,
    "retracing": retracing,
    "growth": growth,
    "several": several,
    "hoarding": hoarding,
    "slower": slower,
    "no_steps": no_steps,
    "killed": killed,
    "lost": lost,
    "long_names": long_names,
    "unicode": unicode,
}
