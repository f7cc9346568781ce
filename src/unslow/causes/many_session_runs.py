"""Several runs of a session in a step where one run with several fetches would do."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from unslow.analyse.graphs.session_steps import Site, fetched, looked_at, run_seconds, sites
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause, Spot
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import argument

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_OFTEN = 0.5  # runs per step: what happens more seldom is asked for on purpose


class ManySessionRuns(Cause):
    """
    What happens
    A step calls `run` several times with the same feeds: once for the training op, once for the loss, once for the
    accuracy.

    Why it is slow
    Every run copies its feeds in, starts the graph, and computes all that its fetches depend on: the forward pass is
    computed again for each of them. One run with several fetches computes what they share once.

    The fix
    One call: `_, loss_value, hits = session.run([train, loss, accuracy], feed_dict=batch)`.

    When we are wrong
    A value that is fetched after the training op in a run of its own belongs to the updated weights. In one run with
    it, it belongs to the weights before the update. Where that difference is wanted, the second run is needed.
    """

    title = "several session runs per step that could be one"
    needs = ("sessions",)
    deeper_than = ("tiny-batches",)  # what each run costs is spent whatever the batch

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in looked_at(run):
            often = [site for site in sites(run, loop) if site.updates or site.per_step >= _OFTEN]
            updates = [site for site in often if site.updates]
            for update in updates:
                place = update.location.file, update.location.line
                extra = [
                    site
                    for site in often
                    if not site.updates
                    and site.mergeable
                    and (site.update == place or len(updates) == 1)
                ]
                if extra:
                    yield self._finding(run, loop, update, extra)
            for base in often:
                place = base.location.file, base.location.line
                alike = [site for site in often if site.like == place and not site.mergeable]
                if alike and not base.updates:
                    yield self._finding(run, loop, base, alike)

    def _finding(self, run: Run, loop: Loop, base: Site, extra: Sequence[Site]) -> Finding:
        """Runs of which the base, mostly the update, could do the work too."""
        whole = run_seconds(loop)
        saved = [whole * site.share * (1 - site.own / site.seconds) for site in extra]
        names = [fetched(run.sources, site.location) or ", ".join(site.fetches) for site in extra]
        first = fetched(run.sources, base.location) or ", ".join(base.fetches)
        other = "the training run" if base.updates else f"the run of `{first}`"
        runs = sum(site.per_step for site in extra) + base.per_step
        evidence = [Evidence("runs per step", round(runs, 1))]
        for site, name, seconds in zip(extra, names, saved, strict=True):
            evidence.append(Evidence(f"seconds of a run of `{name}`", site.seconds, "s"))
            evidence.append(
                Evidence(f"of it, kernels that {other} does not need anyway", site.own, "s")
            )
            evidence.append(
                Evidence("seconds of this training that it takes too much", seconds, "s")
            )
        evidence.append(Evidence(f"seconds of {other}", base.seconds, "s"))
        reasons = list(
            dict.fromkeys(
                _changes(base, site, name) for site, name in zip(extra, names, strict=True)
            )
        )
        lines = sorted({(site.location.file, site.location.line) for site in (*extra, base)})
        return Finding(
            cause=self.id,
            title=f"{runs:.0f} runs per step where one would do: {_list(names)} "
            f"{'is' if len(names) == 1 else 'are'} fetched with the same feeds as {other}",
            location=extra[0].location,
            seconds=sum(saved),
            evidence=tuple(evidence),
            advice=f"Fetch {_list(names)} together with {'the training op' if base.updates else f'`{first}`'}, "
            "in one run.",
            facts={"lines": lines, "changes": [reason for reason in reasons if reason]},
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.eval_to_run import eval_as_run
        from unslow.fix.moves.merge_runs import merge_calls

        lines = [int(line) for file, line in finding.facts["lines"] if file == script.path]
        edited, refusal = script, None
        for line in lines[1:]:
            try:
                ready = eval_as_run(eval_as_run(edited, lines[0]), line)
                edited = merge_calls(ready, lines[0], line)
            except CannotEdit as reason:
                refusal = reason
        if edited is script:
            return Refusal(str(refusal or "the runs are in different files"), finding.location)
        changes = finding.facts["changes"]
        return Fix(
            title="One run with several fetches",
            safety=Safety.REVIEW if changes else Safety.CLOSE,
            files={script.path: edited.text},
            note=" ".join(changes),
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        groups: dict[tuple[ast.AST, str], list[ast.Call]] = {}
        for call in source.session_runs():
            loop = source.innermost(call)
            feed = argument(
                call, "feed_dict", 1
            )  # without feeds, each run may take the next batch of an iterator
            if loop is None or feed is None or any(source.conditions(call, loop)):
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr == "run":
                groups.setdefault(
                    (loop, f"{ast.unparse(call.func.value)} {ast.unparse(feed)}"), []
                ).append(call)
        for (turn, _), calls in groups.items():
            first, *later = sorted(calls, key=lambda call: call.lineno)
            together = [str(call.lineno) for call in later if _could_join(source, first, call)]
            if together:
                others = (
                    "line " + together[0] if len(together) == 1 else "lines " + ", ".join(together)
                )
                yield source.spot(
                    first,
                    f"this run and that at {others} take the same feeds in the same turn of the loop at line"
                    f" {getattr(turn, 'lineno', 0)}: what they share is computed again",
                    "one session.run([a, b], feed_dict=...), if all may see the same weights",
                )


def _changes(base: Site, site: Site, name: str) -> str:
    """How a value would change in one run with the update, or with another run; nothing where it would not."""
    if site.draws:
        whose = "the training op's" if base.updates else "the other run's"
        return f"`{name}` takes a batch of its own from the input now; in one run it takes {whose}."
    if site.random:
        return f"`{name}` depends on random ops, which would be drawn once for both."
    if site.writes:
        return f"`{name}` changes variables itself; in one run the order is open."
    if not base.updates:
        return ""
    if site.depends and (not site.before or (site.after and _follows(base, site))):
        return f"`{name}` is computed after the update now; in one run it belongs to the weights before it."
    if site.depends and site.reads_own:
        return f"`{name}` reads weights by itself; in one run it may see them before or after the update."
    return ""


def _follows(update: Site, site: Site) -> bool:
    """Where the feeds never change, the order of the lines tells which update a run belongs to."""
    return site.location.file == update.location.file and site.location.line > update.location.line


def _list(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _could_join(source: Source, first: ast.Call, later: ast.Call) -> bool:
    """Whether a later run asks for other things, and depends on nothing that happens between the two."""
    if not first.args or not later.args or _asked(first) & _asked(later):
        return False  # the same again: before and after
    start, end = first.lineno, later.lineno
    for name in (node for node in ast.walk(later) if isinstance(node, ast.Name)):
        for binding in source.reaching(name):
            if (
                start <= getattr(binding.node, "lineno", 0) <= end
                and source.statement(later) is not binding.node
            ):
                return False
    return True


def _asked(call: ast.Call) -> set[str]:
    parts = [node for node in ast.walk(call.args[0]) if isinstance(node, (ast.Name, ast.Attribute))]
    return {ast.unparse(node) for node in parts} - {"self"}


def _step(cycle: int, *runs: dict[str, Any]) -> list[Fact]:
    return [
        fact(
            "run",
            cycle,
            **{
                "cycle": cycle,
                "index": index,
                "runs": len(runs),
                "timed": True,
                "updates": False,
                **data,
            },
        )
        for index, data in enumerate(runs)
    ]


def _ran(line: int, name: str, took: float, **more: Any) -> dict[str, Any]:
    return {"stack": [["train.py", line, "<module>"]], "fetches": [name], "took": took, **more}


_TRAIN = _ran(12, "train", 0.006, updates=True)
_LOSS = _ran(
    11, "loss", 0.004, same_before=True, same_after=False, shared=1.0, own=0.0, depends=True
)
_OTHER_FEED = _ran(11, "loss", 0.004, same_before=False, same_after=False, shared=1.0, own=0.0)
_HITS = _ran(13, "hits", 0.004, same_before=False, same_after=False, shared=0.9, own=0.0, like=1)
_ALONE = _ran(11, "norms", 0.004, same_before=True, same_after=False, shared=0.1, own=0.0039)

ManySessionRuns.FIRES = (
    Sketch(
        "the loss in a run of its own, with the same feeds",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[event for cycle in (4, 8, 16) for event in _step(cycle, _LOSS, _TRAIN)],
    ),
    Sketch(
        "two values for the same feeds, which are not those of the update",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[event for cycle in (4, 8, 16) for event in _step(cycle, _TRAIN, _OTHER_FEED, _HITS)],
    ),
)
ManySessionRuns.QUIET = (
    Sketch(
        "one run per step",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[event for cycle in (4, 8, 16) for event in _step(cycle, _TRAIN)],
    ),
    Sketch(
        "a second run with feeds of its own: other data, another dropout rate",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[event for cycle in (4, 8, 16) for event in _step(cycle, _OTHER_FEED, _TRAIN)],
    ),
    Sketch(
        "a loss that is asked for in one step of four",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[
            *_step(4, _LOSS, _TRAIN),
            *(e for cycle in (8, 16, 32) for e in _step(cycle, _TRAIN)),
        ],
    ),
    Sketch(
        "a second run that shares nothing with the first",
        style="session",
        phases={Phase.RUN: 1.0},
        facts=[event for cycle in (4, 8, 16) for event in _step(cycle, _ALONE, _TRAIN)],
    ),
)
