"""XLA compiles a step again for every new shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.repeated_preparation import avoidable_seconds, usual_seconds
from unslow.analyse.graphs.unusual_calls import Call, in_training, profiles, unusual_calls
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.functions import CallProfile, UnusualCall
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

# Compilations beyond the first: a last partial batch and a validation batch need one each.
_FEWEST_COMPILATIONS = 3
# What a compilation takes at least, where no shape is seen (judgement).
_LONG_TIMES = 10  # a usual call
_LONG_SECONDS = 0.05
_UNEXPLAINED = frozenset(("long", "early"))


class XlaRecompile(Cause):
    """
    What happens
    A function that XLA compiles (`jit_compile=True`) is called with shapes that keep changing. XLA
    knows every shape when it compiles, so each new one makes it compile the whole function again,
    even where it is traced only once.

    Why it is slow
    Compiling takes from a tenth of a second to minutes; a call of the compiled step takes
    milliseconds.

    The fix
    Use few shapes: pad batches to one of a few lengths, and drop the last partial batch
    (`drop_remainder=True`). Where shapes must change, leave `jit_compile` off.

    When we are wrong
    Once every shape has been seen, nothing is compiled any more: in a long run with few shapes the
    cost fades.
    """

    title = "XLA compiles the step again for every new shape"
    reads = (UnusualCall, Fit)
    deeper_than = ("retracing", "kernels-rebuilt", "shape-churn")

    def detect(self, run: Run) -> Iterable[Finding]:
        by_function: dict[tuple[int, int], list[Call]] = defaultdict(list)
        for call in unusual_calls(run):
            if in_training(run, call) and "first" not in call.fact.why:
                by_function[call.fact.process, call.fact.function].append(call)
        for calls in by_function.values():
            shaped = [call for call in calls if call.fact.jit and "shapes" in call.fact.why]
            if _number(shaped) >= _FEWEST_COMPILATIONS:
                yield from self._for_shapes(run, shaped)
            else:
                yield from self._in_fit(run, calls)

    def _for_shapes(self, run: Run, calls: Sequence[Call]) -> Iterable[Finding]:
        seconds = avoidable_seconds(calls)
        if seconds is None:
            return
        count = _number(calls)
        where = next((call.caller for call in calls if call.caller is not None), None)
        yield Finding(
            cause=self.id,
            title=f"XLA compiles {calls[0].fact.name}() again for {count} new shapes, "
            f"{say.time(seconds / count)} each",
            location=say.place(run, where) if where is not None else None,
            seconds=seconds,
            evidence=tuple(_evidence(calls)),
            advice=_advice(calls),
        )

    def _in_fit(self, run: Run, calls: Sequence[Call]) -> Iterable[Finding]:
        """Shapes are not seen inside fit(): steps under jit_compile that are repeatedly long."""
        usual = min((call.fact.usual for call in calls if call.fact.usual > 0), default=0.0)
        long = _much_longer(_compiled_fits(run, calls), usual)
        count = _number(long)
        if count < _FEWEST_COMPILATIONS:
            return
        seconds = sum((call.fact.took - usual) * call.weight for call in long)
        where = long[0].caller or Location("", 0)
        yield Finding(
            cause=self.id,
            certainty=Certainty.LIKELY,
            title=f"XLA compiles the step of fit() again: {count} steps took "
            f"{say.time(seconds / count)} longer than the others, without retracing",
            location=say.place(run, where),
            seconds=seconds,
            evidence=(
                Evidence("steps that were long", count),
                Evidence("seconds of such a step", median(call.fact.took for call in long), "s"),
                Evidence("seconds of a usual step", usual, "s"),
                Evidence("traces in these steps", 0),
            ),
            advice="Give fit() batches of one shape, or of a few: pad them to a few lengths in the "
            "dataset and use `drop_remainder=True`; or compile the model with `jit_compile=False`.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.without_xla import without_xla

        if finding.location is None:
            return None
        found = without_xla(script, finding.location.line)
        safety = Safety.REVIEW if found.draws else Safety.CLOSE
        note = "XLA draws other random numbers from the same seed" if found.draws else ""
        return Fix("leave `jit_compile` off", safety, found.script.files, note)


def _number(calls: Sequence[Call]) -> int:
    return sum(call.weight for call in calls)


def _evidence(calls: Sequence[Call]) -> Iterator[Evidence]:
    took = median(call.fact.took for call in calls)
    traced = [call for call in calls if "traced" in call.fact.why]
    usual = usual_seconds(calls)
    yield Evidence("shapes that were compiled for", max(call.fact.distinct for call in calls))
    yield Evidence("calls that compiled again", _number(calls))
    yield Evidence("seconds of a call that compiles", took, "s")
    yield Evidence("calls of them that traced again", _number(traced))
    if usual:
        yield Evidence("seconds of a usual call", usual, "s")
    compiling = [part.compile for part in profiles(calls) if part.compile]
    if compiling:
        yield Evidence("seconds of compiling, in a profiler window", median(compiling), "s")


def _compiled_fits(run: Run, calls: Sequence[Call]) -> list[Call]:
    """Calls with no reason of their own at lines that call fit() on a model under jit_compile."""
    compiled = {fit.stack[0][:2] for fit in run.facts(Fit) if fit.jit and fit.stack}
    unexplained = [call for call in calls if _UNEXPLAINED.issuperset(call.fact.why)]
    return [call for call in unexplained if _line(call) in compiled]


def _line(call: Call) -> tuple[str, int] | None:
    return call.fact.stack[0][:2] if call.fact.stack else None


def _much_longer(calls: Sequence[Call], usual: float) -> list[Call]:
    """Calls that took much longer than a usual one, where that is known."""
    if usual <= 0:
        return []
    least = max(_LONG_TIMES * usual, _LONG_SECONDS)
    return [call for call in calls if call.fact.took > least]


def _advice(calls: Sequence[Call]) -> str:
    """Which axis changes, and how far: the padding in the user's own numbers."""
    by_rank: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for call in calls:
        for shape in call.fact.shapes[:1]:
            by_rank[len(shape)].append(shape)
    shapes = max(by_rank.values(), key=len, default=[])
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        low, high, distinct = min(sizes), max(sizes), len(set(sizes))
        if distinct > 1:
            padded = _padded_sizes(low, high)
            return (
                f"Axis {axis} of the first argument goes from {low} to {high}: pad it up to "
                f"{' or '.join(map(str, padded))} and mask the padding. XLA then compiles for "
                f"{len(padded)} instead of {distinct} shapes."
            )
    return "Pad the arguments to a few shapes, or leave `jit_compile` off where shapes must change."


def _padded_sizes(low: int, high: int) -> list[int]:
    """Powers of two that cover a range of sizes, the last one cut to a multiple of eight."""
    powers = [2**exponent for exponent in range(3, high.bit_length())]
    below = [power for power in powers if low <= power < high]
    enough = max(8, 1 << (high - 1).bit_length())
    return [*below, min(enough, -(-high // 8) * 8)]


def _compiled(step: int, n: int, took: float = 0.6, usual: float = 0.002, **more: Any) -> Placed:
    call = UnusualCall(
        key="step#1:shapes",
        n=n,
        name="step",
        function=1,
        why=("shapes",),
        took=took,
        usual=usual,
        jit=True,
        shapes=((8, 20 + step),),
        distinct=n + 1,
        stack=(Place("train.py", 12, "<module>"),),
    )
    return at(step, call.replace(**more))


def _long_in_fit(step: int, took: float) -> Placed:
    where = (Place("train.py", 10, "<module>"),)
    given = {"why": ("long",), "shapes": (), "jit": False, "stack": where}
    return _compiled(step, step // 10, took, 0.005, **given)


_SEEN = CallProfile(call=0.6, compile=0.59)
_FIT = at(0, Fit(stack=(Place("train.py", 10, "<module>"),), jit=True))

XlaRecompile.FIRES = (
    Sketch(
        "a new shape in every fourth step, 0.6 s each",
        seconds=[0.002, 0.002, 0.002, 0.6] * 10,
        style="function",
        facts=[_compiled(step, step // 4) for step in range(4, 41, 4)],
    ),
    Sketch(
        "a new shape in every step, and windows that saw the compiling",
        seconds=[0.6] * 20,
        style="function",
        facts=[_compiled(step, step - 1, usual=0.0, **_SEEN._asdict()) for step in range(2, 21)],
    ),
    Sketch(
        "steps of a compiled fit() that are long again and again",
        style="keras",
        seconds=([0.005] * 9 + [0.5]) * 5,
        facts=[
            _FIT,
            *(_long_in_fit(step, 0.5) for step in range(10, 51, 10)),
        ],
    ),
)
XlaRecompile.QUIET = (
    Sketch(
        "a last partial batch, and a batch of validation",
        seconds=[0.002] * 100 + [0.6] * 2,
        style="function",
        facts=[_compiled(101, 1), _compiled(102, 2)],
    ),
    Sketch(
        "new shapes without XLA",
        seconds=[0.002, 0.6] * 10,
        style="function",
        facts=[_compiled(step, step // 2, jit=False) for step in range(2, 21, 2)],
    ),
    Sketch(
        "hiccups of the machine in a compiled fit()",
        seconds=([0.005] * 9 + [0.03]) * 5,
        style="keras",
        facts=[
            _FIT,
            *(_long_in_fit(step, 0.03) for step in range(10, 51, 10)),
        ],
    ),
)
