"""The same model, or its training function, is rebuilt in every turn of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs import remade_models
from unslow.analyse.graphs.remade_models import (
    FEW_MODELS,
    Remade,
    has_weights,
    memory_kept,
    remade_model,
    remaking_seconds,
)
from unslow.analyse.grouping import known
from unslow.analyse.places import line_of
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stretches import TRAINING, stretch_at
from unslow.cause import Cause, Spot
from unslow.facts.files import LoadedAgain
from unslow.facts.memory import Compile, Model
from unslow.facts.schema import Stack
from unslow.model import Evidence, Finding, Fix, Phase, Refusal, Run, Safety
from unslow.syntax.repeated_models import (
    is_compiled_again,
    is_made_again,
    loop_of_every_turn,
)

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_MUCH_MEMORY = 200e6  # bytes over all turns; a judgement: less does not decide what a machine holds
_LOADING_SHARE = 0.05  # of the run; a judgement: loading that takes less is not worth a change


@dataclass(frozen=True)
class _Detail:
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
    optimized and loaded before the first step. TensorFlow 2.21 does not free a model that has
    trained, neither after `del` nor after `clear_session()`: memory grows with every turn.

    The fix
    Make and compile the model once. Start each turn from its first weights
    (`model.set_weights(first)`) and the optimizer's first state. Or run each turn in a process of
    its own, which frees everything. An object that holds a model, an optimizer and a compiled
    step is made once as well, if each turn sets its weights. Load a saved model once.

    When we are wrong
    Models of different sizes cannot be reused, and a search over a few models needs each of them:
    neither is reported.
    """

    title = "the same model is rebuilt repeatedly"
    reads = (*remade_models.READS, LoadedAgain)
    deeper_than = ("fit-in-loop", "function-in-loop", "retracing", "variables-in-loop")
    deeper_at_line = ("eager-calls", "python-input")  # what loading or making it consists of

    def detect(self, run: Run) -> Iterable[Finding]:
        remade = known(remade_model(run, loop) for loop in run.loops)
        totals = {(fact.process, fact.stack): fact for fact in run.facts(LoadedAgain) if fact.stack}
        loads = [fact for fact in totals.values() if fact.count > FEW_MODELS]
        for fact in loads:
            yield from self._loaded(run, fact, [each for each in remade if _loads(each, fact)])
        for each in remade:
            if not any(_loads(each, fact) for fact in loads):
                yield self._remade(run, each)

    def _loaded(self, run: Run, fact: LoadedAgain, remade: Iterable[Remade]) -> Iterable[Finding]:
        """A line that loads a saved model which the program has loaded before.

        What a loaded model has to prepare before it runs is part of the cost; `remade` has it,
        with the time at this line.
        """
        in_loops = sum(remaking_seconds(run, each) for each in remade)
        seconds = max(fact.took, in_loops)
        if seconds < _LOADING_SHARE * run.seconds:
            return
        stretch = TRAINING if in_loops else stretch_at(run, fact.process, fact.time)
        yield Finding(
            cause=self.id,
            title=f"the same saved model is loaded {fact.count:,} times more: "
            f"{say.time(seconds / fact.count)} each",
            location=say.place(run, fact.stack[0]),
            seconds=seconds,
            evidence=(
                Evidence("loaded again", fact.count),
                Evidence("time of loading it each time", fact.took / fact.count, "s"),
            ),
            advice="Load it once and keep it: before the loop, at the top of the module, or in "
            "the constructor of what uses it.",
            stretch="" if stretch == TRAINING else stretch,
        )

    def _remade(self, run: Run, remade: Remade) -> Finding:
        seconds = remaking_seconds(run, remade)
        memory = memory_kept(run, remade)
        times = len(remade.made)
        each = seconds / len(remade.traced)
        grows = memory * times > _MUCH_MEMORY
        kept = f", and {say.size(memory)} of memory that stays" if grows else ""
        made_at = say.place(run, remade.stack[0])
        where = say.place(run, remade.line_in_loop) if remade.is_model else made_at
        evidence = [
            Evidence("times made" if remade.is_model else "compile() calls", times),
            Evidence("time of tracing, building and preparing each time", each, "s"),
            Evidence("steps between", remade.loop.steps // times),
        ]
        if memory:
            evidence.append(Evidence("memory kept each time", memory, "B"))
        if str(made_at) != str(where):
            evidence.append(Evidence("made at", str(made_at)))
        return Finding(
            cause=self.id,
            title=f"{_what(remade)} {times} times in the loop: {say.time(each)} each before its "
            f"first step{kept}",
            location=where,
            seconds=seconds,
            evidence=tuple(evidence),
            grows=grows,
            advice=_MAKE_ONCE if remade.is_model else _COMPILE_ONCE,
            detail=_Detail(remade.stack, remade.is_model, has_weights(run, remade)),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.cached_load import loads_model
        from unslow.fix.moves.hoist_model import model_once

        where, detail = finding.place, finding.detail
        if not isinstance(detail, _Detail):
            return _loaded_once(script, where.line)
        lines = [line for file, line, _ in detail.stack if file == script.path]
        loading = [line for line in lines if loads_model(script, line)]
        if detail.is_model and loading:
            try:
                return _loaded_once(script, loading[0])
            except CannotEdit:
                if not detail.has_weights:
                    raise
        if detail.is_model and not detail.has_weights:
            return Refusal(
                "the model has no weights yet when it is compiled, so there is nothing to start "
                "again from: give it an Input",
                where,
            )
        title, note = "Compile the model once", "The optimizer keeps its state over the turns."
        if detail.is_model:
            title = "Make the model once, and start each turn from its first weights"
            note = "Every turn starts from the same first weights instead of new random ones."
        return Fix(title, Safety.REVIEW, {script.path: model_once(script, lines).text}, note)

    def spot(self, source: Source) -> Iterable[Spot]:
        methods = {node.attr for node in source.every(ast.Attribute)}
        if "fit" not in methods or any(source.session_runs()):
            return
        for call in source.every(ast.Call):
            yield from _spotted(source, call)


def _loads(remade: Remade, fact: LoadedAgain) -> bool:
    """Whether a line makes its models by loading them."""
    same_process = remade.loop.process == fact.process
    return same_process and line_of(remade.stack[0]) == line_of(fact.stack[0])


def _what(remade: Remade) -> str:
    last = remade.made[-1]
    if not isinstance(last, Model):
        return "the model is compiled"
    if remade.kinds > 1:
        return f"the same {remade.kinds} models are made"
    return f"the same {last.name or 'model'} is made"


def _loaded_once(script: Script, line: int) -> Fix:
    from unslow.fix.moves.cached_load import load_once

    note = "A file that changes while the program runs is not read again."
    files = {script.path: load_once(script, line).text}
    return Fix("keep what was loaded", Safety.REVIEW, files, note)


def _spotted(source: Source, call: ast.Call) -> Iterator[Spot]:
    loop = loop_of_every_turn(source, call, FEW_MODELS)
    if loop is None:
        return
    if is_compiled_again(source, call, loop):
        yield source.spot(
            call,
            f"the loop at line {loop.lineno} compiles the same model in every turn, and each "
            "compile() makes a training function that is traced again",
            "compile once, before the loop; in it, model.optimizer.learning_rate = ...",
        )
    elif is_made_again(source, call, loop):
        yield source.spot(
            call,
            f"the loop at line {loop.lineno} makes and trains the same model in every turn: each "
            "is traced again, and TensorFlow keeps what the last one held, if the loop runs more "
            "than a few times",
            "make and compile it once, before the loop, and start each turn with "
            "model.set_weights(first) and the optimizer's first state; or run each turn in a "
            "process of its own",
        )


_MAKE_ONCE = (
    "Make and compile it once, before the loop, and start each turn from its first weights "
    "(`model.set_weights(first)`) and its optimizer's first state; or run each turn in a process "
    "of its own."
)
_COMPILE_ONCE = (
    "Call compile() once, before the loop; set what changes from turn to turn on the compiled "
    "model: `model.optimizer.learning_rate = rate`."
)
_LINE = stack_at(11)


def _made(step: int, number: int, weights: str = "4:ab") -> Placed:
    model = Model(model=number, name="Sequential", step=step, weights=weights, n=number)
    return at(step, model.replace(stack=_LINE))


def _loaded_again(count: int, took: float) -> Placed:
    return at(0, LoadedAgain(count=count, took=took, stack=_LINE))


def _turns(says: str, turns: int, steps: int, facts: list[Placed]) -> Sketch:
    """A loop of which each turn traces in its first step."""
    return Sketch(
        says,
        seconds=([1.0] + [0.01] * (steps - 1)) * turns,
        phases={
            Phase.TRACE: ([0.7] + [0.0] * (steps - 1)) * turns,
            Phase.RUN: ([0.2] + [0.9] * (steps - 1)) * turns,
        },
        style="keras",
        facts=facts,
    )


_COMPILED = Compile(model=1, stack=_LINE, took=0.01, weights=4)
ModelRebuilt.FIRES = (
    _turns("a new model for each of ten folds", 10, 20, [_made(1 + 20 * n, n) for n in range(10)]),
    _turns("compile() in every epoch", 10, 20, [at(1 + 20 * n, _COMPILED) for n in range(10)]),
    Sketch(
        "a saved model is loaded for every request", before=10.0, facts=[_loaded_again(69, 6.0)]
    ),
    _turns(
        "a saved model is loaded, and traced, in every turn",
        10,
        20,
        [*(_made(1 + 20 * n, n) for n in range(10)), _loaded_again(9, 0.5)],
    ),
)
ModelRebuilt.QUIET = (
    Sketch("a saved model is loaded three times", before=10.0, facts=[_loaded_again(2, 1.0)]),
    _turns("a search over three models", 3, 200, [_made(1 + 200 * n, n) for n in range(3)]),
    _turns(
        "a search over ten models of different sizes",
        10,
        20,
        [_made(1 + 20 * n, n, f"4:{n}") for n in range(10)],
    ),
    _turns("one model", 10, 20, [_made(1, 1)]),
)
