"""Several runs of a session in a step where one run with several fetches would do."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import (
    Site,
    fetched,
    inspected_loops,
    run_seconds,
    sites,
)
from unslow.analyse.places import Line
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.schema import Place
from unslow.facts.sessions import InspectedRun
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import argument
from unslow.syntax.nodes import StatementLoop, method_of

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_OFTEN = 0.5  # runs per step; a judgement: what happens more rarely is meant


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    lines: tuple[Line, ...]  # of the runs that could be one, in the order of the files
    changes: tuple[str, ...]  # how values would change


class ManySessionRuns(Cause):
    """
    What happens
    A step calls `run` several times with the same feeds: once for the training op, once for the
    loss, once for the accuracy.

    Why it is slow
    Every run copies its feeds, starts the graph, and computes everything its fetches depend on: the
    forward pass is computed again for each of them. One run with several fetches computes what they
    share once.

    The fix
    One call: `_, loss_value, hits = session.run([train, loss, accuracy], feed_dict=batch)`.

    When we are wrong
    A value that is fetched after the training op in a run of its own belongs to the updated
    weights. In one run with it, it belongs to the weights before the update. Where that difference
    is wanted, the second run is needed.
    """

    title = "several session runs per step that could be one"
    reads = (InspectedRun,)
    deeper_than = ("tiny-batches",)  # what each run costs is spent whatever the batch

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in inspected_loops(run):
            often = [site for site in sites(run, loop) if site.updates or site.per_step >= _OFTEN]
            for base, extra in (*_beside_updates(often), *_alike(often)):
                yield self._finding(run, loop, base, extra)

    def _finding(self, run: Run, loop: Loop, base: Site, extra: Sequence[Site]) -> Finding:
        """Runs whose work the base, mostly the update, could do too."""
        names = say.listed([f"`{_fetched(run, site)}`" for site in extra])
        first = _fetched(run, base)
        other, together = f"the run of `{first}`", f"`{first}`"
        if base.updates:
            other, together = "the training run", "the training op"
        runs = sum(site.per_step for site in extra) + base.per_step
        verb = "is" if len(extra) == 1 else "are"
        changes = [_change(base, site, _fetched(run, site)) for site in extra]
        return Finding(
            cause=self.id,
            title=f"{runs:.0f} runs per step where one would do: {names} {verb} fetched with the "
            f"same feeds as {other}",
            location=extra[0].location,
            seconds=sum(_avoidable(loop, site) for site in extra),
            evidence=(
                Evidence("runs per step", round(runs, 1)),
                *(row for site in extra for row in _site_evidence(run, loop, site, other)),
                Evidence(f"time of {other}", base.seconds, "s"),
            ),
            advice=f"Fetch {names} together with {together}, in one run.",
            detail=_Detail(
                lines=tuple(sorted({site.line for site in (*extra, base)})),
                changes=tuple(dict.fromkeys(filter(None, changes))),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.eval_to_run import eval_as_run
        from unslow.fix.moves.merge_runs import merge_calls

        detail = finding.detail_of(_Detail)
        lines = [line for file, line in detail.lines if file == script.path]
        edited, refusal = script, None
        for line in lines[1:]:
            try:
                ready = eval_as_run(eval_as_run(edited, lines[0]), line)
                edited = merge_calls(ready, lines[0], line)
            except CannotEdit as reason:
                refusal = reason
        if edited is script:
            return Refusal(str(refusal or "the runs are in different files"), finding.location)
        return Fix(
            title="One run with several fetches",
            safety=Safety.REVIEW if detail.changes else Safety.CLOSE,
            files={script.path: edited.text},
            note=" ".join(detail.changes),
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for loop, calls in _runs_fed_alike(source):
            first, *later = sorted(calls, key=lambda call: call.lineno)
            together = [str(call.lineno) for call in later if _could_join(source, first, call)]
            if together:
                word = "line" if len(together) == 1 else "lines"
                yield source.spot(
                    first,
                    f"this run and that at {word} {', '.join(together)} take the same feeds in the "
                    f"same turn of the loop at line {loop.lineno}: what they share is computed "
                    "again",
                    "one session.run([a, b], feed_dict=...), if all may see the same weights",
                )


def _avoidable(loop: Loop, site: Site) -> float:
    return run_seconds(loop) * site.share * (1 - site.own / site.seconds)


def _site_evidence(run: Run, loop: Loop, site: Site, other: str) -> Iterator[Evidence]:
    yield Evidence(f"time of a run of `{_fetched(run, site)}`", site.seconds, "s")
    yield Evidence(f"of it, kernels that {other} does not need anyway", site.own, "s")
    yield Evidence("avoidable time", _avoidable(loop, site), "s")


def _beside_updates(often: Sequence[Site]) -> Iterator[tuple[Site, list[Site]]]:
    """Each run that updates weights, with the runs that are fed like it."""
    updates = [site for site in often if site.updates]
    mergeable = [site for site in often if site.mergeable and not site.updates]
    for update in updates:
        is_only = len(updates) == 1
        fed_alike = [site for site in mergeable if is_only or site.update == update.line]
        if fed_alike:
            yield update, fed_alike


def _alike(often: Sequence[Site]) -> Iterator[tuple[Site, list[Site]]]:
    """Each run that updates nothing, with the runs that could be part of it."""
    rest = [site for site in often if not site.mergeable]
    for base in often:
        alike = [site for site in rest if site.like == base.line]
        if alike and not base.updates:
            yield base, alike


def _fetched(run: Run, site: Site) -> str:
    return fetched(run.sources, site.location) or ", ".join(site.fetches)


def _change(base: Site, site: Site, name: str) -> str:
    """How a value would change in one run with the update, or with another; empty if not at all."""
    if site.draws:
        whose = "the training op's" if base.updates else "the other run's"
        return f"`{name}` takes a batch of its own from the input now; in one run it takes {whose}."
    if site.random:
        return f"`{name}` depends on random ops, which would be drawn once for both."
    if site.writes:
        return f"`{name}` changes variables itself; in one run the order is open."
    if not base.updates or not site.depends:
        return ""
    if not site.before or (site.after and _follows(base, site)):
        return (
            f"`{name}` is computed after the update now; in one run it belongs to the weights "
            "before it."
        )
    if site.reads_own:
        return (
            f"`{name}` reads weights by itself; in one run it may see them before or after the "
            "update."
        )
    return ""


def _follows(update: Site, site: Site) -> bool:
    """Where the feeds never change, the order of the lines tells which update a run belongs to."""
    return site.location.file == update.location.file and site.location.line > update.location.line


def _runs_fed_alike(source: Source) -> Iterable[tuple[StatementLoop, list[ast.Call]]]:
    """Runs of one session with the same feeds in every turn of a loop."""
    groups: dict[tuple[StatementLoop, str], list[ast.Call]] = defaultdict(list)
    for call in source.session_runs():
        loop = source.innermost(call)
        # Without feeds, each run may take the next batch of an iterator.
        feed = argument(call, "feed_dict", 1)
        if loop is None or feed is None or method_of(call) != "run":
            continue
        if not any(source.conditions(call, loop)):
            groups[loop, f"{ast.unparse(call.func)} {ast.unparse(feed)}"].append(call)
    return ((loop, calls) for (loop, _), calls in groups.items())


def _could_join(source: Source, first: ast.Call, later: ast.Call) -> bool:
    """Whether a later run fetches other things, and depends on nothing between the two."""
    if not first.args or not later.args or _asked(first) & _asked(later):
        return False  # the same again: before and after
    names = [node for node in ast.walk(later) if isinstance(node, ast.Name)]
    bindings = [binding.node for name in names for binding in source.reaching(name)]
    others = [node for node in bindings if node is not source.statement(later)]
    return not any(first.lineno <= getattr(node, "lineno", 0) <= later.lineno for node in others)


def _asked(call: ast.Call) -> set[str]:
    parts = [node for node in ast.walk(call.args[0]) if isinstance(node, (ast.Name, ast.Attribute))]
    return {ast.unparse(node) for node in parts} - {"self"}


def _ran(line: int, name: str, took: float = 0.004) -> InspectedRun:
    place = Place("train.py", line, "<module>")
    return InspectedRun(cycle=0, stack=(place,), fetches=(name,), took=took, timed=True)


def _steps(cycles: Iterable[int], *runs: InspectedRun) -> list[Placed]:
    numbered = [(cycle, index, ran) for cycle in cycles for index, ran in enumerate(runs)]
    return [at(cycle, ran.replace(cycle=cycle, index=index)) for cycle, index, ran in numbered]


def _sketch(says: str, facts: Sequence[Placed]) -> Sketch:
    return Sketch(says, style="session", phases={Phase.RUN: 1.0}, facts=facts)


_TRAIN = _ran(12, "train", 0.006).replace(updates=True)
_OTHER_FEED = _ran(11, "loss").replace(shared=1.0)
_LOSS = _OTHER_FEED.replace(same_before=True, depends=True)
_HITS = _ran(13, "hits").replace(shared=0.9, like=1)
_ALONE = _ran(11, "norms").replace(same_before=True, shared=0.1, own=0.0039)
_CYCLES = (4, 8, 16)

ManySessionRuns.FIRES = (
    _sketch("the loss in a run of its own, with the same feeds", _steps(_CYCLES, _LOSS, _TRAIN)),
    _sketch(
        "two values for the same feeds, which are not those of the update",
        _steps(_CYCLES, _TRAIN, _OTHER_FEED, _HITS),
    ),
)
ManySessionRuns.QUIET = (
    _sketch("one run per step", _steps(_CYCLES, _TRAIN)),
    _sketch(
        "a second run with feeds of its own: other data, another dropout rate",
        _steps(_CYCLES, _OTHER_FEED, _TRAIN),
    ),
    _sketch(
        "a loss that is fetched in one step of four",
        [*_steps((4,), _LOSS, _TRAIN), *_steps((8, 16, 32), _TRAIN)],
    ),
    _sketch("a second run that shares nothing with the first", _steps(_CYCLES, _ALONE, _TRAIN)),
)
