"""Saving checkpoints takes a real share of the training."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.host.saves import Saves, saves_of
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause, Spot
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_arguments import argument, call, keyword_set
from unslow.fix.moves.run_less_often import rarer
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import Kind
from unslow.syntax import argument as written

if TYPE_CHECKING:
    from unslow.syntax import Source

_WORTH = 0.05  # of the training time
_FEWEST = 3
_BETWEEN_FAILURES = (
    86_400.0  # seconds: one failure a day is a bad machine, so the interval is a careful one
)
_CALLBACKS = ("ModelCheckpoint", "BackupAndRestore")
_POSITION = {"ModelCheckpoint": 6, "BackupAndRestore": 1}  # of save_freq, Keras 2.12 to 3
_SAFE_FIELDS = ("epoch", "batch")
_SAVERS = ("tf.train.Checkpoint", "tf.train.CheckpointManager", "tf.train.Saver")
_SAVING = ("tf.saved_model.save", "keras.models.save_model")


def _save(at: int, n: int, each: float, call: str = "Checkpoint.save", **data: Any) -> Fact:
    return fact(
        "save",
        at,
        **{
            "n": n,
            "sum": n * each,
            "took": each,
            "key": "a",
            "call": call,
            "name": "c",
            "folder": "out",
            "bytes": 1e6,
            "step": at,
            "stack": [["train.py", 13, "f"]],
            "made": [],
            "keep": -1,
            "in_fit": False,
            "options": {},
            **data,
        },
    )


class CheckpointCost(Cause):
    """
    What happens

    The training stops to write its weights, and often the optimizer's state too, after every step or every few,
    and the writing takes a real part of the time.

    Why it is slow

    A checkpoint copies every variable to the host, writes it and waits for the disk. It costs the same however
    little has changed since the last one.

    The fix

    Save as often as the cost of saving and the work at risk balance: by Young's formula every √(2 × cost of one
    checkpoint × time between failures). For a checkpoint of 0.1 s and one failure a day that is every two
    minutes. What is needed for predictions only needs the weights only. `tf.train.CheckpointOptions(
    experimental_enable_async_checkpoint=True)` lets the training go on while the file is written.

    When we are wrong

    Where every state is wanted (a study of the weights over time), the checkpoints are the product, not a cost.
    On machines that are taken away at short notice the time between failures is shorter than a day, and the
    interval with it.
    """

    title = "saving takes a large share"
    needs = ("files",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for saves in saves_of(run, loop):
                if saves.count >= _FEWEST and saves.where.line:
                    yield from self._judge(run, loop, saves)

    def _judge(self, run: Run, loop: Loop, saves: Saves) -> Iterable[Finding]:
        step = max((loop.total - saves.seconds) / max(1, loop.steps), 1e-6)
        wanted = math.sqrt(2 * saves.each * _BETWEEN_FAILURES)
        apart = loop.steps / saves.count
        times = _round(wanted / step / max(1, round(apart)))  # so much more rarely than it does
        every = times * max(1, round(apart))
        left = max(1.0, loop.steps / every)
        seconds = min(saves.seconds, loop.total) * max(0.0, 1 - left / saves.count)
        share = saves.seconds / max(run.trained, 1e-9)
        if share < _WORTH or seconds < _WORTH * run.trained:
            return
        how = f"saves {_often(apart)} and takes {say.share(share)} of the training"
        yield Finding(
            cause=self.id,
            location=saves.where,
            seconds=seconds,
            title=f"{_who(saves)} {how}: {say.time(saves.each)} each",
            evidence=(
                Evidence("checkpoints", saves.count),
                Evidence("steps between them", round(apart, 1)),
                Evidence("one takes", saves.each, "s"),
                Evidence("one holds", saves.bytes, "bytes"),
                Evidence("saving in all", saves.seconds, "s"),
                Evidence("interval where cost and risk balance", round(wanted, 1), "s"),
            ),
            advice=_advice(saves, every, wanted),
            facts={
                "every": every,
                "times": times,
                "call": saves.call,
                "options": dict(saves.data.get("options") or {}),
                "lines": [(place.file, place.line) for place in saves.stack],
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        facts, where = finding.facts, finding.location
        if where is None:
            return None
        every = int(facts["every"])
        if facts["call"] in _CALLBACKS:
            fixed = _save_freq(script, where.line, facts, every)
        else:
            fixed = _in_loop(script, facts)
        return Fix(
            title=f"save every {every:,} steps",
            safety=Safety.REVIEW,
            files=fixed.files,
            note=f"A failure then loses up to {every:,} steps, and the end of the training is saved only if the script "
            "saves once more after it.",
        )

    FIRES = (
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
                    "ModelCheckpoint",
                    made=[["train.py", 9, "f"]],
                    options={"save_freq": "epoch"},
                )
                for n in range(1, 11)
            ],
            style="keras",
        ),
    )
    QUIET = (
        Sketch(
            "checkpoints at 1 % of the time",
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
                    f"this saves in every step of the loop at line {loop.lineno}, and the training waits until all is"
                    " written; it matters when a step is short",
                    "save every few minutes: if step % 1000 == 0: ...",
                )


def _saves(source: Source, node: ast.Call) -> bool:
    method = node.func
    if source.name(method) in _SAVING:
        return True
    if not isinstance(method, ast.Attribute) or method.attr not in (
        "save",
        "write",
        "save_weights",
    ):
        return False
    if source.kind(method.value) is Kind.MODEL:
        return method.attr != "write"
    made = source.maker(method.value)
    # A manager that is told an interval leaves most calls undone.
    return (
        made is not None
        and source.name(made.func) in _SAVERS
        and written(made, "checkpoint_interval") is None
    )


def _who(saves: Saves) -> str:
    return saves.call if saves.call in _CALLBACKS else say.code(saves.where)


def _often(apart: float) -> str:
    return "after every step" if apart < 1.5 else f"every {apart:.0f} steps"


def _round(value: float) -> int:
    """The next number below of the form 1, 2 or 5 with noughts."""
    if value < 1:
        return 1
    power = int(10 ** math.floor(math.log10(value)))
    return next(power * lead for lead in (5, 2, 1) if value >= power * lead)


def _advice(saves: Saves, every: int, wanted: float) -> str:
    said = [
        f"Save every {every:,} steps: with this cost and one failure a day, saving and the work at risk balance at "
        f"{say.time(wanted)} (Young's formula)."
    ]
    weights, slots = (
        float(saves.data.get("weights_bytes") or 0),
        float(saves.data.get("slots_bytes") or 0),
    )
    if slots > 0.2 * (weights + slots) and not (saves.data.get("options") or {}).get(
        "save_weights_only"
    ):
        said.append(
            f"The weights alone are {say.share(weights / (weights + slots))} of what is saved: "
            "`save_weights_only=True` where the training need not be resumed."
        )
    if saves.call.startswith("Checkpoint"):
        said.append(
            "`tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)` writes the file while the "
            "training goes on."
        )
    if saves.call == "Saver":
        said.append("`write_meta_graph=False` leaves out the graph, which is the same each time.")
    return " ".join(said)


def _save_freq(script: Script, line: int, facts: Any, every: int) -> Script:
    node = call(script, line, facts["call"])
    if facts["options"].get("save_best_only"):
        raise script.refuse(
            "it keeps the best by a metric of the whole epoch, so it must stay with the epochs",
            node,
        )
    path = argument(script, node, "filepath") or argument(script, node, 0)
    names = (
        [part.value for part in ast.walk(path) if isinstance(part, ast.Constant)]
        if path is not None
        else []
    )
    text = "".join(str(name) for name in names)
    fields = [field.split("}")[0].split(":")[0] for field in text.split("{")[1:]]
    if any(field not in _SAFE_FIELDS for field in fields):
        raise script.refuse(
            "the file's name holds a metric that is known after an epoch only", node
        )
    return keyword_set(script, node, "save_freq", str(every), _POSITION[facts["call"]])


def _in_loop(script: Script, facts: Any) -> Script:
    """Guards the line that saves; where it stands in a function, the line of the loop that leads there."""
    problem: CannotEdit | None = None
    for file, line in facts["lines"]:
        if file != script.path:
            continue
        try:
            return rarer(script, line, int(facts["times"]))
        except CannotEdit as refused:
            if problem is None or "not in a loop" in str(problem):
                problem = refused
            if "not in a loop" not in str(refused):
                break
    raise problem or CannotEdit("the line that saves was not found")
