"""The same model, or its training function, is made again and again."""

from __future__ import annotations

import ast
import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.account import TRAINING, stretch_at
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.files import LoadedAgain
from unslow.facts.memory import Compile, Model
from unslow.facts.schema import Place, Stack
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import Kind, argument, own_nodes

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_FEW = 3  # times made again: up to here it may be a search over a few models
_MUCH_MEMORY = 200e6
_LOADING = (
    0.05  # of the run: loading a model again that takes less is not worth a change (judgement)
)


@dataclass(frozen=True)
class _Rebuilt:
    """One line that makes a model or compiles it, again and again during training."""

    what: str  # model or compile
    stack: Stack
    made: Sequence[Model] | Sequence[Compile]
    rows: Sequence[int]  # of the loop: the steps that had to start anew
    kinds: int = 1  # different models, each of which is made again


@dataclass(frozen=True)
class _Remade:
    """What the fix needs to know of a model that is made, or compiled, in every turn."""

    stack: Stack
    is_model: bool  # made; else it is only compiled
    has_weights: bool  # when it is compiled


class ModelRebuilt(Cause):
    """
    What happens
    A loop (over folds, seeds, learning rates, epochs) makes the same model again, or compiles it
    again, in every turn. Or a saved model is loaded again for every request.

    Why it is slow
    Each new model and each `compile()` has a training function of its own, which is traced,
    optimised and loaded before the first step. And a model that has trained is not freed on
    TensorFlow 2.21, neither by `del` nor by `clear_session()`: memory grows with every turn.

    The fix
    Make and compile the model once. Start each turn from its first weights
    (`model.set_weights(first)`) and the optimizer's first state. Or run each turn in a process of
    its own, which frees everything. Load a saved model once.

    When we are wrong
    Models of different sizes cannot be reused: they are not reported. A search over a few models is
    not either.
    """

    title = "the same model is made again and again"
    reads = (
        Compile,
        Model,
        LoadedAgain,
    )
    deeper_than = ("fit-in-loop", "function-in-loop", "retracing", "variables-in-loop")

    def detect(self, run: Run) -> Iterable[Finding]:
        yield from self._loaded(run)
        for loop in run.loops:
            found = [_models(run, loop), _compiles(run, loop)]
            best = max(
                (each for each in found if each is not None),
                key=lambda each: len(each.rows),
                default=None,
            )
            if best is not None:
                yield self._finding(run, loop, best)

    def _loaded(self, run: Run) -> Iterable[Finding]:
        """Lines that load a saved model which the program has loaded before."""
        last = {(fact.process, fact.stack): fact for fact in run.facts(LoadedAgain) if fact.stack}
        for fact in last.values():
            if fact.count <= _FEW or fact.took < _LOADING * run.seconds:
                continue
            stretch = stretch_at(run, fact.process, fact.time)
            each = fact.took / fact.count
            yield Finding(
                cause=self.id,
                title=f"the same saved model is loaded {fact.count:,} times more: {say.time(each)} "
                "each",
                location=say.place(run, fact.stack[0]),
                seconds=fact.took,
                evidence=(
                    Evidence("loaded again", fact.count),
                    Evidence("seconds of loading it each time", each, "s"),
                ),
                advice="Load it once and keep it: before the loop, at the top of the module, or in "
                "the "
                "constructor of what uses it.",
                stretch="" if stretch == TRAINING else stretch,
            )

    def _finding(self, run: Run, loop: Loop, found: _Rebuilt) -> Finding:
        costs = [_cost(loop, row) for row in found.rows]
        seconds = sum(costs) + _making(run, loop, found)
        is_model = found.what == "model"
        where = say.place(run, _line_in_loop(loop, found.stack) if is_model else found.stack[0])
        times = len(found.made)
        last = found.made[-1]
        memory = _memory(run, loop, found)
        what = "the model is compiled"
        if isinstance(last, Model):
            what = f"the same {last.name or 'model'} is made"
            if found.kinds > 1:
                what = f"the same {found.kinds} models are made"
        evidence = [
            Evidence("times made" if is_model else "compile() calls", times),
            Evidence(
                "seconds of tracing, building and preparing each time",
                seconds / max(1, len(costs)),
                "s",
            ),
            Evidence("steps between", loop.steps // max(1, times)),
        ]
        if memory is not None:
            evidence.append(Evidence("memory kept each time", memory, "B"))
        made_at = say.place(run, found.stack[0])
        if str(made_at) != str(where):
            evidence.append(Evidence("made at", str(made_at)))
        grows = memory is not None and memory * times > _MUCH_MEMORY
        return Finding(
            cause=self.id,
            title=f"{what} {times} times in the loop: {say.time(seconds / max(1, len(costs)))} "
            "each before its first "
            "step"
            + (
                f", and {say.size(memory)} of memory that stays"
                if grows and memory is not None
                else ""
            ),
            location=where,
            seconds=seconds,
            evidence=tuple(evidence),
            grows=grows,
            advice=_ADVICE[found.what],
            detail=_Remade(found.stack, is_model, has_weights=bool(_weights(run, found))),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.cached_load import loads_model
        from unslow.fix.moves.hoist_model import model_once

        remade = finding.detail
        if not isinstance(remade, _Remade):
            return _loaded_once(finding, script)
        if remade.is_model and not remade.has_weights:
            if finding.location is not None and loads_model(script, finding.location.line):
                return _loaded_once(finding, script)
            return Refusal(
                "the model has no weights yet when it is compiled, so there is nothing to start "
                "again from: "
                "give it an Input",
                finding.location,
            )
        lines = [line for file, line, _ in remade.stack if file == script.path]
        title, note = "Compile the model once", "The optimizer keeps its state over the turns."
        if remade.is_model:
            title = "Make the model once, and start each turn from its first weights"
            note = "Every turn starts from the same first weights instead of new random ones."
        files = {script.path: model_once(script, lines).text}
        return Fix(title, Safety.REVIEW, files, note)

    def spot(self, source: Source) -> Iterable[Spot]:
        methods = [node.attr for node in source.every(ast.Attribute)]
        if "fit" not in methods or any(source.session_runs()):
            return
        for call in source.every(ast.Call):
            made = isinstance(source.parents.get(call), ast.Assign)
            compiled = isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
            loop = _comes_by(source, call) if made or compiled else None
            if loop is None:
                continue
            if _compiles_again(source, call, loop):
                yield source.spot(
                    call,
                    f"the loop at line {loop.lineno} compiles the same model in every turn, and "
                    "each compile() makes"
                    " a training function that is traced again",
                    "compile once, before the loop; in it, model.optimizer.learning_rate = ...",
                )
            elif _makes_again(source, call, loop):
                yield source.spot(
                    call,
                    f"the loop at line {loop.lineno} makes and trains the same model in every "
                    "turn: each is traced"
                    " again, and TensorFlow keeps what the last one held, if the loop runs more "
                    "than a few times",
                    "make and compile it once, before the loop, and start each turn with "
                    "model.set_weights(first) and"
                    " the optimizer's first state; or run each turn in a process of its own",
                )


def _loaded_once(finding: Finding, script: Script) -> Fix | None:
    from unslow.fix.moves.cached_load import load_once

    if finding.location is None:
        return None
    edited = load_once(script, finding.location.line)
    note = "A file that changes while the program runs is not read again."
    return Fix("keep what was loaded", Safety.REVIEW, {script.path: edited.text}, note)


_RESETS = (
    "keras.backend.clear_session",
    "keras.utils.clear_session",
    "tf.random.set_seed",
    "tf.set_random_seed",
    "keras.utils.set_random_seed",
)


def _comes_by(source: Source, call: ast.Call) -> ast.For | ast.AsyncFor | ast.While | None:
    """The one loop of more than a few turns that comes by a call each time, and trains."""
    loops = source.repeated_by(call)
    if (
        len(loops) != 1
        or source.trace_of(call) is not None
        or any(source.conditions(call, loops[0]))
    ):
        return None
    loop = loops[0]
    turns = loop.iter if isinstance(loop, ast.For) else None
    if isinstance(turns, ast.List | ast.Tuple) and len(turns.elts) <= _FEW:
        return None
    if isinstance(turns, ast.Call) and source.name(turns.func) == "range" and len(turns.args) == 1:
        number = source.number_of(turns.args[0])
        if number is not None and number <= _FEW:
            return None
    return loop


def _parts(source: Source, call: ast.Call, loop: ast.AST) -> list[ast.AST]:
    """What runs in a turn: the loop's body, and that of the function that a call is in."""
    function = source.function(call)
    inside = [] if source.within(call, loop) or function is None else list(own_nodes(function))
    return [*own_nodes(loop), *inside]


def _fits(source: Source, parts: Sequence[ast.AST]) -> list[ast.expr]:
    """The models whose fit() is among some nodes."""
    calls = [part.func for part in parts if isinstance(part, ast.Call)]
    methods = [
        function
        for function in calls
        if isinstance(function, ast.Attribute) and function.attr == "fit"
    ]
    return [method.value for method in methods if source.kind(method.value) is Kind.MODEL]


def _compiles_again(
    source: Source, call: ast.Call, loop: ast.For | ast.AsyncFor | ast.While
) -> bool:
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr != "compile":
        return False
    model = method.value
    if source.kind(model) is not Kind.MODEL or _is_new_in_turn(source, model, call, loop):
        return False
    parts = _parts(source, call, loop)
    if not _fits(source, parts):
        return False
    # A layer that is frozen or thawed needs a new compile(), and so does another loss.
    if any(isinstance(part, ast.Attribute) and part.attr == "trainable" for part in parts):
        return False
    given = [*call.args, *(item.value for item in call.keywords)]
    optimizer = argument(call, "optimizer", 0)
    return not any(source.varies(value, loop) for value in given if value is not optimizer)


def _is_new_in_turn(
    source: Source, model: ast.expr, call: ast.Call, loop: ast.For | ast.AsyncFor | ast.While
) -> bool:
    """Whether a model is made, or handed over, in every turn of a loop."""
    if not source.bound_outside(model, loop):
        return True
    function = None if source.within(call, loop) else source.function(call)
    if function is None or not isinstance(model, ast.Name):
        return False
    return any(source.within(binding.node, function) for binding in source.reaching(model))


def _makes_again(source: Source, call: ast.Call, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    made = source.parents.get(call)
    if (
        not isinstance(made, ast.Assign)
        or source.kind(call) is not Kind.MODEL
        or source.varies(call, loop)
    ):
        return False
    names = {target.id for target in made.targets if isinstance(target, ast.Name)}
    parts = _parts(source, call, loop)
    trained = [
        model for model in _fits(source, parts) if isinstance(model, ast.Name) and model.id in names
    ]
    if (
        not names
        or not trained
        or any(source.name(p.func) in _RESETS for p in parts if isinstance(p, ast.Call))
    ):
        return False
    return not any(_is_kept(source, part, names) for part in parts)


def _is_kept(source: Source, part: ast.AST, names: set[str]) -> bool:
    """Whether a node hands a model on: into a container, out of the function, or to a function of
    another's."""
    if isinstance(part, ast.Return | ast.Yield):
        return any(isinstance(each, ast.Name) and each.id in names for each in _handed(part.value))
    if isinstance(part, ast.Assign):
        stored = any(not isinstance(target, ast.Name) for target in part.targets)
        return (
            any(isinstance(each, ast.Name) and each.id in names for each in _handed(part.value))
            and stored
        )
    if isinstance(part, ast.Call):
        given = [*part.args, *(item.value for item in part.keywords)]
        return any(
            isinstance(each, ast.Name) and each.id in names
            for value in given
            for each in _handed(value)
        )
    return False


def _handed(value: ast.expr | None) -> list[ast.expr]:
    return (
        list(value.elts)
        if isinstance(value, ast.Tuple | ast.List)
        else [value]
        if value is not None
        else []
    )


_ADVICE = {
    "model": "Make and compile it once, in front of the loop, and start each turn from its first "
    "weights "
    "(`model.set_weights(first)`) and its optimizer's first state; or run each turn in a process "
    "of its own.",
    "compile": "Call compile() once, in front of the loop; what changes from turn to turn can be "
    "set on what is there: "
    "`model.optimizer.learning_rate = rate`.",
}


def _models(run: Run, loop: Loop) -> _Rebuilt | None:
    """Models of equal weights that one line makes during a loop."""
    by_line: dict[tuple[str, int], list[Model]] = defaultdict(list)
    for model in run.facts(Model):
        if model.process == loop.process and model.stack:
            by_line[model.stack[0].file, model.stack[0].line].append(model)
    best: _Rebuilt | None = None
    for models in by_line.values():
        outer = _outermost(models)
        alike = Counter(model.weights for model in outer if model.weights)
        same = [model for model in outer if alike[model.weights] > _FEW]
        first = {model.weights: model for model in reversed(same)}
        again = [model for model in same if model is not first[model.weights]]
        rows = _rows(loop, [model.time - model.ago for model in again])
        if len(rows) >= _FEW and (best is None or len(rows) > len(best.rows)):
            best = _Rebuilt("model", same[0].stack, same, rows, kinds=len(first))
    return best


def _outermost(models: Sequence[Model]) -> list[Model]:
    """One per step: a Sequential makes a functional model inside of itself, at the same line."""
    kept: dict[int, Model] = {}
    for model in models:
        kept.setdefault(model.step, model)
    return list(kept.values())


def _compiles(run: Run, loop: Loop) -> _Rebuilt | None:
    """compile() calls for one and the same model during a loop."""
    by_line: dict[tuple[str, int, int], list[Compile]] = defaultdict(list)
    for call in run.facts(Compile):
        if call.process == loop.process and call.stack and call.model:
            by_line[call.stack[0].file, call.stack[0].line, call.model].append(call)
    for calls in by_line.values():
        rows = _rows(loop, [call.time for call in calls[1:]])
        if len(rows) >= _FEW:
            return _Rebuilt("compile", calls[0].stack, calls, rows)
    return None


def _line_in_loop(loop: Loop, stack: Stack) -> Place:
    """The line that makes it in the function that also trains it: a factory may be called
    elsewhere."""
    training = {(frame.file, frame.function) for frame in loop.stack}
    here = (place for place in stack if (place.file, place.function) in training)
    return next(here, stack[0])


def _rows(loop: Loop, times: Iterable[float]) -> list[int]:
    """The steps that ended next after some moments, and traced: those that had to start anew."""
    found = []
    for time in times:
        row = bisect.bisect_left(loop.end, time)
        if 0 < row < len(loop.end) and float(loop.phases[row, Phase.TRACE]) > 0:
            found.append(row)
    return sorted(set(found))


def _cost(loop: Loop, row: int) -> float:
    """What a step that starts anew takes beyond others: the trace, things made, and the graph's
    preparation."""
    usual = float(np.median(loop.phases[:, Phase.RUN]))
    phases = loop.phases[row]
    return float(phases[Phase.TRACE] + phases[Phase.BUILD]) + max(
        0.0, float(phases[Phase.RUN]) - usual
    )


def _making(run: Run, loop: Loop, found: _Rebuilt) -> float:
    """Seconds at the line that makes the model, outside of what the phases of a step name."""
    here = found.stack[0]
    at_line = others = 0
    for sample in run.samples:
        if sample.process != loop.process or sample.phase is not Phase.OTHER:
            continue
        is_here = any((place.file, place.line) == (here.file, here.line) for place in sample.stack)
        at_line += sample.in_steps * is_here
        others += sample.in_steps * (not is_here)
    needed_again = len(found.rows) / max(1, len(found.made))
    return loop.phase(Phase.OTHER) * needed_again * at_line / max(1, at_line + others)


def _memory(run: Run, loop: Loop, found: _Rebuilt) -> float | None:
    """Memory per turn: its rise from the second turn to the last."""
    process = next((each for each in run.processes if each.index == loop.process), None)
    if process is None or "rss" not in process.ticks.columns or len(found.rows) < _FEW:
        return None
    first, last = float(loop.end[found.rows[0]]), float(loop.end[found.rows[-1]])
    ticks, rss = process.ticks.time, process.ticks.columns["rss"]
    begin, end = np.searchsorted(ticks, first), np.searchsorted(ticks, last)
    if end <= begin or end >= len(rss):
        return None
    each = float(rss[end] - rss[begin]) / (len(found.rows) - 1)
    return each if each > 0 else None


def _weights(run: Run, found: _Rebuilt) -> int:
    """Weights that the model had when it was compiled; 0 where it is built at its first batch."""
    numbers = {made.model for made in found.made}
    counts = [call.weights for call in run.facts(Compile) if call.model in numbers]
    return min(counts, default=0)


_LINE = (Place("train.py", 11, "<module>"),)


def _made(step: int, number: int, weights: str = "4:ab") -> Placed:
    model = Model(
        model=number, name="Sequential", step=step, weights=weights, n=number, stack=_LINE
    )
    return at(step, model)


def _loads(count: int, took: float) -> Placed:
    return at(0, LoadedAgain(count=count, took=took, stack=_LINE))


def _turns(steps: int, turns: int) -> tuple[list[float], dict[Phase, Any]]:
    seconds = ([1.0] + [0.01] * (steps - 1)) * turns
    return seconds, {
        Phase.TRACE: ([0.7] + [0.0] * (steps - 1)) * turns,
        Phase.RUN: ([0.2] + [0.9] * (steps - 1)) * turns,
    }


_TEN, _PHASES = _turns(20, 10)
_THREE, _PHASES_3 = _turns(200, 3)

ModelRebuilt.FIRES = (
    Sketch(
        "ten folds, a new model for each",
        seconds=_TEN,
        phases=_PHASES,
        style="keras",
        facts=[_made(1 + 20 * turn, turn + 1) for turn in range(10)],
    ),
    Sketch(
        "compile() in every epoch",
        seconds=_TEN,
        phases=_PHASES,
        style="keras",
        facts=[
            at(1 + 20 * turn, Compile(model=1, stack=_LINE, took=0.01, weights=4))
            for turn in range(10)
        ],
    ),
    Sketch("a saved model is loaded for every request", before=10.0, facts=[_loads(69, 6.0)]),
)
ModelRebuilt.QUIET = (
    Sketch("a saved model is loaded three times", before=10.0, facts=[_loads(2, 1.0)]),
    Sketch(
        "a search over three models",
        seconds=_THREE,
        phases=_PHASES_3,
        style="keras",
        facts=[_made(1 + 200 * turn, turn + 1) for turn in range(3)],
    ),
    Sketch(
        "a search over ten models of different sizes",
        seconds=_TEN,
        phases=_PHASES,
        style="keras",
        facts=[_made(1 + 20 * turn, turn + 1, f"4:{turn}") for turn in range(10)],
    ),
    Sketch("one model", seconds=_TEN, style="keras", facts=[_made(1, 1)]),
)
