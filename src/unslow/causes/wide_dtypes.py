"""The model computes in float64, where float32 would do."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.step_profile import (
    Op,
    SketchedWindow,
    StepProfile,
    Window,
    repeated,
    windows,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import CannotJudge, Cause
from unslow.facts.functions import Trace
from unslow.facts.memory import Floatx, Weights, Wide
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import Script
from unslow.fix.moves.float32 import keras_default, narrow
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
# Kernels of solvers, which lose more digits than float32 has: float64 is meant there.
_NEED_PRECISION = (
    "Cholesky",
    "MatrixDeterminant",
    "LogMatrixDeterminant",
    "MatrixExponential",
    "MatrixInverse",
    "MatrixLogarithm",
    "MatrixSolve",
    "MatrixSquareRoot",
    "MatrixTriangularSolve",
    "TridiagonalSolve",
    "SelfAdjointEig",
    "Eig",
    "Svd",
    "Qr",
    "Lu",
)
_MOST_NAMED = 4  # arguments
_MOST_OF_KERNELS = 0.5  # a judgement: convolutions are what is computed


class Origin(enum.Enum):
    """Where float64 begins."""

    SETTING = "set_floatx"
    VARIABLE = "a variable"
    STEP = "the step"
    CALL = "what the call is given"


def _weights(wide: int, other: int) -> Placed:
    return at(
        1,
        Weights(
            optimizer="Adam",
            bytes=8e6,
            wide_bytes=8e6 * wide / (wide + other),
            stack=stack_at(12, "f"),
            ops_float64=wide,
            ops_float32=other,
        ),
    )


def _made() -> Placed:
    return at(0, Wide(name="w", bytes=8e6, stack=stack_at(4)))


def _seen(kernels: float, *, kind: str = "MatMul", beside: str = "") -> Placed:
    ops = [Op(f"dense/{kind}", kind, 10, 0.1 * kernels)]
    if beside:
        ops.append(Op(beside, beside, 10, 0.001))
    profile = StepProfile(kernels=0.1 * kernels, executor=0.098, ops=tuple(ops))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


def _traced(wide: int, other: int) -> Placed:
    caller = stack_at(12)
    return at(0, Trace(name="describe", ops_float64=wide, ops_float32=other, stack=caller))


def _only_calls(says: str, seen: Placed, traced: Placed) -> Sketch:
    phases = {Phase.RUN: 1.0}
    return Sketch(says, phases=phases, style="function", trains=False, facts=[traced, seen])


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
    there and nowhere else. Where a solver runs, nothing is reported; nor where nothing trains,
    unless convolutions or layers are most of what is computed. The gain is estimated from the
    kernels seen and from what each kind of kernel gained in our measurements.
    """

    title = "float64 where float32 would do"
    reads = (Weights, Wide, Floatx, Trace, ProfilerWindow)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            found = [*_trained(run, loop), *([] if loop.trains else _called(run, loop))]
            computed = max(found, key=lambda each: each.part, default=None)
            if computed is not None and computed.part >= _MOST_OF_MODEL:
                yield from self._judge(run, loop, computed)

    def _judge(self, run: Run, loop: Loop, computed: _Computed) -> Iterable[Finding]:
        seen = windows(run, loop)
        if not seen:
            raise CannotJudge("the run was too short for a profiler window")
        window, part = seen[-1], computed.part
        gain = _gain(window) * part
        seconds = min(1.0, gain / window.wall) * repeated(loop)
        if seconds < _WORTH * run.trained or not _may_be_narrow(loop, window):
            return
        where, by = _where(run, loop, computed.update)
        yield Finding(
            cause=self.id,
            location=where,
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{say.share(part)} of the {computed.what} works in float64; "
            f"in float32 a step of {say.time(window.wall)} would take about "
            f"{say.time(window.wall - gain)}",
            evidence=(
                *computed.evidence(),
                Evidence("in kernels, per step", window.kernels, "s"),
                Evidence("begins at", by.value),
            ),
            advice='Make the arrays float32 where they begin: `dtype="float32"` or `.astype`.',
            detail=by,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where = finding.place
        if finding.detail is Origin.CALL:
            return None
        if finding.detail is not Origin.SETTING:
            return Fix(
                "make it float32 where float64 begins",
                Safety.REVIEW,
                {where.file: narrow(script).text},
                note="Numbers then keep 7 digits instead of 16.",
            )
        return keras_default(script, where.line)

    FIRES = (
        Sketch(
            "all of it is float64",
            phases={Phase.RUN: 1.0},
            facts=[_made(), _weights(120, 0), _seen(0.9)],
        ),
        _only_calls("convolutions, nothing trains", _seen(0.9, kind="Conv2D"), _traced(14, 0)),
        _only_calls(
            "layers of a model that only predicts", _seen(0.9, beside="BiasAdd"), _traced(14, 2)
        ),
    )
    QUIET = (
        _only_calls("numerics, nothing trains", _seen(0.9), _traced(14, 0)),
        _only_calls("float32 convolutions", _seen(0.9, kind="Conv2D"), _traced(2, 14)),
        _only_calls(
            "convolutions before a decomposition",
            _seen(0.9, kind="Conv2D", beside="Cholesky"),
            _traced(14, 0),
        ),
        Sketch(
            "a Gaussian process is trained",
            phases={Phase.RUN: 1.0},
            facts=[_made(), _weights(120, 0), _seen(0.9, beside="MatrixTriangularSolve")],
        ),
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


@dataclass(frozen=True)
class _Computed:
    """What a loop computes, by precision."""

    what: str
    wide: int  # ops; 0 where no graph was seen
    narrow: int
    wide_bytes: float = 0.0  # of weights
    bytes: float = 0.0
    update: Stack = ()  # where the optimizer was called
    arguments: tuple[str, ...] = ()  # of a call, that are float64

    @property
    def part(self) -> float:
        """The part that is float64: by ops where a graph was seen, and by weights."""
        ops = self.wide + self.narrow
        of_ops = self.wide / ops if ops else 1.0
        of_weights = self.wide_bytes / max(self.bytes, 1.0) if self.bytes or not ops else 1.0
        return min(of_weights, of_ops)

    def evidence(self) -> Iterator[Evidence]:
        if self.wide + self.narrow:
            yield Evidence("float64 ops", self.wide)
            yield Evidence("float32 ops", self.narrow)
        if self.bytes:
            yield Evidence("bytes of float64 weights", self.wide_bytes, "bytes")
        if self.arguments:
            yield Evidence("float64 arguments", ", ".join(self.arguments))


def _trained(run: Run, loop: Loop) -> Iterator[_Computed]:
    """The models that optimizers and gradient tapes work on."""
    for each in run.facts(Weights, loop.process):
        yield _Computed(
            "model",
            each.ops_float64,
            each.ops_float32,
            wide_bytes=each.wide_bytes,
            bytes=each.bytes,
            update=each.stack,
        )


def _called(run: Run, loop: Loop) -> Iterator[_Computed]:
    """The graphs that the line of a loop calls."""
    line = (loop.update.file, loop.update.line)
    traces = [
        trace
        for trace in run.facts(Trace, loop.process)
        if trace.stack and trace.stack[0][:2] == line
    ]
    wide = sum(trace.ops_float64 for trace in traces)
    if not wide:
        return
    narrow_ops = sum(trace.ops_float32 for trace in traces)
    outer = [trace for trace in traces if not trace.depth]
    given = {name: None for trace in outer for name, kind in trace.args.items() if _is_wide(kind)}
    yield _Computed("graph", wide, narrow_ops, arguments=tuple(given)[:_MOST_NAMED])


def _is_wide(kind: str) -> bool:
    """Whether the text of an argument is that of a float64 tensor: `float64[8,224]`."""
    return kind.startswith("float64[")


def _may_be_narrow(loop: Loop, window: Window) -> bool:
    """Whether nothing that was computed is known to need float64.

    A loop that trains is in no need of it but for solvers. What only computes may be numerics that
    are meant to be precise, unless it consists of what is done to pictures, signals and layers.
    """
    if any(op.kind.removeprefix("Batch").startswith(_NEED_PRECISION) for op in window.ops):
        return False
    has_layers = any(op.kind == "BiasAdd" for op in window.ops)
    convolved = sum(op.seconds for op in window.ops if "Conv" in op.kind)
    total = sum(op.seconds for op in window.ops)
    return loop.trains or has_layers or convolved >= _MOST_OF_KERNELS * total


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
    return say.place(run, loop.update), Origin.STEP if loop.trains else Origin.CALL
