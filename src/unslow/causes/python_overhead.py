"""The user's own Python between the calls of TensorFlow takes the time of the steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from unslow.analyse import wording as say
from unslow.analyse.host.hot_lines import Hot, grows_with, hot_lines, together
from unslow.analyse.host.python_growth import python_growth, step_forecast
from unslow.analyse.input import python_calls
from unslow.analyse.input.python_calls import CalledBack, called_back
from unslow.analyse.input.queues import drawn
from unslow.analyse.scopes import Scope
from unslow.analyse.sketches.sketch import Placed, Sketch, at, sampled
from unslow.analyse.stats.growth import Slope
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage, Dataset, PythonFunction
from unslow.facts.memory import Sizes
from unslow.facts.process import ITERATOR_END
from unslow.facts.schema import Place
from unslow.facts.sessions import InspectedRun
from unslow.model import Certainty, Evidence, Finding, Location, Loop, Phase, Run, Sample
from unslow.syntax.nodes import lines_of

_WORTH = 0.10  # of the training time: less is the price of any loop written in Python
_WORTH_IN_TENSORFLOW = 0.3  # the same for TensorFlow's Python beside the step: any loop has some
# Loops whose steps TensorFlow runs: the stack does not show what they call.
_COMPILED = ("function", "keras", "session")
_ONCE = 0.6  # of a line's seconds in a single step: something happened there once
_MANY_STEPS = 20
_FEWEST_STEPS = 3  # what fewer steps do is no habit that could be done less often
_FEWEST_SAMPLES = 8  # fewer may be chance
_NEARLY_ALL = 0.9  # of a function's seconds: then its hottest line is all there is to say

# What is called on the line → what to do about it, each with its reason.
_IN_ORDER = (
    "Keep the order as you go (`bisect.insort`, a heap from `heapq`) "
    "instead of sorting everything again."
)
_ONE_ARRAY = (
    "Joining copies everything each time: fill an array of the final size, or join once at the end."
)
_INSTEAD = {
    "sorted": _IN_ORDER,
    "sort": _IN_ORDER,
    "argsort": "`np.argpartition` finds the first few without sorting all, "
    "in time that grows more slowly.",
    "append": "`np.append` copies the whole array each time: fill an array of the final size, "
    "or a list, instead.",
    "concatenate": _ONE_ARRAY,
    "vstack": _ONE_ARRAY,
    "concat": "Joining copies everything each time: collect the parts in a list "
    "and join once at the end.",
    "sample": "Draw indices (`rng.integers(len(buffer), size=n)`) from arrays: "
    "the cost follows n, not the buffer.",
    "choice": "`np.random.choice` without replacement permutes everything: "
    "draw indices with `rng.integers` instead.",
    "deepcopy": "Copy only what will be changed, or nothing.",
    "savefig": "Draw every few hundred steps, or after training from the numbers kept.",
    "sleep": "The program waits here on purpose: is the pause still needed?",
}


_SOURCE = "import x\n" * 9 + "for step in data:\n    rank(history)\n    train(x)\n"
_TRAINS = sampled(12, "tensorflow", 12, 13, Phase.RUN)


def _half(says: str, other: Sample, facts: Sequence[Placed] = ()) -> Sketch:
    """TensorFlow trains in half of each step; another line has the other half."""
    samples = [other, _TRAINS]
    return Sketch(says, phases={Phase.RUN: 0.5}, source=_SOURCE, samples=samples, facts=facts)


def _compiled(says: str, facts: Sequence[Placed]) -> Sketch:
    samples = [sampled(12, "tensorflow", 24, 25, Phase.RUN)]
    phases = {Phase.RUN: 0.9}
    return Sketch(says, phases=phases, style="keras", source=_SOURCE, samples=samples, facts=facts)


def _calls_back(seconds: float) -> list[Placed]:
    """A function that the graph calls in each of a hundred steps."""
    called = PythonFunction(token="f", place=Place("train.py", 3, "rank"), ran=seconds)
    return [
        at(step, called.replace(count=step, took=seconds * step / 100)) for step in (1, 50, 100)
    ]


class PythonOverhead(Cause):
    """
    What happens

    Between calls of TensorFlow, a line of the script (or a library that it calls: NumPy, the
    standard library) takes a large share of every step, and TensorFlow waits meanwhile. Or a
    compiled step calls Python itself, through `py_function` or `numpy_function`, in a loss or a
    metric.

    Why it is slow

    A training loop in Python runs one thing after the other: while a line sorts, copies or counts,
    no kernel runs. If the line handles something that grows with the steps (a history, a replay
    buffer) each step is slower than the one before.

    The fix

    Do the work less often, once before the loop, on a part instead of the whole, or as one NumPy or
    TensorFlow operation instead of a Python loop. Where it prepares data, move it into a tf.data
    pipeline, which works ahead while the step runs.

    When we are wrong

    The lines come from about fifty stack samples a second: in a run of a few seconds the share of a
    line may be off by several points. A line that waits (for a socket, a file) is named as well,
    since the step waits with it. So is work that belongs to the task, such as the simulation in
    reinforcement learning: it is where the time goes, whether or not it can be avoided.
    """

    title = "the script's own Python takes the time"
    needs = ("watcher",)
    reads = (Sizes, InspectedRun, *python_calls.READS)
    yields = True
    # The same seconds: what Python does is spent whatever the batch.
    deeper_than = ("tiny-batches",)

    def detect(self, run: Run) -> Iterable[Finding]:
        if run.loops and not run.samples:
            raise CannotJudge("no stack samples were taken")
        for process in run.processes:
            scope = Scope(run, process.index)
            if scope.steps >= _FEWEST_STEPS:
                yield from self._judge_lines(run, scope, process.index)
        for loop in run.loops:
            # Queues are filled by threads of the program: the step need not wait for those.
            if loop.style in _COMPILED and not drawn(run, loop):
                yield from self._judge_graph(run, loop)

    def _judge_lines(self, run: Run, scope: Scope, process: int) -> Iterable[Finding]:
        for hot in together(hot_lines(run, process, scope), scope.sources):
            if hot.samples < _FEWEST_SAMPLES:
                continue
            is_worth = hot.grows or hot.seconds >= _WORTH * run.trained
            if hot.library == "tensorflow":
                is_worth = hot.seconds >= _WORTH_IN_TENSORFLOW * run.trained
            if is_worth and not _at_once(scope, hot.seconds):
                yield self._finding(run, scope, hot)

    def _judge_graph(self, run: Run, loop: Loop) -> Iterable[Finding]:
        for found in called_back(run, loop):
            if _WORTH * run.trained <= found.seconds <= loop.phase(Phase.RUN):
                yield self._from_graph(run, loop, found)

    def _from_graph(self, run: Run, loop: Loop, found: CalledBack) -> Finding:
        """Compiled steps that call Python, on another thread, and wait for it."""
        name, each = found.function.function, found.seconds / max(1, found.calls)
        return Finding(
            cause=self.id,
            location=found.hottest,
            seconds=found.seconds,
            certainty=Certainty.LIKELY,
            title=f"the compiled step calls {name}(), which takes "
            f"{say.share(found.seconds / run.trained)} of the training in Python: "
            f"{say.time(each)} each time",
            evidence=(
                Evidence("in this function", found.seconds, "s"),
                Evidence("calls", found.calls),
                Evidence("a call takes", each, "s"),
                Evidence("steps", loop.steps),
                Evidence("the function", f"{name} at {found.function}"),
            ),
            advice=f"Write {name}() with TensorFlow operations, or do it outside of the step, on a "
            "few batches: `py_function` and `numpy_function` leave the graph each time, and Python "
            "runs one thread at a time.",
        )

    def _finding(self, run: Run, scope: Scope, hot: Hot) -> Finding:
        longest = max(scope.training, key=lambda loop: loop.total)
        is_most = hot.seconds > scope.other / 2
        rate = python_growth(longest) if hot.grows or is_most else None
        place = say.place(run, hot.location)
        evidence = list(_evidence(scope, hot))
        title, forecast = _title(hot, say.code(place), hot.seconds / run.trained), None
        if rate is not None:
            title = f"{say.code(place)} takes ever longer: "
            title += f"{say.time(hot.early)} a step at first, {say.time(hot.late)} later on"
            evidence += _growth_evidence(run, scope, hot, rate)
            forecast = step_forecast(longest, rate)
        return Finding(
            cause=self.id,
            title=title,
            location=place,
            seconds=hot.seconds,
            evidence=tuple(evidence),
            grows=rate is not None,
            forecast=forecast,
            advice=_advice(scope, place, grows=rate is not None),
        )


def _is_spread(hot: Hot) -> bool:
    """Whether other lines of its function take a real part of the time."""
    return hot.in_line < _NEARLY_ALL * hot.seconds


def _title(hot: Hot, code: str, share: float) -> str:
    doing = "in TensorFlow ops of its own" if hot.library == "tensorflow" else "in Python"
    takes = f"takes {say.share(share)} of the training {doing}"
    if _is_spread(hot):
        return f"{hot.function}() {takes}, most of it at {code}"
    return f"{code} {takes}"


def _evidence(scope: Scope, hot: Hot) -> Iterator[Evidence]:
    steps = scope.steps
    yield Evidence("in this line", hot.in_line, "s")
    if _is_spread(hot):
        yield Evidence(f"in {hot.function}()", hot.seconds, "s")
    yield Evidence("per step", hot.seconds / steps, "s")
    yield Evidence("stack samples there", hot.samples)
    if hot.library != "python":
        yield Evidence("what runs there", hot.library)
    if str(hot.within) != str(hot.location):
        yield Evidence("called from", f"{hot.within}")


def _growth_evidence(run: Run, scope: Scope, hot: Hot, rate: Slope) -> Iterator[Evidence]:
    yield Evidence("per step, first half", hot.early, "s")
    yield Evidence("per step, second half", hot.late, "s")
    yield Evidence("growth per 1,000 steps", rate.value * 1000, "s")
    grown = grows_with(run, scope.training[0].process, hot.location)
    if grown is not None:
        items = f"{grown.first:,} to {grown.last:,} items"
        yield Evidence("grows with", f"{grown.name or 'a container'}: {items}")


def _at_once(scope: Scope, seconds: float) -> bool:
    """Whether one step of many took most of it."""
    steps = scope.steps
    longest = max(
        float(loop.phases[:, Phase.OTHER][loop.count == 1].max(initial=0.0))
        for loop in scope.training
    )
    return steps >= _MANY_STEPS and longest > _ONCE * seconds


def _advice(scope: Scope, place: Location, grows: bool) -> str:
    known = [_INSTEAD[name] for name in _called(scope, place) if name in _INSTEAD]
    if known:
        return known[0]
    if grows:
        return (
            "What this line goes through grows with the steps: keep a bounded part of it, "
            "or a running result."
        )
    return (
        "Do it once before the loop or only every few steps, "
        "or as one NumPy or TensorFlow operation."
    )


def _called(scope: Scope, place: Location) -> Iterator[str]:
    """The last names of what is called on a line."""
    for node in scope.sources.tree(place.file).nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                if place.line in lines_of(node):
                    yield name


_PIPELINE = Dataset(dataset=1, stages=(BuiltStage(kind="Map", tokens=("f",)),))
PythonOverhead.FIRES = (
    _half("a line takes half of each step", sampled(11, "python", 12, 13)),
    Sketch(
        "a line takes longer each step",
        seconds=[0.002 + step * 1e-5 for step in range(1000)],
        phases={Phase.RUN: [0.001 / (0.002 + step * 1e-5) for step in range(1000)]},
        source=_SOURCE,
        samples=[sampled(11, "stdlib", 70, 160), sampled(12, "tensorflow", 30, 20, Phase.RUN)],
    ),
    _compiled("a metric in Python, which the compiled step calls", _calls_back(0.5)),
)
PythonOverhead.QUIET = (
    _compiled("a Python function in the pipeline", [at(0, _PIPELINE), *_calls_back(0.5)]),
    Sketch(
        "one step of a hundred in which an iterator is torn down",
        seconds=[0.01] * 50 + [0.5] + [0.01] * 49,
        phases={Phase.RUN: [0.95] * 50 + [0.02] + [0.95] * 49},
        source=_SOURCE,
        samples=[sampled(11, "python", 2, 23), sampled(12, "tensorflow", 24, 25, Phase.RUN)],
    ),
    _half(
        "eager TensorFlow below the line is not the line's own Python",
        sampled(11, "tensorflow", 12, 13),
    ),
    _half("the loop's own line waits for data", sampled(10, "python", 12, 13)),
    _half("a line before the loop", sampled(3, "python", 12, 0)),
    _half("a line waits for an iterator to end", sampled(11, ITERATOR_END, 12, 13)),
    Sketch(
        "two steps, which show no habit",
        [1.0, 1.0],
        phases={Phase.RUN: 0.5},
        source=_SOURCE,
        samples=[sampled(11, "python", 12, 13), _TRAINS],
    ),
    Sketch(
        "five per cent of each step",
        phases={Phase.RUN: 0.95},
        source=_SOURCE,
        samples=[sampled(11, "python", 5, 5), sampled(12, "tensorflow", 95, 95, Phase.RUN)],
    ),
)
