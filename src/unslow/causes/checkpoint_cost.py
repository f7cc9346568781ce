"""Saving checkpoints takes a large share of the training."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.saves import Saves, saves_of
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import LEAST_SHARE, Cause, Spot
from unslow.facts.files import Save
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_arguments import call, given, keyword_set
from unslow.fix.moves.hook_interval import SAVING, rarer_hook, runs_hooks
from unslow.fix.moves.reading_condition import under_reader
from unslow.fix.moves.run_less_often import rarer
from unslow.model import Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import Kind, Source
from unslow.syntax import argument as written

_FEWEST_SAVES = 3  # a judgement: fewer show no interval
_BETWEEN_FAILURES = 86_400.0  # seconds; a judgement: one failure a day is a bad machine
_LEAST_SLOTS = 0.2  # of what is saved; a judgement: a smaller optimizer is not worth a mention
_POSITION = {"ModelCheckpoint": 6, "BackupAndRestore": 1}  # of save_freq, Keras 2.12 to 3
_SAFE_FIELDS = {"epoch", "batch"}  # of a file's name: known after any batch
_SAVERS = ("tf.train.Checkpoint", "tf.train.CheckpointManager", "tf.train.Saver")
_METHODS = ("save", "write", "save_weights")
_SAVING = ("tf.saved_model.save", "keras.models.save_model")


@dataclass(frozen=True)
class _Interval:
    """How often to save instead."""

    every: int  # steps
    times: int  # as rarely as now
    saved: Save
    stack: tuple[Location, ...]  # the lines that lead to the one that saves, innermost first


class CheckpointCost(Cause):
    """
    What happens
    The training stops after every step, or every few steps, to write its weights and often the
    optimizer's state, and this takes a large part of the time.

    Why it is slow
    A checkpoint copies every variable to the host, writes it and waits for the disk. It costs the
    same however little has changed since the last one.

    The fix
    Balance the cost of saving against the work at risk. Young's formula gives the interval: √(2 ×
    cost of one checkpoint × time between failures). For a checkpoint of 0.1 s and one failure a
    day that is every two minutes. If you only need predictions, save the weights only.
    `tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)` lets the training
    continue while the file is written.

    When we are wrong
    If you want every state (to study the weights over time), the checkpoints are the result, not a
    cost. On machines that can be preempted, failures are more frequent than once a day, and the
    interval is shorter.
    """

    title = "saving takes a large share"
    reads = (Save,)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for saves in saves_of(run, loop):
                if saves.count >= _FEWEST_SAVES and saves.where.line:
                    yield from self._judge(run, loop, saves)

    def _judge(self, run: Run, loop: Loop, saves: Saves) -> Iterable[Finding]:
        step = max((loop.total - saves.seconds) / max(1, loop.steps), 1e-6)
        balance = math.sqrt(2 * saves.each * _BETWEEN_FAILURES)
        apart = loop.steps / saves.count
        now = max(1, round(apart))
        times = _rounded_down(balance / step / now)
        every = times * now
        left = max(1.0, loop.steps / every)
        seconds = min(saves.seconds, loop.total) * max(0.0, 1 - left / saves.count)
        if min(saves.seconds, seconds) < LEAST_SHARE * run.trained:
            return
        by_callback = saves.last.call in _POSITION
        who = saves.last.call if by_callback else say.code(saves.where)
        often = "after every step" if apart < 1.5 else f"every {apart:.0f} steps"
        share = say.share(saves.seconds / max(run.trained, 1e-9))
        yield Finding(
            cause=self.id,
            location=saves.where,
            seconds=seconds,
            title=f"{who} saves {often} and takes {share} of the training: "
            f"{say.time(saves.each)} each",
            evidence=(
                Evidence("checkpoints", saves.count),
                Evidence("steps between them", round(apart, 1)),
                Evidence("one takes", saves.each, "s"),
                Evidence("size of one", saves.last.bytes, "bytes"),
                Evidence("total time saving", saves.seconds, "s"),
                Evidence("interval at which cost and risk balance", round(balance, 1), "s"),
            ),
            advice=" ".join(_advice(saves.last, every, balance)),
            detail=_Interval(every, times, saves.last, saves.stack),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Interval)
        if detail.saved.call in _POSITION:
            fixed: Script | Fix = _save_freq(script, where.line, detail)
        else:
            fixed = _in_loop(script, detail)
        if isinstance(fixed, Fix):
            return fixed
        return Fix(
            title=f"save every {detail.every:,} steps",
            safety=Safety.REVIEW,
            files=fixed.files,
            note=f"A failure then loses up to {detail.every:,} steps, and the final state is saved "
            "only if the script saves once more after the training.",
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for name, position in _POSITION.items():
            for made in source.calls(f"keras.callbacks.{name}"):
                if source.number_of(written(made, "save_freq", position)) == 1:
                    yield source.spot(
                        made,
                        f"`{name}` writes a checkpoint after every batch",
                        'save_freq="epoch", or a number of batches that take a few minutes',
                    )
        for node in source.every(ast.Call) if source.step_loops else ():
            loop = source.every_step(node) if _saves(source, node) else None
            if loop is not None:
                yield source.spot(
                    node,
                    f"this saves in every step of the loop at line {loop.lineno}, and the training "
                    "waits until everything is written; it matters if steps are short",
                    "save every few minutes: if step % 1000 == 0: ...",
                )


def _saves(source: Source, node: ast.Call) -> bool:
    method = node.func
    if source.name(method) in _SAVING:
        return True
    if not isinstance(method, ast.Attribute) or method.attr not in _METHODS:
        return False
    if source.kind(method.value) is Kind.MODEL:
        return method.attr != "write"
    made = source.maker(method.value)
    if made is None or source.name(made.func) not in _SAVERS:
        return False
    return written(made, "checkpoint_interval") is None  # with it, most calls do not save


def _rounded_down(value: float) -> int:
    """The next number below that is 1, 2 or 5 times a power of ten."""
    if value < 1:
        return 1
    power = int(10 ** math.floor(math.log10(value)))
    return next(power * lead for lead in (5, 2, 1) if value >= power * lead)


def _advice(saved: Save, every: int, balance: float) -> Iterable[str]:
    yield (
        f"Save every {every:,} steps: with this cost and one failure a day, saving and the work "
        f"at risk balance at {say.time(balance)} (Young's formula)."
    )
    whole = saved.weights_bytes + saved.slots_bytes
    if saved.slots_bytes > _LEAST_SLOTS * whole and not saved.options.get("save_weights_only"):
        yield (
            f"The weights alone are {say.share(saved.weights_bytes / whole)} of what is saved: "
            "use `save_weights_only=True` if the training need not be resumed."
        )
    if saved.call.startswith("Checkpoint"):
        yield (
            "`tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)` writes the "
            "file while the training continues."
        )
    if saved.call == "Saver":
        yield "`write_meta_graph=False` leaves out the graph, which is the same each time."


def _save_freq(script: Script, line: int, detail: _Interval) -> Script:
    name = detail.saved.call
    node = call(script, line, name)
    if detail.saved.options.get("save_best_only"):
        reason = "it keeps the best by a metric of the whole epoch, so it must stay with the epochs"
        raise script.refuse(reason, node)
    path = given(script, node, "filepath", 0)
    if not _name_fields(path) <= _SAFE_FIELDS:
        raise script.refuse("the file's name holds a metric that only a whole epoch has", node)
    return keyword_set(script, node, "save_freq", str(detail.every), _POSITION[name])


def _name_fields(path: ast.expr | None) -> set[str]:
    """The `{fields}` in the texts of an expression."""
    constants = ast.walk(path) if path is not None else ()
    text = "".join(str(part.value) for part in constants if isinstance(part, ast.Constant))
    return {field.split("}")[0].split(":")[0] for field in text.split("{")[1:]}


def _in_loop(script: Script, detail: _Interval) -> Script | Fix:
    """Guard the line that saves; inside a function, the line of the loop that leads there."""
    if detail.stack and runs_hooks(script, detail.stack[0].line, SAVING):
        return rarer_hook(script, SAVING, detail.times)
    problem = CannotEdit("the line that saves was not found")
    for place in detail.stack:
        if place.file != script.path:
            continue
        reported = _when_reported(script, place.line)
        if reported is not None:
            return reported
        try:
            return rarer(script, place.line, detail.times)
        except CannotEdit as refused:
            problem = refused
            if "not in a loop" not in str(refused):
                break
    raise problem


def _when_reported(script: Script, line: int) -> Fix | None:
    """What saves also gives values that are printed in some steps: it runs in these steps."""
    fixed = under_reader(script, line) if script.statement_at(line) is not None else None
    if fixed is None:
        return None
    note = (
        "What this line calls (checking, saving, counting) happens in the steps that show its "
        "result, and no longer in those between."
    )
    return Fix("save in the steps that show the result", Safety.REVIEW, fixed.files, note)


_SAVED = Save(key="a", call="Checkpoint.save", bytes=1e6, stack=stack_at(13, "f"), folder="out")


def _save(step: int, n: int, each: float, saved: Save = _SAVED) -> Placed:
    return at(step, saved.replace(n=n, sum=n * each, took=each, step=step))


CheckpointCost.FIRES = (
    Sketch(
        "everything is saved after each step",
        [0.02] * 100,
        {Phase.SAVE: 0.5, Phase.RUN: 0.5},
        [_save(step, step, 0.01) for step in range(1, 101)],
    ),
    Sketch(
        "a callback saves after each short epoch",
        [0.02] * 100,
        {Phase.SAVE: 0.06, Phase.RUN: 0.9},
        [
            _save(
                10 * n,
                n,
                0.012,
                _SAVED.replace(
                    call="ModelCheckpoint",
                    made=stack_at(9, "f"),
                    options={"save_freq": "epoch"},
                ),
            )
            for n in range(1, 11)
        ],
        style="keras",
    ),
)
CheckpointCost.QUIET = (
    Sketch(
        "checkpoints at 1% of the time",
        [0.02] * 100,
        {Phase.SAVE: 0.01, Phase.RUN: 0.9},
        [_save(25 * n, n, 0.005) for n in range(1, 5)],
    ),
    Sketch(
        "a huge model that is saved as often as its cost asks for",
        [60.0] * 200,
        {Phase.SAVE: 0.06, Phase.RUN: 0.9},
        [*[_save(100 * n, n, 300.0) for n in range(1, 3)], _save(199, 3, 300.0)],
    ),
)
