"""Compiled functions that are prepared again and again although nothing is traced again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import Churn, churn_of
from unslow.analyse.graphs.session_restarts import reopened_sessions
from unslow.analyse.graphs.unusual_calls import Call, in_training, special_calls
from unslow.analyse.sketches.sketch import Placed, Sketch, at, fact
from unslow.cause import Cause, Spot
from unslow.facts.schema import Place
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

_FEW = 3  # resets in the training below which one may have been meant
_MUCH = 0.2  # of a step: what new shapes cost below this is not a slow step but shape-churn
_WAYS = {
    "set_seed": "setting the random seed",
    "clear_session": "clear_session()",
    "context reset": "resetting TensorFlow's context",
}


class KernelsRebuilt(Cause):
    """
    What happens
    A compiled function was traced once, but TensorFlow prepares it anew again and again: its graph is optimised,
    placed and loaded as if it were called for the first time. Setting the seed (`tf.random.set_seed`),
    `clear_session()` and a reset of the context throw away every prepared kernel; a shape that was never seen
    before has its primitives built anew even where the graph leaves the shape open. A TF1 session prepares every set
    of fetches at its first run, whatever other sessions of the same graph have run before.

    Why it is slow
    Preparing takes a fraction of a millisecond per node of the graph: a step of one millisecond may take a hundred.
    No trace is made, so counting traces shows nothing.

    The fix
    Set the seed once, in front of the loop; where each epoch must start from a known state, use
    `tf.random.Generator` or stateless random ops, whose seed is an argument. For shapes, pad batches to a few lengths.
    Open one session, and start again in it by running the initializer or setting the weights.

    When we are wrong
    A program that must draw the same random numbers in every iteration sets the seed on purpose. The cost is the
    same.
    """

    title = "compiled functions are prepared again and again"
    needs = ("calls",)
    deeper_than = ("shape-churn",)

    def detect(self, run: Run) -> Iterable[Finding]:
        calls = [
            call
            for call in special_calls(run)
            if in_training(run, call) and "traced" not in call.why
        ]
        by_reset: dict[Location, list[Call]] = defaultdict(list)
        for call in calls:
            if "reset" in call.why and call.reset is not None:
                by_reset[call.reset].append(call)
        for where, found in by_reset.items():
            finding = self._after_resets(say.place(run, where), found, _stack(run, where))
            if finding is not None:
                yield finding
        for where, first_runs in reopened_sessions(run).items():
            if len({first.session for first, _ in first_runs}) >= _FEW:
                yield self._in_new_sessions(say.place(run, where), first_runs)
        for loop in run.loops:
            churn = churn_of(run, loop) if loop.style == "function" else None
            if churn is not None and churn.extra > _MUCH * loop.typical():
                yield self._for_shapes(run, loop, churn)

    def _after_resets(
        self, where: Location, found: Sequence[Call], stack: Sequence[Any]
    ) -> Finding | None:
        count = sum(call.weight for call in found)
        if count < _FEW:
            return None
        usual = median(call.usual for call in found)
        seen = [call.inside for call in found if call.inside is not None]
        if usual > 0:
            seconds = sum(max(0.0, call.seconds - usual) * call.weight for call in found)
        elif seen:
            share = median((part.prepare + part.compile) / part.call for part in seen)
            seconds = sum(call.seconds * share * call.weight for call in found)
        else:
            return None
        each = seconds / count
        names = sorted({call.name for call in found})
        what = _WAYS.get(found[0].way, found[0].way)
        evidence = [
            Evidence("resets that a compiled function had to recover from", round(count)),
            Evidence(
                "seconds of a call after a reset", median(call.seconds for call in found), "s"
            ),
            Evidence("traces in these calls", 0),
        ]
        if usual > 0:
            evidence.append(Evidence("seconds of a usual call", usual, "s"))
        if seen:
            evidence.append(
                Evidence(
                    "seconds of preparing, in a profiler window",
                    median(p.prepare for p in seen),
                    "s",
                )
            )
        return Finding(
            cause=self.id,
            title=f"{what} in the loop makes {_list(names)} be prepared anew {count:.0f} times, {say.time(each)} each, "
            "without any trace",
            location=where,
            seconds=seconds,
            evidence=tuple(evidence),
            advice=f"Move {what} out of the loop, in front of it.",
            facts={"way": found[0].way, "stack": stack},
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
            Evidence("seconds of a first run, median", first_run, "s"),
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
            advice="Open one session in front of the loop. To start again from the first state, "
            "run the initializer, or set the weights, in that session.",
        )

    def _for_shapes(self, run: Run, loop: Loop, churn: Churn) -> Finding:
        return Finding(
            cause=self.id,
            title=f"{churn.distinct} different shapes go through one graph: a step with a new one takes "
            f"{say.time(churn.extra)} longer, since its primitives are built anew without any trace",
            location=say.place(run, loop.update),
            seconds=churn.seconds,
            evidence=churn.evidence(),
            certainty=Certainty.LIKELY,
            advice=churn.advice(),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        way = finding.facts.get("way")
        if way is None:
            return None
        from unslow.fix.moves.hoist_reset import once_before_loop

        lines = [
            int(line) for file, line, _ in finding.facts.get("stack", ()) if file == script.path
        ]
        return Fix(
            title="Do it once, in front of the loop",
            safety=Safety.REVIEW,
            files={script.path: once_before_loop(script, lines).text},
            note="Random ops go on drawing from one sequence instead of starting it again in every iteration."
            if way == "set_seed"
            else "What clear_session() forgets in every iteration is forgotten once.",
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.calls(*_RESETS):
            loops = [loop for loop in source.repeated_by(call) if loop in source.step_loops]
            if loops and not any(source.conditions(call, loops[0])):
                yield source.spot(
                    call,
                    f"the loop at line {loops[0].lineno} sets the seed in every step, and each time every compiled"
                    " function is prepared again",
                    "set the seed once, before the loop; for one step, tf.random.stateless_uniform(seed=(a, step))",
                )


def _stack(run: Run, where: Location) -> Sequence[Any]:
    """The user's frames at a reset, innermost first."""
    for event in run.of("reset"):
        stack: Sequence[Any] = event.data.get("stack") or ()
        if stack and (stack[0][0], stack[0][1]) == (where.file, where.line):
            return stack
    return [[where.file, where.line, where.function]]


def _list(names: Sequence[str]) -> str:
    text = ", ".join(f"{name}()" for name in names[:3])
    return text if len(names) <= 3 else f"{text} and {len(names) - 3} more"


def _after(at: int, n: int, took: float = 0.1, usual: float = 0.002, **more: Any) -> Any:
    return fact(
        "call",
        at,
        key="step#1:reset",
        n=n,
        name="step",
        function=1,
        why=["reset"],
        took=took,
        traced=0.0,
        usual=usual,
        number=at,
        jit=False,
        shapes=[[32, 8]],
        distinct=1,
        stack=[["train.py", 12, "<module>"]],
        place=["train.py", 11, "<module>"],
        way="set_seed",
        **more,
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
            stack=(Place("train.py", 9, "open"),),
        ),
    )


_SEEN = {"call": 0.1, "prepare": 0.09}  # what a window saw of a call

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
            _after(step, step - 1, usual=0.0, **(_SEEN if step & (step - 1) == 0 else {}))
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
