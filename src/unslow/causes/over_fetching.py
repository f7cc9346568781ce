"""Values are fetched in every step that nothing reads, or that are read only occasionally."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.fetch_use import Use, use_of
from unslow.analyse.graphs.session_steps import fetched, inspected_loops
from unslow.analyse.scopes import Sources
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.schema import Place
from unslow.facts.sessions import Fetch, InspectedRun
from unslow.model import Evidence, Finding, Fix, Location, Loop, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_WORTH_NAMING = 0.05  # of the most expensive one; a judgement: less is not worth naming beside it


@dataclass(frozen=True)
class _Fetch:
    """A value that the training run fetches: what only it costs, and what becomes of it."""

    fact: Fetch  # one of them
    location: Location
    bytes: float
    seconds: float  # per step, of what the update does not need
    spare: float  # the same of all fetches together: they may share some of it
    use: Use


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    positions: tuple[int, ...]  # of the fetches, in the list that is run


class OverFetching(Cause):
    """
    What happens
    The training run fetches more than the step needs: values that nothing reads, or that are read
    only in some steps.

    Why it is slow
    A session computes whatever is fetched. What the training op itself does not need is computed
    for the fetch alone, in every step, and copied to Python.

    The fix
    Leave unused values out of the training run, and fetch what is logged occasionally in those
    steps only: `session.run([train, loss] if step % 100 == 0 else [train])`.

    When we are wrong
    A value that is read by other means than its name (a debugger, `locals()`) counts as unused.
    """

    title = "more is fetched in every step than is used"
    reads = (InspectedRun, Fetch)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in inspected_loops(run):
            unused = [fetch for fetch in _fetches(run, loop) if fetch.use is not Use.ALWAYS]
            most = max((fetch.seconds for fetch in unused), default=0.0)
            found = [fetch for fetch in unused if fetch.seconds > _WORTH_NAMING * most]
            if found:
                yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: Sequence[_Fetch]) -> Finding:
        found = sorted(found, key=lambda fetch: -fetch.seconds)
        first = found[0]
        each = min(sum(fetch.seconds for fetch in found), first.spare)
        size = sum(fetch.bytes for fetch in found)
        shown = say.listed([f"`{_written(run, fetch)}`" for fetch in found])
        verb = "is" if len(found) == 1 else "are"
        read, rest = "never", "."
        if any(fetch.use is Use.SOMETIMES for fetch in found):
            read, rest = "only sometimes", ", and fetch it in the steps that read it."
        return Finding(
            cause=self.id,
            title=f"{shown} {verb} fetched in every step ({say.size(size)}) and {read} read: "
            f"{say.time(each)} of a step of {say.time(loop.typical())}",
            location=first.location,
            seconds=each * loop.steps,
            evidence=tuple(_evidence(run, found)),
            advice=f"Take {shown} out of the training run{rest}",
            detail=_Detail(tuple(fetch.fact.position for fetch in found)),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.fetch_when_used import fetch_when_used

        positions = finding.detail_of(_Detail).positions
        edited = fetch_when_used(script, finding.place.line, positions)
        note = "It is then computed with the weights after the step, not during it."
        return Fix("fetch it where it is read", Safety.REVIEW, {script.path: edited.text}, note)


def _fetches(run: Run, loop: Loop) -> Iterator[_Fetch]:
    groups: dict[tuple[Place, str], list[Fetch]] = defaultdict(list)
    for fetch in run.facts(Fetch):
        if loop.holds(fetch) and fetch.stack:
            groups[fetch.stack[0], fetch.name].append(fetch)
    sources = Sources(run.sources)
    for (place, _), fetches in groups.items():
        first = fetches[0]
        is_text = "object" in first.dtype  # such as a summary: it is written somewhere
        if is_text or not all(fetch.timed for fetch in fetches):
            continue
        yield _Fetch(
            fact=first,
            location=say.place(run, place),
            bytes=median(fetch.bytes for fetch in fetches),
            seconds=median(fetch.own for fetch in fetches),
            spare=median(fetch.spare for fetch in fetches),
            use=use_of(sources, first),
        )


def _evidence(run: Run, found: Sequence[_Fetch]) -> Iterator[Evidence]:
    size = sum(fetch.bytes for fetch in found)
    yield Evidence("bytes fetched per step for them", size, "B")
    for fetch in found:
        name = _written(run, fetch)
        yield Evidence(f"time per step that only `{name}` needs", fetch.seconds, "s")
        yield Evidence("bytes per step", fetch.bytes, "B")
        yield Evidence("is read", fetch.use.value)


def _written(run: Run, fetch: _Fetch) -> str:
    """The fetch as the user wrote it, in a list or by its name; else the tensor's name."""
    seen = fetch.fact
    if isinstance(seen.key, str):
        return seen.key
    text = fetched(run.sources, fetch.location)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return seen.name
    if isinstance(node, ast.List | ast.Tuple) and seen.position < len(node.elts):
        return ast.unparse(node.elts[seen.position])
    return seen.name


_MAPS = Fetch(cycle=0, name="maps:0", bytes=8_000_000, position=1, of=2, dtype="float32")


def _fetched(own: float, *stack: Place, key: str | None = None) -> list[Placed]:
    """Three inspected steps that fetch 8 MB, of which `own` seconds are for the fetch alone."""
    lines = stack or stack_at(3)
    maps = _MAPS.replace(stack=lines, key=key, own=own, timed=True)
    facts = []
    for cycle in (4, 8, 16):
        ran = InspectedRun(cycle=cycle, stack=lines, updates=True, took=0.009)
        facts += [at(cycle, ran), at(cycle, maps.replace(cycle=cycle))]
    return facts


_KEYED = """def step():
    return s.run({"train": train, "maps": maps_op})
for n in range(9):
    out = step()
    losses.append(out["loss"])
"""
_RETURNED = Place("train.py", 2, "step"), Place("train.py", 4, "<module>")
_HEAD = "x = 1\nfor step in range(9):\n    _, maps = s.run([train, maps_op])\n"


def _sketch(says: str, source: str, facts: list[Placed]) -> Sketch:
    return Sketch(says, style="session", source=source, facts=facts)


OverFetching.FIRES = (
    _sketch("a value that nothing reads", _HEAD, _fetched(1e-3)),
    _sketch(
        "a value that is read in every hundredth step",
        f"{_HEAD}    if step % 100 == 0:\n        print(maps.mean())\n",
        _fetched(1e-3),
    ),
    _sketch(
        "one of several values that a function returns by their names",
        f"{_KEYED}    if n % 100 == 0:\n        print(out['maps'].mean())\n",
        _fetched(1e-3, *_RETURNED, key="maps"),
    ),
)
OverFetching.QUIET = (
    _sketch(
        "a value that is read in every step",
        f"{_HEAD}    history.append(maps.mean())\n",
        _fetched(1e-3),
    ),
    _sketch(
        "values by their names, all of which are handed on",
        f"{_KEYED}    history.append(out)\n",
        _fetched(1e-3, *_RETURNED, key="maps"),
    ),
    _sketch("an unused value that the training op needs itself", _HEAD, _fetched(0.0)),
)
