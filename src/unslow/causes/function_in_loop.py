"""A new tf.function object in every iteration, each of them traced."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs.traces import (
    READS,
    OutermostTrace,
    cost,
    traces,
    usual_call,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.functions import Trace
from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_method import MadeOfMethod, compile_method, made_of_method
from unslow.fix.moves.compile_step import compile_step
from unslow.fix.moves.hoist_closure import closure_once
from unslow.fix.moves.hoist_function import function_once
from unslow.fix.moves.shapes import DRAWS
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety
from unslow.syntax import Source
from unslow.syntax.functions_made import functions_remade
from unslow.syntax.nodes import inside

# Of one code and one set of weights; a judgement: fewer may be stages of a training.
_FEWEST_FUNCTIONS = 4
_GOES_ON = (
    "Its random numbers go on from call to call; before, each new function drew the first ones "
    "again."
)


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    by_library: bool  # TensorFlow itself makes the function, for the user's line
    code: Place | None = None  # what is compiled


class FunctionInLoop(Cause):
    """
    What happens
    `tf.function(…)` is called repeatedly on the same code: in the loop, around a lambda, or as a
    decorator of a function that is defined inside another one. Every call creates a new object
    that knows none of the existing graphs. TensorFlow functions that build their own graph, such
    as `tape.jacobian` and `tf.vectorized_map`, do the same when they are called outside of a graph.

    Why it is slow
    Each new object is traced at its first call: the Python code runs line by line, and the graph
    is optimized and loaded. That takes ten to ten thousand times as long as calling an existing
    graph, and the old graphs often stay in memory.

    The fix
    Create the function once, before the loop or at the top of the file, and pass what changes as
    arguments. Call `tape.jacobian`, `tape.batch_jacobian` and `tf.vectorized_map` inside a
    `tf.function`, which is traced once.

    When we are wrong
    A function for each of several models must be created once per model. We only count functions
    that use the same weights.
    """

    title = "a new tf.function is made in every iteration"
    reads = READS
    deeper_than = ("retracing", "tiny-batches")

    def detect(self, run: Run) -> Iterable[Finding]:
        remade: dict[tuple[Location, Location], list[list[OutermostTrace]]] = defaultdict(list)
        for code, found in _traces_by_code(run).items():
            functions = {trace.fact.function for trace in _in_training(run, found)}
            if len(functions) >= _FEWEST_FUNCTIONS:
                remade[code.line, code.place].append(found)
        for (line, _), models in remade.items():
            yield self._finding(run, line, models)

    def _finding(
        self, run: Run, made: Location, models: Sequence[Sequence[OutermostTrace]]
    ) -> Finding:
        """`models`: the traces of one code, for each set of weights."""
        found = [trace for each in models for trace in each]
        training = _in_training(run, found)
        # The first object of a model would have to be traced anyway.
        needed = {each[0].fact.function for each in models}
        first = found[0].fact
        avoidable = [trace for trace in training if trace.fact.function not in needed]
        usual = [usual_call(run, trace.fact.function) for trace in avoidable]
        costs = [cost(*pair) for pair in zip(avoidable, usual, strict=True)]
        weights = {trace.fact.function: trace.weight for trace in found}
        objects = sum(weights.values())
        title = f"a new tf.function of {_called(first.name)} is made and traced {objects} times"
        advice = (
            "Create it once, before the loop or with `@tf.function` on what it compiles, and call "
            "that in the loop."
        )
        if first.way == "library":
            code = say.code(say.place(run, made))
            title = f"{code} makes a new graph each time, and traces it: {objects} times"
            advice = "Put the line into a `tf.function` that is created once: it is traced once."
        if len(models) > 1:
            title += f", for {len(models)} models"
        is_measured = any(known is not None for known in usual)
        return Finding(
            cause=self.id,
            title=title,
            location=made,
            seconds=sum(each * trace.weight for each, trace in zip(costs, avoidable, strict=True)),
            evidence=(
                Evidence("functions made and traced", objects),
                *_evidence(found, training, avoidable),
            ),
            advice=advice,
            certainty=Certainty.MEASURED if is_measured else Certainty.LIKELY,
            detail=_Detail(first.way == "library", first.place),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail, line = finding.detail_of(_Detail), finding.place.line
        if detail.by_library:
            return _compiled_around(script, line)
        try:
            edited = function_once(script, line)
        except CannotEdit:
            statement = script.statement_at(line)
            made = made_of_method(script, statement)
            if made is not None and detail.code is not None:
                return _compiled_where_defined(script, made, detail.code)
            if statement is None or script.loops_around(statement):
                raise
            return _shared(script, line)
        return _once("make the compiled function once", Safety.EXACT, script, edited)

    def spot(self, source: Source) -> Iterable[Spot]:
        for made, loop in functions_remade(source):
            yield source.spot(
                source.compiler(made.node) or made.node,
                f"every iteration of the loop at line {loop.lineno} creates this tf.function "
                "again, and each new one is traced",
                "create the tf.function once, before the loop, and call it in the loop",
            )


def _in_training(run: Run, found: Iterable[OutermostTrace]) -> list[OutermostTrace]:
    return [trace for trace in found if run.in_training(trace.fact)]


def _evidence(
    found: Sequence[OutermostTrace],
    training: Sequence[OutermostTrace],
    avoidable: Sequence[OutermostTrace],
) -> Iterator[Evidence]:
    number = len(avoidable)
    yield Evidence("time per trace", sum(trace.seconds for trace in avoidable) / number, "s")
    yield Evidence("seconds per first call", sum(trace.call for trace in avoidable) / number, "s")
    yield Evidence("nodes in each graph", max(trace.fact.nodes for trace in found))
    callers = Counter(trace.caller for trace in training if trace.caller is not None)
    for caller, _ in callers.most_common(1):
        yield Evidence("called at", str(caller))


def _shared(script: Script, line: int) -> Fix:
    """One function for all calls of what makes it at a line."""
    title = "make the compiled function once, and hand in what it used around it"
    return _once(title, Safety.CLOSE, script, closure_once(script, line))


def _once(title: str, safety: Safety, script: Script, edited: Script) -> Fix:
    """What is compiled once: what draws random numbers goes on with them."""
    files = {script.path: edited.text}
    drawing = [call for call in script.every(ast.Call) if script.name(call.func).startswith(DRAWS)]
    return Fix(title, Safety.REVIEW, files, _GOES_ON) if drawing else Fix(title, safety, files)


def _compiled_where_defined(script: Script, made: MadeOfMethod, code: Place) -> Fix:
    """A method is compiled where it is defined, once for each object."""
    compiled = compile_method(script, made, code)
    return Fix(
        f"compile `{compiled.name}` where it is defined: each object then keeps its function",
        Safety.REVIEW if compiled.draws else Safety.CLOSE,
        compiled.script.files,
        _GOES_ON if compiled.draws else "",
    )


def _compiled_around(script: Script, line: int) -> Fix:
    """Compile the user's function around a line for which TensorFlow makes a graph each time."""
    compiled = compile_step(script, line)
    around = script.function_at(line) or script.tree
    names = [script.name(call.func) for call in inside(around, ast.Call)]
    draws = any(name.startswith(DRAWS) for name in names)
    title = "compile the code around this line with `tf.function`"
    return Fix.close(title, compiled.files, draws)


@dataclass(frozen=True)
class _Code:
    """Functions that should be one: of the same code, made at one line, with the same weights."""

    place: Location
    line: Location
    weights: str


def _traces_by_code(run: Run) -> dict[_Code, list[OutermostTrace]]:
    groups: dict[_Code, list[OutermostTrace]] = defaultdict(list)
    for trace in traces(run):
        fact = trace.fact
        if trace.made is not None and fact.function and fact.way in ("direct", "library"):
            groups[_Code(trace.place, trace.made, fact.weights)].append(trace)
    return groups


def _called(name: str) -> str:
    return "a lambda" if name == "<lambda>" else f"{name.strip('<>')}()"


def _trace(step: int, function: int, weights: str = "2 from #1", way: str = "direct") -> Placed:
    return at(
        step,
        Trace(
            name="step",
            place=Place("train.py", 11, "step"),
            function=function,
            took=0.03,
            nodes=40,
            way=way,
            made=stack_at(11),
            weights=weights,
            key="step",
            n=step,
            stack=stack_at(12),
        ),
    )


FunctionInLoop.FIRES = (
    Sketch("one per step", facts=[_trace(n, n) for n in range(1, 51)], style="function"),
    Sketch(
        "one per round, for each of two models",
        facts=[_trace(n, n, f"2 from #{n % 2}") for n in range(1, 51)],
        style="function",
    ),
    Sketch(
        "a jacobian outside of any graph",
        facts=[_trace(n, n, "", "library") for n in range(1, 51)],
    ),
)
FunctionInLoop.QUIET = (
    Sketch(
        "one per model",
        facts=[_trace(n, n, f"2 from #{n}") for n in range(1, 51, 10)],
        style="function",
    ),
    Sketch("three stages", facts=[_trace(n, n) for n in (1, 30, 60)], style="function"),
)
