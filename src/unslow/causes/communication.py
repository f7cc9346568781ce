"""The workers of a job spend their steps exchanging gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.run.tallies import line_totals
from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.analyse.workers.assemble import READS, job_of
from unslow.analyse.workers.job import Job
from unslow.analyse.workers.transfer import (
    BETWEEN,
    FINITE,
    REDUCED,
    SMALL,
    Reason,
    explained,
    main_reason,
    total_bytes,
    transfer_per_step,
)
from unslow.cause import Cause
from unslow.facts.schema import Place
from unslow.facts.workers import Collective, EagerReduce, RemoteFetch, RemoteWork
from unslow.fix.edit.script import Script
from unslow.fix.moves.compile_step import compile_step
from unslow.fix.moves.rarer_reduce import reduce_rarely
from unslow.fix.moves.repeat_dataset import repeat_distributed
from unslow.fix.moves.run_every_n import guard
from unslow.fix.moves.whole_packs import unlimited_packs
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Refusal, Run, Safety

# Of a step in transfer: below it, more workers still pay. A judgement. Balanced jobs of 2 to 4
# processes on two cores show 0.2 to 0.5, most of it waiting for a core: a reason is needed as well.
_LEAST_TRANSFER = 0.25
# Of a step in one more wait for all workers, measured on the one that waits least. A judgement.
_LEAST_ASKING = 0.1
_LEAST_FETCHING = 0.1  # of the training, in which workers have no step to make; a judgement
_FETCHED_STEPS = 0.5  # of all scheduled steps: with fewer fetches the workers run ahead
_EVERY = 100  # steps between values for the log; a judgement
_FETCHED = "parameter-server fetches"
_PACKS = "small packs"


class Communication(Cause):
    """
    What happens
    The workers of a job arrive together and then spend a large part of the step in collectives, or
    a coordinator waits for values that its workers computed.

    Why it is slow
    Transfer does not shrink with more workers. It takes long if gradients are large, if each tensor
    is sent separately (an eager step packs nothing), if every step reduces a value for the log, if
    `IndexedSlices` are gathered from all workers instead of reduced, if a finite dataset asks all
    workers before each element whether any has data, or if a value is fetched from a parameter
    server in every step.

    The fix
    Compile the step, so that gradients are packed. Repeat the dataset and count the steps. Reduce
    and fetch values for the log every hundred steps. For large gradients: larger batches per
    worker, fewer updates (gradient accumulation), a smaller model, or `CommunicationOptions`.

    When we are wrong
    Workers on one machine share its processors: apparent transfer may be computation that waits
    for a core. We use the shortest time over all workers, which leaves stragglers out.
    """

    title = "the workers spend the step in collectives"
    reads = (*READS, EagerReduce, RemoteFetch)

    def detect(self, run: Run) -> Iterable[Finding]:
        job = job_of(run)
        if job is not None and len(job.workers) > 1 and job.judged.any():
            yield from self._transfer(run, job)
            yield from self._asked(run, job)
        yield from self._fetches(run)

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.location, finding.detail
        if where is None or not isinstance(detail, _Edit):
            return None
        return _EDITS[detail.reason](script, where.line, detail)

    def _transfer(self, run: Run, job: Job) -> Iterable[Finding]:
        per_step = transfer_per_step(job)
        share = per_step / max(job.measured_step, 1e-9)
        reason = main_reason(run, job)
        # What of a straggler's step is not explained would be taken for transfer.
        is_known = job.exact is not None or not job.stragglers
        if share < _LEAST_TRANSFER or reason is None or not is_known:
            return
        total = total_bytes(job.collectives)
        where = next((kind.location for kind in reason.kinds if kind.location), None)
        yield Finding(
            cause=self.id,
            title=f"{say.share(share)} of a step is transfer between workers: {reason.text}",
            location=say.place(run, where) if where is not None else None,
            seconds=per_step * explained(job, reason) * job.steps * len(job.workers),
            evidence=(
                Evidence("reason", reason.name),
                Evidence("transfer in a step", say.time(per_step)),
                Evidence("a step", say.time(job.measured_step)),
                Evidence("collectives in a step", round(job.per_step, 1)),
                Evidence("bytes in a step", say.size(total)),
                Evidence("achieved", say.size(total / max(per_step, 1e-9)) + "/s"),
                Evidence("workers", len(job.workers)),
            ),
            certainty=Certainty.MEASURED if job.exact is not None else Certainty.LIKELY,
            advice=reason.advice,
            detail=_edit(run, reason),
        )

    def _asked(self, run: Run, job: Job) -> Iterable[Finding]:
        """Values of all workers that the program asks for between its steps, and waits for."""
        for within, reason in BETWEEN.items():
            asked = _shortest(run, job, within)
            per_step = asked.took / max(1, job.steps) if asked is not None else 0.0
            share = per_step / max(job.measured_step, 1e-9)
            if asked is None or share < _LEAST_ASKING:
                continue
            where = say.place(run, asked.stack[0]) if asked.stack else None
            yield Finding(
                cause=self.id,
                title=f"{say.share(share)} of a step is one more wait for all workers: "
                f"{reason.text}",
                location=where,
                seconds=asked.took * len(job.workers),
                evidence=(
                    Evidence("reason", reason.name),
                    Evidence("calls", asked.count),
                    Evidence(
                        "each, on the worker that waits least",
                        say.time(asked.took / max(1, asked.count)),
                    ),
                    Evidence("a step", say.time(job.measured_step)),
                    Evidence("workers", len(job.workers)),
                ),
                advice=reason.advice,
                detail=_Edit(reason.name),
            )

    def _fetches(self, run: Run) -> Iterable[Finding]:
        """A coordinator that waits for a value in every step holds its workers back.

        Waiting costs nothing by itself: what is lost is the time in which workers have no step.
        """
        for loop in run.loops:
            remote = _remote_workers(run, loop.process)
            for line in line_totals(run, loop, RemoteFetch):
                idle = loop.total - _busy(remote) / max(1, len(remote))
                lost = min(line.seconds, idle)
                share = lost / loop.total
                is_often = line.count >= _FETCHED_STEPS * loop.steps
                if share < _LEAST_FETCHING or not is_often:
                    continue
                yield Finding(
                    cause=self.id,
                    title=f"{say.code(line.location)} waits for one step before the next is "
                    f"scheduled: {len(remote)} workers are idle for {say.share(share)} "
                    "of the loop",
                    location=line.location,
                    seconds=lost,
                    evidence=(
                        Evidence("reason", _FETCHED),
                        Evidence("fetches", line.count),
                        Evidence("scheduled steps", loop.steps),
                        Evidence("waited", line.seconds, "s"),
                        Evidence("workers were busy for", _busy(remote), "s"),
                        Evidence("the loop", loop.total, "s"),
                    ),
                    advice="Schedule many steps before you fetch a value, so that the workers run "
                    "ahead of the coordinator.",
                    detail=_Edit(_FETCHED),
                )


def _shortest(run: Run, job: Job, within: str) -> EagerReduce | None:
    """The totals of the worker that waited least: what it waited is transfer."""
    found = []
    for worker in job.workers:
        facts = [fact for fact in run.facts(EagerReduce, worker.process) if fact.within == within]
        if not facts:
            return None
        found.append(max(facts, key=lambda fact: fact.took))
    return min(found, key=lambda fact: fact.took, default=None)


def _remote_workers(run: Run, process: int) -> list[RemoteWork]:
    """What the workers of a coordinator have done; the last of the running totals is the whole."""
    return list({fact.worker: fact for fact in run.facts(RemoteWork, process)}.values())


def _busy(remote: Iterable[RemoteWork]) -> float:
    return sum(worker.busy for worker in remote)


@dataclass(frozen=True)
class _Edit:
    """What an edit needs to know."""

    reason: str  # a key of `_EDITS`
    updates: tuple[Location, ...] = ()  # the user's frames at the update, innermost first
    loop: Location | None = None


def _edit(run: Run, reason: Reason) -> _Edit | None:
    """Collectives of a graph stand in traced code, where no step can be left out."""
    if reason.name != SMALL:
        return None
    loop = max(run.loops, key=lambda each: each.total, default=None)
    if loop is None or not all(kind.eager for kind in reason.kinds):
        return _Edit(_PACKS)
    return _Edit(reason.name, loop.stack or (loop.update,), loop.location)


def _repeated(script: Script, line: int, detail: _Edit) -> Fix:
    edited = repeat_distributed(script, line)
    note = "`cardinality()` must know the number of batches; it is negative where it does not."
    return Fix("repeat the dataset and count its batches", Safety.REVIEW, edited.files, note)


def _rarely(script: Script, line: int, detail: _Edit) -> Fix:
    edited = reduce_rarely(script, line, _EVERY)
    note = (
        f"What shows the value shows that of one step in {_EVERY}, or of the steps it is read in."
    )
    return Fix("reduce the value only where it is read", Safety.REVIEW, edited.files, note)


def _fetched_rarely(script: Script, line: int, detail: _Edit) -> Fix:
    note = f"What is fetched is then that of one step in {_EVERY}."
    files = guard(script, line, _EVERY).files
    return Fix(f"fetch every {_EVERY} steps", Safety.REVIEW, files, note)


def _compiled(script: Script, line: int, detail: _Edit) -> Fix | Refusal:
    update = next((at.line for at in detail.updates if at.file == script.path), None)
    if update is None:
        return Refusal("the line that updates the weights is in another file", None)
    loop = detail.loop
    line_of_loop = loop.line if loop is not None and loop.file == script.path else None
    files = compile_step(script, update, line_of_loop).files
    return Fix("compile the step with `tf.function`", Safety.CLOSE, files)


def _whole_packs(script: Script, line: int, detail: _Edit) -> Fix:
    return Fix("let TensorFlow choose the packs", Safety.CLOSE, unlimited_packs(script).files)


_EDITS: dict[str, Callable[[Script, int, _Edit], Fix | Refusal]] = {
    FINITE: _repeated,
    REDUCED: _rarely,
    _FETCHED: _fetched_rarely,
    SMALL: _compiled,
    _PACKS: _whole_packs,
}


_STACK = (Place("train.py", 12, "step"),)


def _job(says: str, *kinds: Collective, transfer: float = 0.03, per_step: int = 1) -> JobSketch:
    workers = [Hand({"input": 0.002}, inside=0.03)] * 3
    return JobSketch(says, workers=workers, collectives=kinds, transfer=transfer, per_step=per_step)


_LARGE_ONE = Collective(what="all_reduce", bytes=40 << 20, tensors=12, key="a", stack=_STACK)
_SMALL = Collective(what="all_reduce", bytes=4096, eager=True, key="b", n=4000, stack=_STACK)
_SLICES = Collective(
    what="all_gather", bytes=9 << 20, tensors=3, sparse=True, key="c", stack=_STACK
)
_PACK = _SMALL.replace(eager=False, n=1)


def _asking(says: str, within: str, took: float) -> JobSketch:
    """A job of 200 steps of 60 ms, in which the workers wait for a value of all of them."""
    hands = [Hand({"input": 0.002}, inside=0.03)] * 3
    asked = [
        EagerReduce(stack=_STACK, count=200, took=200 * took, steps=200, within=within, process=n)
        for n in range(3)
    ]
    return JobSketch(says, workers=hands, collectives=[_PACK], more=asked, transfer=0.03)


def _scheduled(says: str, fetches: int, busy: float) -> Sketch:
    """A coordinator that schedules 100 steps in a second, and two workers."""
    work = [at(100, RemoteWork(worker=n, count=50, busy=busy)) for n in range(2)]
    fetched = at(100, RemoteFetch(stack=_STACK, count=fetches, took=0.9, steps=100))
    return Sketch(says, facts=[fetched, *work], style="schedule")


Communication.FIRES = (
    _job("large gradients", _LARGE_ONE),
    _job("one collective for each tensor", _SMALL, per_step=20),
    _job("gathered slices", _SLICES, per_step=3),
    _asking("all workers are asked for data", "input", 0.01),
    _asking("a loss is reduced in every step", "reduce", 0.01),
    _scheduled("every step is fetched", fetches=100, busy=0.4),
)
Communication.QUIET = (
    _job("large gradients, well hidden", _LARGE_ONE, transfer=0.003),
    _job("one small pack", _PACK, transfer=0.03),
    JobSketch("no collective seen", transfer=0.03),
    _asking("a reduce that is soon over", "reduce", 0.001),
    _scheduled("a fetch now and then", fetches=2, busy=0.4),
    _scheduled("the workers are busy all the same", fetches=100, busy=0.95),
)
