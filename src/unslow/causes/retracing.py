"""A tf.function is retraced repeatedly because an argument keeps changing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.retrace_reasons import Blamed, blamed
from unslow.analyse.graphs.traces import READS, Change, cost, traces, usual_call, usual_calls
from unslow.analyse.input import pipeline_rebuilds
from unslow.analyse.input.pipeline_rebuilds import lines_of, rebuilding, stages_of
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.functions import Trace
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety
from unslow.syntax import Kind, argument

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source
    from unslow.syntax.nodes import NamedFunction

_FEW_TRACES = 8  # a judgement: this many are harmless

_SAYS = {
    "number": "a Python number that changes",
    "string": "a Python string that changes",
    "flag": "a Python flag that changes",
    "none": "sometimes None, sometimes a value",
    "dtype": "a tensor whose dtype changes",
    "rank": "a tensor whose number of dimensions changes",
    "shape": "a tensor whose shape changes",
    "object": "a new Python object each time",
    "variable": "a different variable each time",
    "length": "a Python container whose length changes",
    "type": "of a type that changes",
}


_ADVICE = {
    "number": "Pass `{argument}` as a tensor, tf.constant({argument}): then its value is no part "
    "of the graph.",
    "string": "Keep the text outside of {name}(), or pass it as tf.constant(…) where ops use it.",
    "flag": "Two values cost two traces; see what else changes along with `{argument}`.",
    "none": "Pass `{argument}` as a tensor in every call (zeros where there is none), or use two "
    "functions.",
    "dtype": "Cast `{argument}` to one dtype before the call: tf.cast({argument}, tf.float32).",
    "rank": "Bring `{argument}` to one number of dimensions before the call, with tf.reshape or "
    "tf.expand_dims.",
    "shape": "Pad `{argument}` to one shape or to a few, or give {name} an input_signature with "
    "None where it varies.",
    "object": "Make the object behind `{argument}` once and use the same one in every step.",
    "variable": "Call {name}() with the same variables, or make one function for each of them.",
    "length": "Pass `{argument}` with one length: pad it, or stack it to one tensor.",
    "type": "Pass `{argument}` as one type in every call.",
    "pipeline": "Build the pipeline once, before the loop, and only iterate over it inside.",
}


_OTHER_NUMBERS = "It draws other random numbers: each trace began a sequence of its own."


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    function: str
    place: Location  # of its code
    change: Change
    made: Location | None  # where the tf.function was made
    source: str | None  # text of the file of its code, if that was kept
    relaxed: bool  # reduce_retracing is on
    lines: tuple[tuple[str, int], ...]  # of the pipeline, if that is the reason
    random: bool  # the pipeline draws random numbers


class Retracing(Cause):
    """
    What happens
    A `tf.function` keeps one graph per kind of arguments: per dtype and shape of its tensors, and
    per *value* of everything that is not a tensor. Called with a kind it has not seen, it runs its
    Python code again and builds another graph.

    Why it is slow
    A trace runs the Python code line by line, and the new graph is optimized and loaded at its
    first run. That takes ten to ten thousand times as long as a call of an existing graph, and
    every graph stays in memory.

    The fix
    Pass numbers that change as tensors (`tf.constant(rate)`). For shapes, use
    `reduce_retracing=True`, an `input_signature` with `None` for what varies, or padding. Make
    objects once and pass the same ones. A flag with two values is fine: it costs one more trace.

    When we are wrong
    A number that takes a few values on purpose (a depth, a stage of training) needs a graph for
    each. Then the cost is real, but it ends once all values have been seen.
    """

    title = "a function is retraced repeatedly"
    reads = (*READS, *pipeline_rebuilds.READS)
    deeper_than = ("tiny-batches", "kernels-rebuilt")

    def detect(self, run: Run) -> Iterable[Finding]:
        for found in blamed(run, traces(run)):
            yield self._finding(run, found)

    def _finding(self, run: Run, found: Blamed) -> Finding:
        first, bad, change = found.found[0], found.traces, found.change
        pipeline = found.reason == "pipeline"
        usual = 0.0 if pipeline else usual_call(run, first.fact.function)
        callers = Counter(trace.caller for trace in bad if trace.caller is not None)
        return Finding(
            cause=self.id,
            title=_title(run, found),
            location=callers.most_common(1)[0][0] if callers else None,
            seconds=sum(cost(trace, usual) * trace.weight for trace in bad)
            + rebuilding(run, found),
            evidence=tuple(_evidence(found, usual)),
            certainty=Certainty.MEASURED if usual is not None else Certainty.LIKELY,
            advice=_ADVICE[found.reason].format(argument=found.argument, name=first.fact.name),
            detail=_Detail(
                function=first.fact.name,
                place=first.place,
                change=change,
                made=first.made,
                source=run.sources.get(first.place.file),
                relaxed=first.fact.relaxed,
                lines=tuple(sorted(lines_of(run, found))) if pipeline else (),
                random=any(
                    stage.random or stage.kind == "Shuffle" for stage in stages_of(run, found)
                ),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Detail)
        change = detail.change
        if change.reason == "pipeline":
            return _pipeline_once(script, where.line, detail)
        if change.reason == "number" and change.leaf == change.argument:
            return _as_tensor(script, where.line, detail)
        if change.reason == "number" and change.new.startswith("float "):
            return _parts_as_tensors(script, where.line, detail)
        if change.reason == "shape" and not detail.relaxed and detail.source is not None:
            return _relaxed(script, detail, detail.source)
        return None

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.every(ast.Call):
            loop = source.innermost(call)
            if loop is None or source.trace_of(call) is not None or not _is_compiled(source, call):
                continue
            turns = source.turns_of(loop)
            if turns is not None and turns <= _FEW_TRACES:
                continue
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            numbers = [value for value in given if source.kind(value) is Kind.NUMBER]
            for value in [value for value in numbers if source.varies(value, loop)][:1]:
                yield source.spot(
                    value,
                    f"`{ast.unparse(value)}` is a Python number that changes in the loop at line "
                    f"{loop.lineno}: the tf.function is retraced for every new value",
                    f"tf.constant({ast.unparse(value)}): one trace serves every tensor of a "
                    "shape and dtype",
                )


def _pipeline_once(script: Script, line: int, detail: _Detail) -> Fix:
    """The pipeline is built in front of the loop."""
    from unslow.fix.moves.hoist import hoist_statements

    lines = [line, *(number for file, number in detail.lines if file == script.path)]
    files = {script.path: hoist_statements(script, lines).text}
    title = "build the pipeline once"
    if not detail.random:
        return Fix(title, Safety.EXACT, files)
    note = "A pipeline that stays draws other random numbers in its later passes than a new one "
    note += "with the same seed."
    return Fix(title, Safety.REVIEW, files, note)


def _as_tensor(script: Script, line: int, detail: _Detail) -> Fix:
    """The number that changes is passed as a tensor."""
    from unslow.fix.moves.tensor_arguments import draws, number_as_tensor, other_numbers

    body, argument = _body(script, detail), detail.change.argument
    kind = detail.change.new.partition(" ")[0]
    others = other_numbers(script, line, detail.function, argument, body)
    numbers = [(argument, kind), *others]
    edited = script
    for name, number in numbers:
        edited = number_as_tensor(edited, line, detail.function, name, number, body)
    what = say.listed([f"`{name}`" for name, _ in numbers])
    title = f"pass {what} as {'tensors' if others else 'a tensor'}"
    files = {script.path: edited.text}
    if body is not None:
        note = _OTHER_NUMBERS if draws(body) else ""
        return Fix(title, Safety.REVIEW if note else Safety.CLOSE, files, note)
    note = f"What {detail.function}() does with it was not seen: a tensor has no Python value."
    return Fix(title, Safety.REVIEW, files, note)


def _parts_as_tensors(script: Script, line: int, detail: _Detail) -> Fix | None:
    """The number that changes in a structure is put there as a tensor."""
    from unslow.fix.moves.tensor_arguments import parts_as_tensors

    body, leaf = _body(script, detail), detail.change.leaf
    if body is None:
        return None
    edited = parts_as_tensors(script, line, detail.function, leaf, body)
    note = "What else reads it gets a tensor as well."
    return Fix(f"make `{leaf}` a tensor where it is computed", Safety.REVIEW, edited.files, note)


def _relaxed(script: Script, detail: _Detail, source: str) -> Fix:
    """One graph for all shapes."""
    from unslow.fix.edit.script import Script as Text
    from unslow.fix.moves.tensor_arguments import draws, reads_shapes, relax_shapes

    place, made = detail.place, detail.made or detail.place
    home = script if place.file == script.path else Text(place.file, source)
    body = _body(script, detail)
    files = {home.path: relax_shapes(home, place.line, made.line).text}
    title = f"let one graph of {detail.function}() take all shapes"
    if body is not None and not reads_shapes(body):
        note = _OTHER_NUMBERS if draws(body) else ""
        return Fix(title, Safety.REVIEW if note else Safety.CLOSE, files, note)
    note = "It reads shapes while it is traced: those that vary are None then."
    return Fix(title, Safety.REVIEW, files, note)


def _body(script: Script, detail: _Detail) -> NamedFunction | None:
    """The traced function in its file; None if that was not kept."""
    from unslow.fix.edit.script import Script as Text

    place = detail.place
    if place.file == script.path:
        return script.function_at(place.line)
    return Text(place.file, detail.source).function_at(place.line) if detail.source else None


def _title(run: Run, found: Blamed) -> str:
    first, change = found.found[0], found.change
    if found.reason == "pipeline":
        what = f"{first.fact.name}, a function of tf.data,"
        return f"{what} is traced {found.count + 1} times: its pipeline is recreated"
    name = "Keras's step" if first.fact.way == "keras" else f"{first.fact.name}()"
    if change.argument == "self":
        return f"{name} is traced for each of {found.count + 1} objects: they are recreated"
    usual, _ = usual_calls(run, first.fact.function)
    calls = sum(trace.weight for trace in found.found) + usual
    return (
        f"{name} is retraced in {found.count} of {calls} calls: "
        f"`{change.leaf}` is {_SAYS[found.reason]}, {_value(change.old)} → {_value(change.new)}"
    )


def _evidence(found: Blamed, usual: float | None) -> Iterable[Evidence]:
    bad, number = found.traces, len(found.traces)
    yield Evidence("traces", sum(trace.weight for trace in found.found))
    yield Evidence("of them for this reason", found.count)
    yield Evidence("time per trace", sum(trace.seconds for trace in bad) / number, "s")
    if found.reason != "pipeline":
        calls = sum(trace.call for trace in bad)
        yield Evidence("time per call that traces", calls / number, "s")
    yield Evidence("nodes in the graph", max(trace.fact.nodes for trace in found.found))
    if usual:
        yield Evidence("time per call that does not", usual, "s")


def _value(text: str) -> str:
    """A described leaf without the word for its type where the value speaks for itself."""
    kind, _, value = text.partition(" ")
    if kind == "float":
        return f"{float(value):.4g}"
    return value if kind in ("int", "str", "bool") else text or "nothing"


def _is_compiled(source: Source, call: ast.Call) -> bool:
    """Whether a call runs a tf.function without a signature, which would convert numbers."""
    found = source.callee(call)
    maker = found.source.compiler(found.node) if found else None
    if maker is None and source.kind(call.func) is Kind.FUNCTION:
        maker = source.maker(call.func)
    if isinstance(maker, ast.Call):
        return argument(maker, "input_signature", 1) is None
    return maker is not None


def _trace(step: int, **arguments: str) -> Placed:
    return at(
        step,
        Trace(
            name="train_step",
            place=Place("train.py", 4, "train_step"),
            function=1,
            took=0.03,
            args=arguments,
            nodes=40,
            way="direct",
            made=stack_at(4),
            key="train_step",
            stack=stack_at(12),
        ),
    )


Retracing.FIRES = (
    Sketch(
        "a learning rate that changes in every tenth step",
        facts=[_trace(n, rate=f"float {1 / n}", x="float32[8]") for n in range(1, 100, 10)],
    ),
)
Retracing.QUIET = (
    Sketch(
        "three stages of a training, each with numbers of its own",
        facts=[
            _trace(step, x="float32[64]", stage=f"str {name}", smoothing=f"float {number}")
            for step, name, number in ((1, "warm-up", 0.0), (30, "main", 0.1), (60, "end", 0.05))
        ],
    ),
    Sketch(
        "training and evaluation, each with a last partial batch",
        facts=[
            _trace(step, x=f"float32[{rows}]", training=f"bool {mode}")
            for step, rows, mode in ((1, 64, True), (30, 12, True), (31, 64, False), (35, 9, False))
        ],
    ),
)
