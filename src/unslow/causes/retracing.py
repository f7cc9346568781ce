"""A tf.function that is traced again and again because an argument keeps changing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unslow.analyse.sketch import Sketch, fact
from unslow.analyse.traces import Change, Trace, cost, in_training, nearest, traces, usual_call
from unslow.cause import Cause
from unslow.model import Certainty, Evidence, Finding, Run

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
                "reason": blamed.reason, "old": change.old, "new": change.new,
            },
        )  # fmt: skip


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
