"""A tf.function that is traced again and again because an argument keeps changing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unslow.analyse.sketch import Sketch, fact
from unslow.analyse.traces import Change, Trace, cost, in_training, nearest, traces, usual_call
from unslow.cause import Cause
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.script import Script

# So many traces may be blamed on one argument before it is a fault: two modes, a last partial batch, the same
# again for the validation data. A changing float is a fault sooner, since no structure depends on it.
_ALLOWED = {"number": 2, "object": 2, "variable": 2, "flag": 3, "none": 3}
_ALLOWED_FLOAT = 1
_ALLOWED_ELSE = 3

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


@dataclass(frozen=True)
class _Blamed:
    """The traces of one function that one argument is to blame for."""

    argument: str
    reason: str
    first: Change
    traces: Sequence[Trace]

    @property
    def count(self) -> int:
        return round(sum(trace.weight for trace in self.traces))


class Retracing(Cause):
    """
    What happens
    A `tf.function` keeps one graph per kind of arguments: per dtype and shape of its tensors, and per *value* of
    everything that is not a tensor. Called with a kind it has not seen, it runs its Python code again and builds
    another graph.

    Why it is slow
    A trace runs the Python code line by line, and the new graph is optimised and loaded at its first run. That takes
    ten to ten thousand times as long as a call of a graph that exists, and every graph stays in memory.

    The fix
    Hand in numbers that change as tensors (`tf.constant(rate)`). For shapes, use `reduce_retracing=True`, an
    `input_signature` with `None` for what varies, or padding. Make objects once and pass the same ones. A flag with two
    values is fine: it costs one more trace.

    When we are wrong
    A number that takes a few values on purpose (a depth, a stage of training) needs a graph for each. Then the cost
    is real, but it ends once all values have been seen.
    """

    title = "a function is traced again and again"
    needs = ("functions",)

    def detect(self, run: Run) -> Iterable[Finding]:
        by_function: dict[int, list[Trace]] = defaultdict(list)
        for trace in traces(run):
            by_function[trace.function].append(trace)
        for function, found in by_function.items():
            if function:
                blamed = _blame(found)
                if blamed is not None:
                    yield self._finding(run, function, found, blamed)

    def _finding(self, run: Run, function: int, found: Sequence[Trace], blamed: _Blamed) -> Finding:
        usual = usual_call(run, function)
        bad = [trace for trace in blamed.traces if in_training(run, trace)]
        seconds = sum(cost(trace, usual) * trace.weight for trace in bad)
        change = blamed.first
        name = found[0].name
        calls = blamed.count + _calls(run, function)
        title = (
            f"{name}() is traced again in {blamed.count} of {calls} calls: "
            f"`{change.leaf}` is {_SAYS[blamed.reason]}, {_value(change.old)} → {_value(change.new)}"
        )
        callers = Counter(trace.caller for trace in bad if trace.caller is not None)
        evidence = [
            Evidence("traces", sum(round(trace.weight) for trace in found)),
            Evidence("of them because of this argument", blamed.count),
            Evidence("seconds per trace", sum(trace.seconds for trace in bad) / max(1, len(bad)), "s"),
            Evidence("seconds per call that traces", sum(trace.call for trace in bad) / max(1, len(bad)), "s"),
            Evidence("nodes in the graph", max(trace.nodes for trace in found)),
        ]
        if usual is not None:
            evidence.append(Evidence("seconds per call that does not", usual, "s"))
        return Finding(
            cause=self.id, title=title, location=callers.most_common(1)[0][0] if callers else None, seconds=seconds,
            evidence=tuple(evidence), certainty=Certainty.MEASURED if usual is not None else Certainty.LIKELY,
            facts={
                "function": name, "place": found[0].place, "argument": blamed.argument, "leaf": change.leaf,
                "reason": blamed.reason, "old": change.old, "new": change.new, "made": found[0].made,
                "source": run.sources.get(found[0].place.file), "relaxed": found[0].relaxed,
            },
        )  # fmt: skip

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        facts, where = finding.facts, finding.location
        reason, place = facts["reason"], facts["place"]
        assert where is not None
        if reason == "number" and facts["leaf"] == facts["argument"]:
            return _as_tensor(script, where.line, facts)
        if reason == "shape" and not facts["relaxed"] and facts["source"] is not None:
            return _relaxed(script, place, facts)
        return None


def _as_tensor(script: Script, line: int, facts: Mapping[str, Any]) -> Fix:
    """The number that changes is handed in as a tensor."""
    from unslow.fix.tensor_argument import number_as_tensor

    body = _body(script, facts)
    kind = facts["new"].partition(" ")[0]
    edited = number_as_tensor(script, line, facts["function"], facts["argument"], kind, body)
    known = body is not None
    return Fix(
        title=f"hand in `{facts['argument']}` as a tensor", safety=Safety.CLOSE if known else Safety.REVIEW,
        files={script.path: edited.text},
        note="" if known else f"What {facts['function']}() does with it was not seen: a tensor has no Python value.",
    )  # fmt: skip


def _relaxed(script: Script, place: Location, facts: Mapping[str, Any]) -> Fix:
    """One graph for all shapes."""
    from unslow.fix.script import Script as Text
    from unslow.fix.tensor_argument import reads_shapes, relax_shapes

    home = script if place.file == script.path else Text(place.file, facts["source"])
    body = _body(script, facts)
    made = facts["made"]
    edited = relax_shapes(home, place.line, made.line if made is not None else place.line)
    asks = body is None or reads_shapes(body)
    return Fix(
        title=f"let one graph of {facts['function']}() take all shapes", safety=Safety.REVIEW if asks else Safety.CLOSE,
        files={home.path: edited.text},
        note="It asks for shapes while it is traced: those that vary are None then." if asks else "",
    )  # fmt: skip


def _body(script: Script, facts: Mapping[str, Any]) -> Any:
    """The traced function as it stands in its file; None where that was not kept."""
    from unslow.fix.script import Script as Text

    place = facts["place"]
    if place.file == script.path:
        return script.function_at(place.line)
    return Text(place.file, facts["source"]).function_at(place.line) if facts["source"] else None


def _blame(found: Sequence[Trace]) -> _Blamed | None:
    """The argument that most of the traces of a function are due to, if that is more than is usual."""
    groups: dict[tuple[str, str], list[tuple[Trace, Change]]] = defaultdict(list)
    for index, trace in enumerate(found[1:], start=1):
        for change in nearest(trace, found[:index]):
            groups[change.argument, change.reason].append((trace, change))
    for (argument, reason), members in sorted(groups.items(), key=lambda group: -len(group[1])):
        change = members[0][1]
        floats = reason == "number" and "float" in (change.old.partition(" ")[0], change.new.partition(" ")[0])
        if len(members) > (_ALLOWED_FLOAT if floats else _ALLOWED.get(reason, _ALLOWED_ELSE)):
            return _Blamed(argument, reason, change, [trace for trace, _ in members])
    return None


def _calls(run: Run, function: int) -> int:
    """Calls of a function that traced nothing, as far as they were written."""
    counts = (int(e.data.get("calls") or 0) for e in run.of("first_run") if e.data.get("function") == function)
    return max(counts, default=0)


def _value(text: str) -> str:
    """A described leaf without the word for its type where the value speaks for itself."""
    kind, _, value = text.partition(" ")
    if kind == "float":
        return f"{float(value):.4g}"
    return value if kind in ("int", "str", "bool") else text or "nothing"


def _trace(at: int, function: int = 1, took: float = 0.03, **arguments: str) -> object:
    return fact(
        "trace", at, name="train_step", place=["train.py", 4, "train_step"], function=function, depth=0, took=took,
        args=arguments, nodes=40, updates=True, way="direct", made=[["train.py", 4, "<module>"]], key="train_step",
        stack=[["train.py", 12, "<module>"]], n=1,
    )  # fmt: skip


Retracing.FIRES = (
    Sketch(
        "a learning rate that changes in every tenth step",
        facts=[_trace(at, rate=f"float {1 / at}", x="float32[8]") for at in range(1, 100, 10)],  # type: ignore[misc]
    ),
)
Retracing.QUIET = (
    Sketch(
        "training and evaluation, each with a last partial batch",
        facts=[
            _trace(at, x=f"float32[{rows}]", training=f"bool {mode}")  # type: ignore[misc]
            for at, rows, mode in ((1, 64, True), (30, 12, True), (31, 64, False), (35, 9, False))
        ],
    ),
)
