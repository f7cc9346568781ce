"""Elements are handled one by one, in a loop of the graph or of Python, where one op would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.eager_calls import Region, outside_steps, seconds_at
from unslow.analyse.host.hot_lines import seconds_around
from unslow.analyse.host.step_profile import SketchedWindow, StepProfile, repeated, windows
from unslow.analyse.run.tallies import LineTotal, line_totals
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.eager import Index
from unslow.facts.functions import GraphLoop
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.schema import Place
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
    Sample,
)

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_WORTH = 0.05  # of the training time
_ITERATIONS = 4  # a loop of fewer is none that hurts
_PER_STEP = 8  # indexed elements a step
_FEWEST = 200  # indexed elements outside of steps: 200 of them take some 10 ms
_PER_TENSOR = 4  # of one tensor: a value or two of each are no loop over its elements
_IN_PYTHON = "a Python loop indexes a tensor"
_MADE_BY = {
    "map_fn": "tf.map_fn",
    "foldl": "tf.foldl",
    "foldr": "tf.foldr",
    "while_loop": "a loop in the graph",
}


def _seen(looping: float, kernels: float, iterations: int = 64) -> Placed:
    profile = StepProfile(
        kernels=0.1 * kernels + 0.01,
        executor=0.09,
        iterations=iterations,
        looping=0.1 * looping,
        looping_kernels=0.1 * kernels,
    )
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


def _looped(carried: bool = False, pipeline: bool = False) -> Placed:
    where = (Place("train.py", 5, "loss"),)
    made = GraphLoop(stack=where, name="map", made_by="map_fn", carried=carried, ops=27)
    return at(0, made.replace(pipeline=pipeline))


_HERE = (Place("train.py", 11, "f"),)


class ElementwiseLoop(Cause):
    """
    What happens

    Rows or elements of a tensor go through a loop one at a time: `tf.map_fn`, `tf.while_loop`, a
    `for` over a tensor that became a loop of the graph, or a Python loop that indexes a tensor.

    Why it is slow

    An op on one row costs almost as much as an op on all of them: TensorFlow's fixed cost of some
    microseconds per op (tens of microseconds from Python) is paid for every element, and so it is
    again for the gradient.

    The fix

    Write the body for the whole batch: most ops take one more dimension (`tf.reduce_sum(x * y,
    axis=1)`, `tf.linalg.matvec`, `tf.einsum`, `tf.gather` with `batch_dims`). Where that is hard,
    `tf.vectorized_map` does it for a body that `tf.map_fn` takes.

    When we are wrong

    A loop whose iterations need the ones before (a recurrent layer, a decoder) is not named: it
    cannot be taken apart so. Kernels inside the loop are not counted as lost; a body of heavy
    kernels gains little.
    """

    title = "elements are handled one by one"
    reads = (Index, ProfilerWindow, GraphLoop)
    deeper_than = ("python-overhead", "eager-calls")

    def detect(self, run: Run) -> Iterable[Finding]:
        in_python: dict[tuple[str, int], Finding] = {}
        for loop in run.loops:
            yield from self._in_graph(run, loop)
            for finding in self._in_python(run, loop):
                # A line is counted in each of the loops around it.
                where = finding.location
                key = (where.file, where.line) if where is not None else ("", 0)
                if key not in in_python or in_python[key].seconds < finding.seconds:
                    in_python[key] = finding
        yield from in_python.values()
        for region in outside_steps(run):
            yield from self._outside(run, region)

    def _in_graph(self, run: Run, loop: Loop) -> Iterable[Finding]:
        mine = [found for found in run.facts(GraphLoop) if found.process == loop.process]
        made = [found for found in mine if not found.pipeline]
        free = [found for found in made if found.stack and not found.carried]
        looked = windows(run, loop)
        if not looked or not free or len(free) < len(made):
            return  # with a loop that must be one beside it, the time cannot be told apart
        window = looked[-1]
        lost = window.looping - window.looping_kernels
        seconds = min(lost / window.wall, 1.0) * repeated(loop)
        if window.iterations < _ITERATIONS or seconds < _WORTH * run.trained:
            return
        where = max(free, key=lambda found: found.ops)
        yield Finding(
            cause=self.id,
            location=say.place(run, where.stack[0]),
            seconds=seconds,
            title=f"{_MADE_BY.get(where.made_by, 'a loop')} handles {window.iterations} elements a "
            "step one by one: "
            f"{say.time(lost)} of a step of {say.time(window.wall)}",
            evidence=(
                Evidence("iterations per step", window.iterations),
                Evidence("ops in the body", where.ops),
                Evidence("in the loop, per step", window.looping, "s"),
                Evidence("of it in kernels", window.looping_kernels, "s"),
                Evidence("a step", window.wall, "s"),
                Evidence("steps seen by the profiler", window.steps),
            ),
            advice=_advice(where.made_by),
        )

    def _in_python(self, run: Run, loop: Loop) -> Iterable[Finding]:
        """Indices into tensors between and inside of the steps."""
        found = []
        for total in line_totals(run, loop, Index):
            per_step = total.count / max(1, loop.steps)
            if per_step >= _PER_STEP and _is_taken_apart(total):
                seconds = max(seconds_around(run, loop.process, total.location), total.seconds)
                found.append((seconds, total))
        for seconds, total in _one_of_each_loop(found):
            if seconds >= _WORTH * run.trained:
                per_step = total.count / max(1, loop.steps)
                yield self._indexed(total, seconds, f"{per_step:.0f} elements a step")

    def _outside(self, run: Run, region: Region) -> Iterable[Finding]:
        """The same before the training, after it, or where nothing trains."""
        found = []
        for total in line_totals(run, region, Index):
            if total.count >= _FEWEST and _is_taken_apart(total):
                seconds = max(seconds_at(run, region, total.location), total.seconds)
                found.append((seconds, total))
        for seconds, total in _one_of_each_loop(found):
            if seconds >= _WORTH * run.seconds:
                finding = self._indexed(total, seconds, f"{total.count:,} elements")
                yield replace(finding, stretch=region.stretch)

    def _indexed(self, total: LineTotal[Index], seconds: float, how_many: str) -> Finding:
        where = total.location
        return Finding(
            cause=self.id,
            location=where,
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{say.code(where)} takes a tensor apart in Python: {how_many}, one op each",
            evidence=(
                Evidence("elements", total.count),
                Evidence("an index takes", total.seconds / total.count, "s"),
                Evidence("at this line", seconds, "s"),
            ),
            detail=_IN_PYTHON,
            advice="Write it for the whole tensor at once; where Python must see each value, fetch "
            "all of them with one .numpy() first.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.compile_call import compile_call
        from unslow.fix.moves.fetch_once import fetch_once

        if finding.detail != _IN_PYTHON or finding.location is None:
            return None
        line = finding.location.line
        try:
            fetched = fetch_once(script, line)
            return Fix("fetch the tensor once, before the loop", Safety.EXACT, fetched.files)
        except CannotEdit as problem:
            first = problem
        try:
            compiled = compile_call(script, line)
        except CannotEdit:
            raise first from None
        safety = Safety.REVIEW if compiled.draws else Safety.CLOSE
        return Fix(f"compile `{compiled.name}`", safety, compiled.script.files)

    FIRES = (
        Sketch(
            "map_fn takes most of the step",
            phases={Phase.RUN: 1.0},
            facts=[_looped(), _seen(0.8, 0.05)],
        ),
        Sketch(
            "Python indexes 64 rows a step",
            facts=[
                at(step, Index(count=64 * step, took=64e-5 * step, amount=0.0, stack=_HERE))
                for step in (25, 50, 75, 100)
            ],
            samples=[
                Sample((Location("train.py", 11),), "tensorflow", 0, True, 25, 25, 50),
                Sample((Location("train.py", 12),), "tensorflow", 0, True, 25, 25, 50, Phase.RUN),
            ],
            source="\n" * 9 + "for step in data:\n    for row in x: f(row)\n    train(x)\n",
        ),
    )
    QUIET = (
        Sketch(
            "a recurrent layer",
            phases={Phase.RUN: 1.0},
            facts=[_looped(carried=True), _seen(0.8, 0.05)],
        ),
        Sketch(
            "heavy kernels in the loop",
            phases={Phase.RUN: 1.0},
            facts=[_looped(), _seen(0.8, 0.77)],
        ),
        Sketch(
            "a loop in the input pipeline",
            phases={Phase.RUN: 1.0},
            facts=[_looped(pipeline=True), _seen(0.1, 0)],
        ),
        Sketch(
            "one value of each of many tensors",
            facts=[
                at(step, Index(count=64 * step, took=64e-5 * step, amount=64.0 * step, stack=_HERE))
                for step in (25, 50, 75, 100)
            ],
            samples=[Sample((Location("train.py", 11),), "tensorflow", 0, True, 25, 25, 50)],
            source="\n" * 9 + "for step in data:\n    for x in xs: f(x[0])\n    train(x)\n",
        ),
        Sketch(
            "one row is looked at in each step",
            facts=[
                at(step, Index(count=step, took=2e-5 * step, amount=0.0, stack=_HERE))
                for step in (25, 50, 75, 100)
            ],
        ),
    )


def _advice(made_by: str) -> str:
    if made_by == "map_fn":
        instead = ", or put tf.vectorized_map in the place of tf.map_fn."
    else:
        instead = ": one op with one more dimension in the place of the loop."
    return f"Write the body for the whole batch{instead}"


def _is_taken_apart(total: LineTotal[Index]) -> bool:
    """Several elements of one tensor: a value or two of each are no loop over its elements."""
    return not total.amount or total.count >= _PER_TENSOR * total.amount


def _one_of_each_loop(
    found: Iterable[tuple[float, LineTotal[Index]]],
) -> list[tuple[float, LineTotal[Index]]]:
    """The most expensive line of each loop: several indices in one loop share its time."""
    kept: list[tuple[float, LineTotal[Index]]] = []
    for seconds, total in sorted(found, key=lambda entry: (-entry[0], -entry[1].count)):
        file = total.location.file
        shares = [
            other
            for others, other in kept
            if other.location.file == file and abs(others - seconds) < 1e-9
        ]
        if not shares:
            kept.append((seconds, total))
    return kept
