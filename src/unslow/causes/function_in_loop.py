"""A new tf.function object in every iteration, each of them traced."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.traces import (
    READS,
    OutermostTrace,
    cost,
    in_training,
    traces,
    usual_call,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.functions import Trace
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_FEWEST = 4  # functions of one code and one set of weights; fewer may be stages of a training


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    by_library: bool  # TensorFlow itself makes the function, for the user's line


class FunctionInLoop(Cause):
    """
    What happens
    `tf.function(…)` is called again and again on the same code: in the loop, around a lambda, or as
    a decorator of a function that is defined inside another one. Every call makes a new object that
    knows none of the graphs that were built before. What TensorFlow itself does with a graph of its
    own, such as `tape.jacobian` or `tf.vectorized_map`, does the same where it is called outside of
    a graph.

    Why it is slow
    Each new object is traced at its first call: the Python code runs line by line, and the graph is
    optimised and loaded. That takes ten to ten thousand times as long as a call of a graph that
    exists, and the old graphs often stay in memory.

    The fix
    Make the function once, in front of the loop or at the top of the file, and hand in what changes
    as arguments. Call `tape.jacobian`, `tape.batch_jacobian` and `tf.vectorized_map` inside a
    `tf.function`: it is traced once.

    When we are wrong
    A function made for each of several models is needed once per model; we only count functions
    that work on the same weights.
    """

    title = "a new tf.function is made in every iteration"
    reads = READS
    deeper_than = ("retracing", "tiny-batches")

    def detect(self, run: Run) -> Iterable[Finding]:
        Group = tuple[Location, Location | None, str]
        groups: dict[Group, list[OutermostTrace]] = defaultdict(list)
        for trace in traces(run):
            if trace.fact.function and trace.fact.way in ("direct", "library"):
                groups[trace.place, trace.made, trace.fact.weights].append(trace)
        for (_, made, _), found in groups.items():
            training = [trace for trace in found if in_training(run, trace)]
            functions = {trace.fact.function for trace in training}
            if made is not None and len(functions) >= _FEWEST:
                yield self._finding(run, made, found, training)

    def _finding(
        self,
        run: Run,
        made: Location,
        found: Sequence[OutermostTrace],
        training: Sequence[OutermostTrace],
    ) -> Finding:
        # The first object would have to be traced anyway.
        first = found[0].fact
        bad = [trace for trace in training if trace.fact.function != first.function]
        usual = [usual_call(run, trace.fact.function) for trace in bad]
        seconds = sum(
            cost(trace, known) * trace.weight for trace, known in zip(bad, usual, strict=True)
        )
        by_function = {trace.fact.function: trace.weight for trace in found}
        objects = sum(by_function.values())
        callers = Counter(
            trace.caller for trace in training if trace.caller is not None
        ).most_common(1)
        evidence = [
            Evidence("functions made and traced", objects),
            Evidence("seconds per trace", sum(trace.seconds for trace in bad) / len(bad), "s"),
            Evidence("seconds per first call", sum(trace.call for trace in bad) / len(bad), "s"),
            Evidence("nodes in each graph", max(trace.fact.nodes for trace in found)),
        ]
        if callers:
            evidence.append(Evidence("called at", str(callers[0][0])))
        where, by_library = say.place(run, made), first.way == "library"
        return Finding(
            cause=self.id,
            title=f"{say.code(where)} makes a new graph each time, and traces it: {objects} times"
            if by_library
            else f"a new tf.function of {_called(first.name)} is made and traced {objects} times",
            location=made,
            seconds=seconds,
            evidence=tuple(evidence),
            advice=_INSIDE if by_library else "",
            certainty=Certainty.MEASURED
            if any(known is not None for known in usual)
            else Certainty.LIKELY,
            detail=_Detail(by_library),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.hoist_closure import closure_once
        from unslow.fix.moves.hoist_function import function_once

        detail = finding.detail
        assert isinstance(detail, _Detail) and finding.location is not None
        if detail.by_library:
            return None
        line = finding.location.line
        try:
            edited = function_once(script, line)
        except CannotEdit as problem:
            if _is_in_loop(script, line):
                raise problem
            edited = closure_once(script, line)
            title = "make the compiled function once, and hand in what it used around it"
            return Fix(title, Safety.CLOSE, {script.path: edited.text})
        return Fix("make the compiled function once", Safety.EXACT, {script.path: edited.text})

    def spot(self, source: Source) -> Iterable[Spot]:
        for node, calls in _functions_made(source):
            loop = source.innermost(node)
            if source.trace_of(node) is not None:
                continue
            if loop is not None and not any(source.conditions(node, loop)):
                if any(source.innermost(call) is loop for call in calls):
                    yield source.spot(
                        source.compiler(node) or node,
                        f"the loop at line {loop.lineno} makes this tf.function anew in every "
                        "turn, and a new one is"
                        " traced again, if the loop runs more than once",
                        "make the tf.function once, before the loop, and call it in the loop",
                    )
            elif loop is None:
                yield from _made_per_call(source, node, calls)


def _is_in_loop(script: Script, line: int) -> bool:
    node = script.statement_at(line)
    return node is None or bool(script.loops_around(node))


_INSIDE = (
    "Put the line into a `tf.function` that is made once: what it makes is then traced with it, "
    "and only then."
)


def _called(name: str) -> str:
    return "a lambda" if name == "<lambda>" else f"{name.strip('<>')}()"


def _functions_made(source: Source) -> Iterator[tuple[ast.AST, list[ast.Call]]]:
    """Where tf.functions are made: decorated definitions and wrapping calls, with the calls of what
    was made."""
    for function in source.every(ast.FunctionDef):
        if source.compiler(function) is not None:
            yield function, source.callers(function)
    for call in source.calls("tf.function"):
        parent = source.parents.get(call)
        if (
            isinstance(parent, ast.Call)
            and parent.func is call
            and source.parents.get(parent) is not None
        ):
            yield call, [parent]
        elif isinstance(parent, ast.Assign):
            names = [target.id for target in parent.targets if isinstance(target, ast.Name)]
            yield (
                call,
                [
                    other
                    for other in source.every(ast.Call)
                    if isinstance(other.func, ast.Name)
                    and other.func.id in names
                    and any(binding.node is parent for binding in source.reaching(other.func))
                ],
            )


def _made_per_call(source: Source, node: ast.AST, calls: list[ast.Call]) -> Iterator[Spot]:
    """A tf.function that an inner function makes and uses at once, where a loop calls that inner
    function."""
    around = source.function(node)
    if around is None or any(source.conditions(node)) or source.traces.get(around) is not None:
        return
    if not any(
        source.function(call) is around and source.innermost(call) is None for call in calls
    ):
        return
    for caller in source.callers(around):
        loop = source.innermost(caller)
        # A loop inside a function that is not seen to train may itself be run only while something
        # is traced.
        if loop is not None and (loop in source.step_loops or source.function(loop) is None):
            yield source.spot(
                source.compiler(node) or node,
                f"the loop at line {loop.lineno} comes by here and makes a new tf.function in "
                "every turn, which is"
                " traced again, if the loop runs more than once",
                "make the tf.function once, outside the function that is called in the loop",
            )
            return


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
            made=(Place("train.py", 11, "<module>"),),
            weights=weights,
            key="step",
            n=step,
            stack=(Place("train.py", 12, "<module>"),),
        ),
    )


FunctionInLoop.FIRES = (
    Sketch("one per step", facts=[_trace(n, n) for n in range(1, 51)], style="function"),
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
