"""Compiled functions are re-initialized repeatedly although nothing is retraced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import Churn, churn_of
from unslow.analyse.graphs.repeated_preparation import avoidable_seconds, usual_seconds
from unslow.analyse.graphs.session_restarts import reopened_sessions
from unslow.analyse.graphs.unusual_calls import FEW_RESETS, Call, calls_after_resets, profiles
from unslow.analyse.memory.collector import asked_collections
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.functions import CallProfile, Reset, UnusualCall
from unslow.facts.memory import Batch, Gc
from unslow.facts.schema import Place, Stack
from unslow.facts.sessions import Reopened
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Loop, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_RESETS = (
    "tf.random.set_seed",
    "tf.set_random_seed",
    "tf.random.set_random_seed",
    "keras.utils.set_random_seed",
)

_MUCH_EXTRA = 0.2  # of a step; a judgement: new shapes that cost less are left to shape-churn
_WAYS = {
    "set_seed": "setting the random seed",
    "clear_session": "clear_session()",
    "context reset": "resetting TensorFlow's context",
}


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know of a reset."""

    way: str
    stack: Stack


class KernelsRebuilt(Cause):
    """
    What happens
    A compiled function was traced once, but TensorFlow re-initializes it repeatedly: its graph is
    optimized, placed and loaded as if it were called for the first time. Setting the seed
    (`tf.random.set_seed`), `clear_session()` and a reset of the context drop every prepared
    kernel. A new shape has its primitives built again even where the graph leaves the shape open.
    A TF1 session prepares every set of fetches at its first run, whatever other sessions of the
    same graph have run before.

    Why it is slow
    Preparing takes a fraction of a millisecond per node of the graph: a step of one millisecond may
    take a hundred. Nothing is traced, so counting traces shows nothing.

    The fix
    Set the seed once, before the loop; where each epoch must start from a known state, use
    `tf.random.Generator` or stateless random ops, whose seed is an argument. For shapes, pad
    batches to a few lengths. Open one session, and start over in it by running the initializer or
    setting the weights.

    When we are wrong
    A program that must draw the same random numbers in every iteration sets the seed on purpose.
    The cost is the same.
    """

    title = "compiled functions are re-initialized repeatedly"
    reads = (UnusualCall, Reset, Reopened, Batch, Gc)
    deeper_than = ("shape-churn",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for where, found in calls_after_resets(run).items():
            finding = self._after_resets(run, say.place(run, where), found)
            if finding is not None:
                yield finding
        for where, first_runs in reopened_sessions(run).items():
            if len({first.session for first, _ in first_runs}) >= FEW_RESETS:
                yield self._in_new_sessions(say.place(run, where), first_runs)
        for loop in run.loops:
            churn = churn_of(run, loop) if loop.style == "function" else None
            if churn is not None and churn.extra > _MUCH_EXTRA * loop.typical():
                yield self._for_shapes(run, loop, churn)

    def _after_resets(self, run: Run, where: Location, found: Sequence[Call]) -> Finding | None:
        seconds = avoidable_seconds(found)
        if seconds is None:
            return None
        count = sum(call.weight for call in found)
        names = sorted({f"{call.fact.name}()" for call in found})
        way = found[0].fact.way
        what = _WAYS.get(way, way)
        collecting = _collecting(run, where)
        return Finding(
            cause=self.id,
            title=f"{what} in the loop re-initializes {say.listed(names)} {count} times, "
            f"{say.time(seconds / count)} each, without retracing",
            location=where,
            seconds=seconds + collecting,
            evidence=tuple(_reset_evidence(found, count, collecting)),
            advice=f"Move {what} before the loop.",
            detail=_Detail(way, _stack(run, where)),
        )

    def _in_new_sessions(
        self, where: Location, first_runs: Sequence[tuple[Reopened, int]]
    ) -> Finding:
        sessions = [first.session for first, _ in first_runs]
        count = max(sessions) - min(sessions) + 1
        # Fetches that are never repeated are run once in each session.
        repeated = [(first, weight) for first, weight in first_runs if first.usual > 0]
        seconds = sum((first.took - first.usual) * weight for first, weight in repeated)
        once = sum(first.took * weight for first, weight in first_runs if not first.usual)
        first_run = median(first.took for first, _ in first_runs)
        evidence = [
            Evidence("sessions opened for one graph, in the training", count),
            Evidence("time of a first run, median", first_run, "s"),
        ]
        if repeated:
            usual = median(first.usual for first, _ in repeated)
            evidence.append(Evidence("the same runs when they are repeated", usual, "s"))
        if once:
            label = "seconds of runs that each session makes once, not counted here"
            evidence.append(Evidence(label, once, "s"))
        return Finding(
            cause=self.id,
            title=f"a session is opened {count:,} times for the same graph, and each prepares its "
            f"runs again: {say.time(seconds / count)} for each session",
            location=where,
            seconds=seconds,
            evidence=tuple(evidence),
            advice="Open one session before the loop. To start over from the first state, run the "
            "initializer, or set the weights, in that session.",
        )

    def _for_shapes(self, run: Run, loop: Loop, churn: Churn) -> Finding:
        return Finding(
            cause=self.id,
            title=f"{churn.distinct} different shapes go through one graph: a step with a new one "
            f"takes {say.time(churn.extra)} longer to build its primitives, without retracing",
            location=say.place(run, loop.update),
            seconds=churn.seconds,
            evidence=churn.evidence(),
            certainty=Certainty.LIKELY,
            advice=churn.advice(),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail
        if not isinstance(detail, _Detail):
            return None
        from unslow.fix.moves.epoch_hook import reset_each_epoch
        from unslow.fix.moves.hoist_reset import once_before_loop

        hooked = reset_each_epoch(script, detail.stack)
        if hooked is not None:
            note = "What was reset for every batch is reset once for every epoch."
            return Fix("Do it once per epoch", Safety.REVIEW, hooked.files, note)
        note = "What clear_session() forgets in every iteration is forgotten once."
        if detail.way == "set_seed":
            note = "Random ops continue one sequence instead of restarting it in every iteration."
        once = once_before_loop(script, detail.stack)
        return Fix("Do it once, before the loop", Safety.REVIEW, once.files, note)

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.calls(*_RESETS):
            loops = [loop for loop in source.repeated_by(call) if loop in source.step_loops]
            if loops and not any(source.conditions(call, loops[0])):
                yield source.spot(
                    call,
                    f"the loop at line {loops[0].lineno} sets the seed in every step, and each "
                    "time every compiled function is re-initialized",
                    "set the seed once, before the loop; for one step, "
                    "tf.random.stateless_uniform(seed=(a, step))",
                )


def _reset_evidence(calls: Sequence[Call], count: int, collecting: float) -> Iterator[Evidence]:
    usual, windows = usual_seconds(calls), profiles(calls)
    took = median(call.fact.took for call in calls)
    yield Evidence("resets that a compiled function had to recover from", count)
    yield Evidence("time of a call after a reset", took, "s")
    yield Evidence("traces in these calls", 0)
    if usual:
        yield Evidence("time of a usual call", usual, "s")
    if windows:
        preparing = median(window.prepare for window in windows)
        yield Evidence("time of preparing, in a profiler window", preparing, "s")
    if collecting:
        yield Evidence("time of the garbage collections that it triggers", collecting, "s")


def _stack(run: Run, where: Location) -> Stack:
    """The user's frames at a reset, innermost first."""
    for reset in run.facts(Reset):
        if reset.stack and reset.stack[0][:2] == (where.file, where.line):
            return reset.stack
    return (Place(where.file, where.line, where.function),)


def _collecting(run: Run, where: Location) -> float:
    """Seconds of the collections that a reset triggers: clear_session() calls `gc.collect()`."""
    asked = [each for loop in run.loops for each in asked_collections(run, loop)]
    return sum(each.seconds for each in asked if str(each.location) == str(where))


def _after(
    step: int,
    n: int,
    took: float = 0.1,
    usual: float = 0.002,
    profile: CallProfile | None = None,
) -> Placed:
    seen = profile._asdict() if profile is not None else {}
    return at(
        step,
        UnusualCall(
            key="step#1:reset",
            n=n,
            name="step",
            function=1,
            why=("reset",),
            took=took,
            usual=usual,
            stack=stack_at(12),
            place=Place("train.py", 11, "<module>"),
            way="set_seed",
            **seen,
        ),
    )


def _opened(step: int, session: int, took: float = 0.07, usual: float = 0.002) -> Placed:
    return at(
        step,
        Reopened(
            key="train.py:9",
            n=session - 1,
            session=session,
            took=took,
            usual=usual,
            stack=stack_at(9, "open"),
        ),
    )


_SEEN = CallProfile(call=0.1, prepare=0.09)

KernelsRebuilt.FIRES = (
    Sketch(
        "a seed set in every tenth step",
        seconds=([0.002] * 9 + [0.1]) * 10,
        facts=[_after(step, step // 10) for step in range(10, 101, 10)],
        style="function",
    ),
    Sketch(
        "a seed set in every step: no usual call, but windows that saw the preparing",
        seconds=[0.1] * 40,
        facts=[
            _after(step, step - 1, usual=0.0, profile=None if step & (step - 1) else _SEEN)
            for step in range(2, 41)
        ],
        style="function",
    ),
    Sketch(
        "a session opened for every ten steps on one graph",
        seconds=([0.07] + [0.002] * 9) * 10,
        style="session",
        facts=[_opened(step, 1 + step // 10) for step in range(10, 100, 10)],
    ),
)
KernelsRebuilt.QUIET = (
    Sketch(
        "a seed set twice in a long run",
        seconds=[0.002] * 300,
        facts=[_after(100, 1), _after(200, 2)],
        style="function",
    ),
    Sketch(
        "a seed set in every tenth step that costs next to nothing",
        seconds=[0.02] * 100,
        facts=[_after(step, step // 10, took=0.0203, usual=0.02) for step in range(10, 101, 10)],
        style="function",
    ),
    Sketch(
        "a second session, opened once",
        seconds=[0.002] * 100,
        style="session",
        facts=[_opened(50, 2)],
    ),
    Sketch(
        "sessions whose first runs take what others take",
        seconds=[0.02] * 100,
        style="session",
        facts=[
            _opened(step, 1 + step // 10, took=0.0201, usual=0.02) for step in range(10, 100, 10)
        ],
    ),
)
