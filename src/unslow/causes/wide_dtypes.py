"""The model computes in float64, where float32 would do."""

from __future__ import annotations

import ast
import enum
from collections import defaultdict
from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host.step_profile import (
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import CannotJudge, Cause
from unslow.facts.memory import Floatx, Weights, Wide
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.float32 import narrow
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)

_WORTH = 0.05  # of the training time (judgement)
_MOST_OF_MODEL = 0.5  # of the ops or weights
# How much slower float64 is than float32 on a CPU (measured on TensorFlow 2.21): oneDNN's fast
# kernels are for float32 alone, and everything else moves twice the bytes.
_SLOWER = {"Conv": 5.5, "MatMul": 4.0, "Softmax": 5.0, "Sqrt": 3.0, "Tanh": 2.5}
_USUALLY = 1.9


class Origin(enum.Enum):
    """Where float64 begins."""

    SETTING = "set_floatx"
    VARIABLE = "a variable"
    STEP = "the step"


def _weights(wide: int, other: int) -> Placed:
    return at(
        1,
        Weights(
            optimizer="Adam",
            bytes=8e6,
            wide_bytes=8e6 * wide / (wide + other),
            stack=(Place("train.py", 12, "f"),),
            ops_float64=wide,
            ops_float32=other,
        ),
    )


def _made() -> Placed:
    return at(0, Wide(name="w", bytes=8e6, stack=(Place("train.py", 4, "<module>"),)))


def _seen(kernels: float) -> Placed:
    op = Op("dense/MatMul", "MatMul", 10, 0.1 * kernels)
    profile = StepProfile(kernels=0.1 * kernels, executor=0.098, ops=(op,))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class WideDtypes(Cause):
    """
    What happens
    Weights and ops of the model are float64, mostly because an array came from NumPy, whose
    default is float64, or because Keras is set to it.

    Why it is slow
    Every number takes twice the memory, and the processor handles half as many at a time. For
    matrix multiplications and convolutions there are no fast float64 kernels: they are four to
    six times as slow.

    The fix
    Create the arrays as float32 (`.astype("float32")`, `dtype=`), and the rest follows. With
    Keras: `keras.config.set_floatx("float32")`, which is its default.

    When we are wrong
    Some computations need the precision (solving equations, physics, long sums): keep float64
    there and nowhere else. The gain is estimated from the kernels seen and from what each kind of
    kernel gained in our measurements.
    """

    title = "float64 where float32 would do"
    reads = (Weights, Wide, Floatx, ProfilerWindow)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            wide = max(run.facts(Weights, loop.process), key=_part, default=None)
            if wide is not None and _part(wide) >= _MOST_OF_MODEL:
                yield from self._judge(run, loop, wide)

    def _judge(self, run: Run, loop: Loop, weights: Weights) -> Iterable[Finding]:
        seen = windows(run, loop)
        if not seen:
            raise CannotJudge("the run was too short for a profiler window")
        window = seen[-1]
        part = _part(weights)
        gain = _gain(window) * part
        seconds = min(1.0, gain / window.wall) * repeated(loop)
        if seconds < _WORTH * run.trained:
            return
        where, by = _where(run, loop, weights.stack)
        wide, other = weights.ops_float64, weights.ops_float32
        ops = (Evidence("float64 ops", wide), Evidence("float32 ops", other))
        yield Finding(
            cause=self.id,
            location=where,
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{say.share(part)} of the model works in float64; "
            f"in float32 a step of {say.time(window.wall)} would take about "
            f"{say.time(window.wall - gain)}",
            evidence=(
                *(ops if wide + other else ()),
                Evidence("bytes of float64 weights", weights.wide_bytes, "bytes"),
                Evidence("in kernels, per step", window.kernels, "s"),
                Evidence("begins at", by.value),
            ),
            advice='Make the arrays float32 where they begin: `dtype="float32"` or `.astype`.',
            detail=by,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where = finding.location
        if where is None:
            return None
        if finding.detail is not Origin.SETTING:
            return Fix(
                "make it float32 where float64 begins",
                Safety.REVIEW,
                {where.file: narrow(script).text},
                note="Numbers then keep 7 digits instead of 16.",
            )
        found = script.call_at(where.line, "set_floatx")
        if found is None or len(found.args) != 1 or not isinstance(found.args[0], ast.Constant):
            return Refusal("the precision is not written out on this line", where)
        fixed = script.edit([replaced(script, found.args[0], '"float32"')])
        return Fix(
            "compute in float32, Keras's default",
            Safety.REVIEW,
            {where.file: fixed.text},
            note="Numbers then keep 7 digits instead of 16, and the same seed draws other "
            "starting weights.",
        )

    FIRES = (
        Sketch(
            "all of it is float64",
            phases={Phase.RUN: 1.0},
            facts=[_made(), _weights(120, 0), _seen(0.9)],
        ),
    )
    QUIET = (
        Sketch(
            "one sum is float64",
            phases={Phase.RUN: 1.0},
            facts=[_made(), _weights(5, 115), _seen(0.9)],
        ),
        Sketch(
            "hardly any kernels",
            phases={Phase.RUN: 1.0},
            facts=[_made(), _weights(120, 0), _seen(0.05)],
        ),
    )


def _part(weights: Weights) -> float:
    """The part of the model that is float64: by ops where a graph was seen, and by weights."""
    of_weights = weights.wide_bytes / max(weights.bytes, 1.0)
    ops = weights.ops_float64 + weights.ops_float32
    return min(of_weights, weights.ops_float64 / ops) if ops else of_weights


def _gain(window: Window) -> float:
    """Seconds per step that float32 kernels would save."""
    saved = total = 0.0
    for op in window.ops:
        factor = next((times for part, times in _SLOWER.items() if part in op.kind), _USUALLY)
        saved += op.seconds * (1 - 1 / factor)
        total += op.seconds
    return (
        saved * min(1.0, window.kernels / total) if total else 0.0
    )  # kernels may run side by side


def _where(run: Run, loop: Loop, update: Stack) -> tuple[Location, Origin]:
    """The line where float64 begins; an optimizer's slots only follow the weights."""
    for setting in run.facts(Floatx, loop.process):
        if setting.value == "float64" and setting.stack:
            return say.place(run, setting.stack[0]), Origin.SETTING
    lines: dict[Place, float] = defaultdict(float)
    for variable in run.facts(Wide, loop.process):
        if variable.stack:
            lines[variable.stack[0]] += variable.bytes
    if update and len(lines) > 1:
        lines.pop(update[0], None)
    if lines:
        return say.place(run, max(lines, key=lambda line: lines[line])), Origin.VARIABLE
    return say.place(run, loop.update), Origin.STEP
