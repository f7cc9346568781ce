"""Elements are handled one by one, in a loop of the graph or of Python, where one op would do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.host.indexed_tensors import (
    IndexedLine,
    indexed_in_steps,
    indexed_outside_steps,
)
from unslow.analyse.host.step_profile import StepProfile, repeated, windows
from unslow.analyse.places import line_of
from unslow.analyse.sketches.sketch import Placed, Sketch, at, sampled, stack_at
from unslow.analyse.sketches.windows import profiled
from unslow.cause import LEAST_SHARE, Cause
from unslow.facts.eager import Index
from unslow.facts.functions import GraphLoop
from unslow.facts.profiler import ProfilerWindow
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_call import compile_call
from unslow.fix.moves.fetch_once import fetch_once
from unslow.fix.moves.vectorize_map import vectorize_map
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)

_FEWEST_ITERATIONS = 4  # of a graph loop; a judgement: fewer do not hurt
_IN_PYTHON = "a Python loop indexes a tensor"
_MADE_BY = {
    "map_fn": "tf.map_fn",
    "foldl": "tf.foldl",
    "foldr": "tf.foldr",
    "while_loop": "a loop in the graph",
}


class ElementwiseLoop(Cause):
    """
    What happens
    Rows or elements of a tensor go through a loop one at a time: `tf.map_fn`, `tf.while_loop`, a
    `for` over a tensor that became a graph loop, or a Python loop that indexes a tensor.

    Why it is slow
    An op on one row takes almost as long as an op on all rows: TensorFlow's fixed cost of a few
    microseconds per op (tens of microseconds from Python) is paid for every element, and again for
    the gradient.

    The fix
    Write the body for the whole batch: most ops accept one more dimension (`tf.reduce_sum(x * y,
    axis=1)`, `tf.linalg.matvec`, `tf.einsum`, `tf.gather` with `batch_dims`). If that is hard,
    `tf.vectorized_map` vectorizes a body written for `tf.map_fn`.

    When we are wrong
    A loop whose iterations depend on earlier ones (a recurrent layer, a decoder) cannot be
    vectorized and is not reported. Kernels inside the loop are not counted as lost; a body of
    heavy kernels gains little.
    """

    title = "elements are handled one by one"
    reads = (Index, ProfilerWindow, GraphLoop)
    deeper_than = ("python-overhead", "eager-calls")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._in_graph(run, loop)
        indexed = [*indexed_in_steps(run), *indexed_outside_steps(run)]
        for lines in grouped(indexed, lambda line: line_of(line.location)).values():
            if _is_worth(run, lines):
                yield from map(self._in_python, lines)

    def _in_graph(self, run: Run, loop: Loop) -> Iterable[Finding]:
        made = [found for found in run.facts(GraphLoop, loop.process) if not found.pipeline]
        free = [found for found in made if found.stack and not found.carried]
        seen = windows(run, loop)
        if not seen or not free or len(free) < len(made):
            return  # beside a loop that is needed, the time cannot be attributed
        window = seen[-1]
        lost = window.looping - window.looping_kernels
        seconds = min(lost / window.wall, 1.0) * repeated(loop)
        if window.iterations < _FEWEST_ITERATIONS or seconds < LEAST_SHARE * run.trained:
            return
        largest = max(free, key=lambda found: found.ops)
        if largest.made_by == "map_fn":
            instead = ", or replace tf.map_fn by tf.vectorized_map."
        else:
            instead = ": one op with one more dimension replaces the loop."
        yield Finding(
            cause=self.id,
            location=say.place(run, largest.stack[0]),
            seconds=seconds,
            title=f"{_MADE_BY.get(largest.made_by, 'a loop')} handles {window.iterations} elements "
            f"a step one by one: {say.time(lost)} of a step of {say.time(window.wall)}",
            evidence=(
                Evidence("iterations per step", window.iterations),
                Evidence("ops in the body", largest.ops),
                Evidence("in the loop, per step", window.looping, "s"),
                Evidence("of it in kernels", window.looping_kernels, "s"),
                Evidence("a step", window.wall, "s"),
                Evidence("steps seen by the profiler", window.steps),
            ),
            advice=f"Write the body for the whole batch{instead}",
        )

    def _in_python(self, line: IndexedLine) -> Finding:
        code = say.code(line.location)
        how_many = f"{line.count:,} elements"
        if line.steps:
            how_many = f"{line.count / line.steps:.0f} elements a step"
        return Finding(
            cause=self.id,
            location=line.location,
            seconds=line.seconds,
            stretch=line.stretch,
            certainty=Certainty.LIKELY,
            title=f"{code} takes a tensor apart in Python: {how_many}, one op each",
            evidence=(
                Evidence("elements", line.count),
                Evidence("an index takes", line.each, "s"),
                Evidence("at this line", line.seconds, "s"),
            ),
            detail=_IN_PYTHON,
            advice="Write it for the whole tensor at once. If Python must see each value, fetch "
            "all of them with one .numpy() first.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        line = finding.place.line
        if finding.detail != _IN_PYTHON:
            mapped = vectorize_map(script, line)
            title = "handle all elements at once with `tf.vectorized_map`"
            return Fix.close(title, mapped.script.files, mapped.draws)
        try:
            fetched = fetch_once(script, line)
            safety = Safety.EXACT if fetched.is_exact else Safety.CLOSE
            return Fix("fetch the tensor once, before the loop", safety, fetched.script.files)
        except CannotEdit as problem:
            first = problem
        try:
            compiled = compile_call(script, line)
        except CannotEdit:
            raise first from None
        title = f"compile `{compiled.name}`"
        return Fix.close(title, compiled.script.files, compiled.draws, note="")


def _is_worth(run: Run, lines: Sequence[IndexedLine]) -> bool:
    """Whether a line costs enough in a part of the run, or in all of them together."""
    together = sum(line.seconds for line in lines)
    is_worth = together >= LEAST_SHARE * run.seconds
    return is_worth or any(line.seconds >= LEAST_SHARE * _whole(run, line) for line in lines)


def _whole(run: Run, line: IndexedLine) -> float:
    return run.trained if line.steps else run.seconds


def _seen(looping: float, kernels: float) -> Placed:
    return profiled(
        StepProfile(
            kernels=0.1 * kernels + 0.01,
            executor=0.09,
            iterations=64,
            looping=0.1 * looping,
            looping_kernels=0.1 * kernels,
        )
    )


def _looped(carried: bool = False, pipeline: bool = False) -> Placed:
    where = stack_at(5, "loss")
    made = GraphLoop(stack=where, name="map", made_by="map_fn", carried=carried, ops=27)
    return at(0, made.replace(pipeline=pipeline))


def _indexed(elements: int, tensors: float) -> list[Placed]:
    """Elements and tensors that a line indexes in each step."""
    index = Index(stack=stack_at(11, "f"))
    return [
        at(n, index.replace(count=elements * n, took=1e-5 * elements * n, amount=tensors * n))
        for n in (25, 50, 75, 100)
    ]


_RUN = {Phase.RUN: 1.0}
ElementwiseLoop.FIRES = (
    Sketch(
        "map_fn takes most of the step",
        phases=_RUN,
        facts=[_looped(), _seen(0.8, 0.05)],
    ),
    Sketch(
        "Python indexes 64 rows a step",
        facts=_indexed(64, 0.0),
        samples=[
            sampled(11, "tensorflow", 25, 25),
            sampled(12, "tensorflow", 25, 25, Phase.RUN),
        ],
        source="\n" * 9 + "for step in data:\n    for row in x: f(row)\n    train(x)\n",
    ),
)
ElementwiseLoop.QUIET = (
    Sketch(
        "a recurrent layer",
        phases=_RUN,
        facts=[_looped(carried=True), _seen(0.8, 0.05)],
    ),
    Sketch(
        "heavy kernels in the loop",
        phases=_RUN,
        facts=[_looped(), _seen(0.8, 0.77)],
    ),
    Sketch(
        "a loop in the input pipeline",
        phases=_RUN,
        facts=[_looped(pipeline=True), _seen(0.1, 0)],
    ),
    Sketch(
        "one value of each of many tensors",
        facts=_indexed(64, 64.0),
        samples=[sampled(11, "tensorflow", 25, 25)],
        source="\n" * 9 + "for step in data:\n    for x in xs: f(x[0])\n    train(x)\n",
    ),
    Sketch(
        "one row is looked at in each step",
        facts=_indexed(1, 0.0),
    ),
)
