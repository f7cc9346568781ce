"""Keras's predict or evaluate is called on a few rows inside a loop, at a fixed cost each time."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from unslow.analyse import wording as say
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stretches import stretch_at
from unslow.cause import Cause, Spot
from unslow.facts.functions import Trace
from unslow.facts.keras import Prediction
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import remove_keyword, rename_call
from unslow.fix.moves.call_on_batch import gives_only, reset_metrics_before
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import How, Kind, Source, own_nodes
from unslow.syntax import Loop as LoopNode
from unslow.syntax import argument as argument_of
from unslow.syntax.nodes import method_of

_EACH_BATCH = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")

_FEWEST_CALLS = 4  # the first one traces the model, and two more could be chance
_FIXED_SHARE = 0.5  # of a call: where the model itself takes more, the input is not small
_ARRAYS_OF_ONE = "With Keras 3 its results are NumPy's numbers, where `evaluate` gives Python's."
_DEFAULT_BATCH = 32  # of Keras
_MOST_BATCHES = 32  # that predict_on_batch may run as one; a judgement: more may not fit in memory
_ARRAYS = ("ndarray", "EagerTensor", "list", "tuple", "dict")
_ONLY_PREDICT = ("verbose", "batch_size", "callbacks")  # arguments that change no result
_ON_BATCH = {"predict": "predict_on_batch", "evaluate": "test_on_batch"}
# The arguments that both have: how many by position, and the names of all.
_TAKEN: dict[str, tuple[int, tuple[str, ...]]] = {
    "predict": (1, ("x",)),
    "evaluate": (2, ("x", "y", "sample_weight", "return_dict")),
}


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know about the calls."""

    call: str
    data: str  # type of x
    rows: float  # at most
    batch_size: float | str | None


def _called(step: int, took: float, ran: float, rows: float = 1.0, call: str = "predict") -> Placed:
    where = stack_at(11, "act")
    seen = Prediction(n=step, sum=step * took, took=took, key="k", ran=ran, rows=rows, call=call)
    return at(step, seen.replace(data="ndarray", stack=where, step=step))


_TRACED = Trace(name="predict", weights="4 from #1", key="t")


class PredictInLoop(Cause):
    """
    What happens

    `model.predict` (or `evaluate`) is called with a few rows, in every step or so.

    Why it is slow

    Each call builds a tf.data pipeline, its iterator and a list of callbacks, and tears them down
    again: about 50 ms on a laptop, whatever the input. That pays for a large array. For a few rows
    the model itself takes a hundredth of it.

    The fix

    `model.predict_on_batch(x)` gives the same array and calls the compiled model directly. Where
    the result may stay a tensor, a `tf.function` around `model(x, training=False)` is as fast.
    Predict rows that are known together in one call. Call `evaluate` less often; for rows that fit
    into one batch, `model.reset_metrics()` and `model.test_on_batch(x, y)` give the same numbers.

    When we are wrong

    The gain is the measured time of the calls minus the time in which TensorFlow ran the model in
    them. Where `x` has more rows than fit into memory at once, `predict_on_batch` is no
    replacement.
    """

    title = "predict is called on a few rows in the loop"
    reads = (Prediction, Trace)
    deeper_than = ("iterator-rebuilt", "evaluation-in-step", "tiny-batches")

    def detect(self, run: Run) -> Iterable[Finding]:
        groups: dict[str, list[Prediction]] = defaultdict(list)
        for seen in run.facts(Prediction):
            if seen.call in ("predict", "evaluate"):
                groups[seen.key].append(seen)
        for calls in groups.values():
            for stretch, loop, together in _places(run, calls):
                yield from self._judge(run, together, loop, stretch)

    def _judge(
        self, run: Run, seen: list[Prediction], loop: Loop | None, stretch: str
    ) -> Iterable[Finding]:
        first, last = seen[0], seen[-1]
        detailed = [call for call in seen if call.ran is not None][1:]
        calls = last.n - first.n  # the first one also traces the model
        if not detailed or calls < _FEWEST_CALLS or _first_of_their_models(run, detailed):
            return
        took = (last.sum - first.sum) / calls
        ran = median(call.ran or 0.0 for call in detailed)
        if took - ran < _FIXED_SHARE * took:
            return
        last = detailed[-1]
        rows = median(call.rows for call in detailed)
        where = say.place(run, last.stack[0])
        on = f" on {rows:.0f} rows" if rows > 1 else ""
        often = _often(calls, loop.steps) if loop is not None else f"{calls:,} times"
        what = f"{_spelled(where.code, last.call)} is called {often}"
        yield Finding(
            cause=self.id,
            location=where,
            seconds=calls * (took - ran),
            title=f"{what}{on}: {say.time(took)} each, the model {say.time(ran)}",
            evidence=(
                Evidence("calls", calls),
                Evidence("rows in a call", rows),
                Evidence("a call takes", took, "s"),
                Evidence("of which the model runs", ran, "s"),
                Evidence("fixed cost of a call", took - ran, "s"),
            ),
            advice=_ADVICE[last.call],
            detail=_Detail(
                call=last.call,
                data=last.data,
                rows=max(call.rows for call in detailed),
                batch_size=last.batch_size,
            ),
            stretch=stretch,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Detail)
        new = _ON_BATCH[detail.call]
        if detail.data not in _ARRAYS:
            why = f"{detail.call} is given a {detail.data}, which {new} does not take"
            return Refusal(why, where)
        batch = detail.batch_size if isinstance(detail.batch_size, float) else _DEFAULT_BATCH
        if detail.rows > _MOST_BATCHES * batch:
            return Refusal(f"{detail.rows:.0f} rows may not fit into memory at once", where)
        if not gives_only(script, where.line, detail.call, *_TAKEN[detail.call]):
            return Refusal("the call is given more than its rows", where)
        fixed = script
        for keyword in _ONLY_PREDICT:
            fixed = remove_keyword(fixed, where.line, detail.call, keyword)
        fixed = rename_call(fixed, where.line, detail.call, new)
        if detail.call == "evaluate":
            fixed = reset_metrics_before(fixed, where.line, new)
        asked = script.call_at(where.line, detail.call)
        is_read = asked is not None and not isinstance(script.parents[asked], ast.Expr)
        note = _ARRAYS_OF_ONE if detail.call == "evaluate" and is_read else ""
        return Fix(
            title=f"call {new}, which runs the compiled model directly",
            safety=Safety.EXACT if detail.rows <= batch else Safety.CLOSE,
            files={where.file: fixed.text},
            note=note,
        )

    FIRES = (
        Sketch(
            "one row is predicted in every step",
            seconds=(0.06,) * 60,
            phases={Phase.EVAL: 0.9, Phase.RUN: 0.1},
            facts=[_called(step, 0.055, 0.001) for step in range(1, 61)],
        ),
    )
    QUIET = (
        Sketch(
            "a whole test set is predicted: the model takes the time",
            seconds=(0.06,) * 60,
            phases={Phase.EVAL: 0.9, Phase.RUN: 0.1},
            facts=[_called(step, 0.5, 0.4, rows=10_000) for step in range(1, 61, 10)],
        ),
        Sketch(
            "each call is the first one of a new model",
            seconds=(0.06,) * 60,
            phases={Phase.EVAL: 0.9, Phase.RUN: 0.1},
            facts=[
                *(at(step, _TRACED.replace(n=step)) for step in range(1, 61)),
                *(_called(step, 0.055, 0.001) for step in range(1, 61)),
            ],
        ),
        Sketch(
            "one call to look at a result",
            seconds=(0.06,) * 60,
            phases={Phase.RUN: 1.0},
            facts=[_called(30, 0.055, 0.001)],
        ),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        for predict in source.methods(Kind.MODEL, "predict"):
            loop = next(iter([*source.loops(predict), *source.repeated_by(predict)]), None)
            if _is_in_batch_hook(source, predict):
                if not any(source.conditions(predict)):
                    yield source.spot(
                        predict,
                        f"predict starts a tf.data pipeline after every batch, {_OUTWEIGHS}",
                        "self.model.predict_on_batch(x), or predict in on_epoch_end",
                    )
            elif loop is not None and _predicts_new_rows(source, predict, loop):
                yield source.spot(
                    predict,
                    "predict starts a tf.data pipeline in every turn of the loop at line "
                    f"{loop.lineno}, {_OUTWEIGHS}",
                    "model.predict_on_batch(x) in the loop, or one model.predict(all_rows) before "
                    "it",
                )


_OUTWEIGHS = "which outweighs the model when the input is a few rows"
_ADVICE: dict[str, str] = {
    "predict": "Call model.predict_on_batch(x): the same array, without a pipeline for every call.",
    "evaluate": "Call evaluate less often, or model.reset_metrics() and model.test_on_batch(x, y) "
    "for a single batch.",
}


def _first_of_their_models(run: Run, calls: list[Prediction]) -> bool:
    """Whether most calls trace a model: each is the first one of a new model."""
    traced = [trace.time for trace in run.facts(Trace, calls[0].process) if trace.weights]
    first = [call for call in calls if any(0 <= call.time - time <= call.took for time in traced)]
    return 2 * len(first) > len(calls)


def _spelled(code: str, name: str) -> str:
    """The call as the user wrote it: `self.critic.predict`."""
    found = re.search(rf"([\w.]+)\.{name}\s*\(", code)
    return f"{found.group(1)}.{name}" if found else f"model.{name}"


def _often(calls: int, steps: int) -> str:
    per_step = calls / steps
    if per_step >= 1.5:
        return f"{per_step:.1f} times a step"
    if per_step >= 0.95:
        return "once a step"
    return (
        f"in {say.share(per_step)} of the steps"
        if per_step >= 0.67
        else f"every {1 / per_step:.0f} steps"
    )


def _is_in_batch_hook(source: Source, predict: ast.Call) -> bool:
    """Whether a call is in a hook of a Keras callback that runs for every batch."""
    hook, owner = source.function(predict), source.enclosing_class(predict)
    is_hook = getattr(hook, "name", "") in _EACH_BATCH
    return is_hook and owner is not None and source.class_kind(owner) is Kind.CALLBACK


def _predicts_new_rows(source: Source, predict: ast.Call, loop: LoopNode) -> bool:
    """Whether one model predicts other rows in each turn of a loop that does not train it."""
    rows = argument_of(predict, "x", 0)
    is_trained = any(method_of(node) == "fit" for node in own_nodes(loop))
    if rows is None or is_trained or source.varies(predict.func, loop):
        return False
    if source.within(rows, loop):
        return source.varies(rows, loop)
    names = [node for node in ast.walk(rows) if isinstance(node, ast.Name) and node.id != "self"]
    bindings = [binding for name in names for binding in source.reaching(name)]
    return any(binding.how is How.PARAMETER for binding in bindings)


def _places(
    run: Run, calls: list[Prediction]
) -> Iterator[tuple[str, Loop | None, list[Prediction]]]:
    """The calls of one line inside a loop, and those of each stretch outside of all loops."""
    outside: dict[str, list[Prediction]] = defaultdict(list)
    for seen in calls:
        if run.loop_of(seen) is None:
            outside[stretch_at(run, seen.process, seen.time)].append(seen)
    for loop in run.loops:
        inside = [seen for seen in calls if run.loop_of(seen) is loop]
        if inside:
            yield "", loop, inside
    for stretch, together in outside.items():
        yield stretch, None, together
