"""Summaries or log lines are written in every step and take a large share of it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.host.run_rarely import rare_interval
from unslow.analyse.host.saves import folder_growth
from unslow.analyse.host.step_profile import (
    READS,
    Op,
    SketchedWindow,
    StepProfile,
    repeated,
    windows,
)
from unslow.analyse.run.tallies import LineTotal, line_totals
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.files import Folder, Log
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import set_keyword
from unslow.fix.moves.fetch_when_used import summaries_rarely
from unslow.fix.moves.hook_interval import WRITING, rarer_hook, runs_hooks
from unslow.fix.moves.run_less_often import rarer
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import argument

if TYPE_CHECKING:
    from unslow.syntax import Source

_WORTH = 0.05  # of the training time; a judgement: less is not worth an edit
_FEWEST_WRITES = 10  # a judgement: fewer are those of a few epochs
_WORTH_IN_GRAPH = 0.1  # the same in ops of the step itself, estimated from a profiler window
_KINDS = ("Summary", "SummaryV2", "SummaryOp")
_DEBUGGERS = "Debug"  # "DebugNumericSummaryV2" looks for NaN: profiler-left-on reports it
_MAIN_LINE = 0.6  # of the writing, at one line: it stands for all of them
_BOARD = "TensorBoard"


@dataclass(frozen=True)
class _Rarer:
    """The lines that write, and how often they should."""

    every: int  # steps
    board: bool  # through a TensorBoard callback
    lines: tuple[int, ...]  # none where the step itself computes the summaries


_LOGGED = Log(call="tf.summary", stack=stack_at(13, "f"))


def _log(step: int, each: float, logged: Log = _LOGGED) -> Placed:
    return at(step, logged.replace(count=step, took=step * each, steps=step))


def _ops(took: float) -> Placed:
    summary = Op("weights", "HistogramSummary", 40, 10 * took)
    rest = Op("MatMul", "MatMul", 40, 0.095 - 10 * took)
    profile = StepProfile(kernels=0.095, executor=0.098, ops=(summary, rest))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class SummaryCost(Cause):
    """
    What happens

    Scalars, histograms, images or log lines are written in every step, and the writing takes a
    large share of it.

    Why it is slow

    Each summary is a few ops, a copy to the host, a record and an entry in the writer's queue:
    about 0.1 ms for a number, and far more for histograms and images. TensorBoard itself shows at
    most a thousand points of a curve.

    The fix

    Write every N steps: `if step % 100 == 0:`, or `tf.summary.record_if(…)`;
    `TensorBoard(update_freq=100)` in Keras. Histograms and images belong at the end of an epoch.

    When we are wrong

    Writing from Python is measured. For summaries inside a compiled function or a session's graph,
    the cost of their ops is estimated from a few profiled steps.
    """

    title = "summaries are written in every step"
    reads = (Log, Folder, *READS)
    deeper_than = ("compute-bound", "eager-calls")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            logs = line_totals(run, loop, Log)
            by_function: dict[tuple[str, str], list[LineTotal[Log]]] = defaultdict(list)
            for total in logs:
                by_function[total.location.file, total.location.function].append(total)
            for found in by_function.values():
                is_often = _writes(found) >= max(_FEWEST_WRITES, loop.steps / 10)
                if is_often and _seconds(found) >= _WORTH * run.trained:
                    yield self._finding(run, loop, found)
            yield from self._in_graph(run, loop, logs)

    def _in_graph(self, run: Run, loop: Loop, logs: Sequence[LineTotal[Log]]) -> Iterable[Finding]:
        """Summaries that the step itself computes, as `merge_all` of TensorFlow 1 does."""
        window = next(iter(windows(run, loop)), None)
        if window is None:
            return
        ops = [op for op in window.ops if _is_summary(op)]
        all_ops = sum((op.seconds for op in window.ops), 1e-12)
        spent = sum(op.seconds for op in ops) * min(1.0, window.kernels / all_ops)
        seconds = spent / window.wall * repeated(loop)
        if seconds < _WORTH_IN_GRAPH * run.trained:
            return
        where = next((total.location for total in logs), say.place(run, loop.update))
        longest = max(ops, key=lambda op: op.seconds)
        every = rare_interval(seconds, loop.total - seconds, loop.steps)
        yield Finding(
            cause=self.id,
            location=where,
            seconds=seconds * (1 - 1 / every),
            title=f"each step computes summaries: {say.time(spent)} of {say.time(window.wall)}, "
            f"mostly {longest.kind}",
            evidence=(
                Evidence("summaries in a step", sum(op.count for op in ops)),
                Evidence("they take", spent, "s"),
                Evidence("a step", window.wall, "s"),
                Evidence("the most expensive", longest.name),
            ),
            advice=f"Run the summaries every {every:,} steps only: "
            "without them in the fetches they cost nothing.",
            detail=_Rarer(every, False, ()),
        )

    def _finding(self, run: Run, loop: Loop, found: Sequence[LineTotal[Log]]) -> Finding:
        writes, seconds = _writes(found), min(loop.total, _seconds(found))
        top = found[0]  # the most expensive line
        where, made = top.location, top.fact.made
        board = top.fact.call == _BOARD
        if board and made:
            where = say.place(run, made[0])
        every = rare_interval(seconds, loop.total - seconds, loop.steps)
        evidence = [
            Evidence("writes", writes),
            Evidence("one takes", seconds / writes, "s"),
            Evidence("total time writing", seconds, "s"),
        ]
        folders = folder_growth(run, loop)
        rate = next((one.rate for one in folders if one.last.holds == "summaries"), 0.0)
        if rate:
            evidence.append(Evidence("bytes per step", round(rate), "bytes"))
        who = f"writing at {where} and near it"
        if board:
            who = _BOARD
        elif top.seconds > _MAIN_LINE * seconds:
            who = say.code(where)
        share = say.share(seconds / run.trained)
        lines = tuple(total.location.line for total in found)
        advice = f"Write every {every:,} steps."
        if board:
            advice = f"`TensorBoard(update_freq={every})`."
        return Finding(
            cause=self.id,
            location=where,
            seconds=seconds * (1 - 1 / every),
            title=f"{who} takes {share} of the training: {writes / loop.steps:.3g} writes a step",
            evidence=tuple(evidence),
            advice=advice,
            detail=_Rarer(every, board and bool(made), lines),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Rarer)
        every = detail.every
        if not detail.lines and runs_hooks(script, where.line, WRITING):
            fixed = rarer_hook(script, WRITING, every)
        elif not detail.lines:
            fixed = summaries_rarely(script, where.line, every)
        elif detail.board:
            fixed = set_keyword(script, where.line, _BOARD, "update_freq", str(every))
        else:
            first, last = _together(script, where.line, detail.lines)
            fixed = rarer(script, first, every, last)
        return Fix(
            f"write every {every:,} steps",
            Safety.REVIEW,
            fixed.files,
            note=f"The curves then have one point for {every:,} steps.",
        )

    FIRES = (
        Sketch(
            "histograms after every step",
            phases={Phase.RUN: 0.6, Phase.LOG: 0.4},
            facts=[_log(step, 0.004) for step in (1, 25, 50, 75, 100)],
        ),
        Sketch(
            "TensorBoard after every batch",
            phases={Phase.RUN: 0.8, Phase.LOG: 0.1},
            facts=[
                _log(
                    step,
                    0.001,
                    _LOGGED.replace(call="TensorBoard", made=stack_at(5, "f")),
                )
                for step in (1, 50, 100)
            ],
            style="keras",
        ),
        Sketch(
            "histograms of all weights are computed in every step",
            phases={Phase.RUN: 1.0},
            facts=[_ops(0.006)],
            style="session",
        ),
    )
    QUIET = (
        Sketch(
            "a few numbers that the step computes for the log",
            phases={Phase.RUN: 1.0},
            facts=[_ops(0.0002)],
            style="session",
        ),
        Sketch(
            "a number after every step, at no cost",
            phases={Phase.RUN: 0.98, Phase.LOG: 0.01},
            facts=[_log(step, 0.0001) for step in (1, 25, 50, 75, 100)],
        ),
        Sketch(
            "an image after each epoch",
            [0.01] * 400,
            {Phase.RUN: 0.95, Phase.LOG: 0.05},
            [
                at(100 * n, _LOGGED.replace(count=n, took=0.05 * n, steps=100 * n))
                for n in range(1, 5)
            ],
        ),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        for made in source.calls(f"keras.callbacks.{_BOARD}"):
            often = argument(made, "update_freq")
            if source.text_of(often) == "batch" or source.number_of(often) == 1:
                yield source.spot(
                    often or made,
                    "TensorBoard writes every metric after every batch",
                    'update_freq="epoch", or 100 batches',
                )
        if any(source.session_runs()) or any(source.calls("tf.summary.record_if")):
            return  # in a graph these only build ops, and `record_if` says how often
        for call in source.calls("tf.summary.histogram", "tf.summary.image", "tf.summary.audio"):
            loop = source.every_step(call)
            if loop is not None:
                yield source.spot(
                    call,
                    f"this is computed and written in every step of the loop at line {loop.lineno}",
                    "every hundred steps: if step % 100 == 0: ..., "
                    "or with tf.summary.record_if(...)",
                )


def _is_summary(op: Op) -> bool:
    return op.count > 0 and op.kind.endswith(_KINDS) and not op.kind.startswith(_DEBUGGERS)


def _writes(logs: Sequence[LineTotal[Log]]) -> int:
    return sum(total.count for total in logs)


def _seconds(logs: Sequence[LineTotal[Log]]) -> float:
    return sum(total.seconds for total in logs)


def _together(script: Script, line: int, logged: Sequence[int]) -> tuple[int, int]:
    """The first and the last line of the statements around a write that hold nothing but writes."""
    node = script.statement_at(line)
    if node is None:
        return line, line
    lines = {script.now(number) for number in logged}
    for parent in list(script.ancestors(node)):
        if not isinstance(parent, _COMPOUND) or not _only_writes(parent, lines):
            break
        node = parent
    block, index = script.block(node)
    first = last = index
    while first > 0 and _only_writes(block[first - 1], lines):
        first -= 1
    while last + 1 < len(block) and _only_writes(block[last + 1], lines):
        last += 1
    return script.recorded(block[first]), script.recorded(block[last])


def _only_writes(node: ast.stmt, lines: set[int | None]) -> bool:
    """Whether a statement does nothing but write at these lines, each time it is met."""
    inner = [part for part in ast.walk(node) if isinstance(part, ast.stmt)]
    if any(_says_how_often(part) for part in inner):
        return False
    simple = [part for part in inner if not isinstance(part, _COMPOUND)]
    return all(isinstance(part, ast.Expr) and part.lineno in lines for part in simple)


_COMPOUND = (ast.For, ast.With, ast.If)


def _says_how_often(node: ast.stmt) -> bool:
    """`if step % 100 == 0:`"""
    if not isinstance(node, ast.If):
        return False
    return any(isinstance(part, ast.Mod) for part in ast.walk(node.test))
