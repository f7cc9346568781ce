"""Values are fetched in every step that nobody reads, or that are read only now and then."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import fetched, inspected_loops
from unslow.analyse.scopes import Sources
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.schema import Place
from unslow.facts.sessions import Fetch, InspectedRun
from unslow.model import Evidence, Finding, Fix, Location, Loop, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_SOME = 0.05  # of the most expensive one: what costs less is not worth naming beside it


@dataclass(frozen=True)
class _Fetch:
    """A value that the training run fetches: what only it costs, and what becomes of it."""

    fact: Fetch  # one of them
    location: Location
    bytes: float
    seconds: float  # per step, of what the update does not need
    spare: float  # the same of all fetches together: they may share some of it
    use: str  # never, sometimes, or always


@dataclass(frozen=True)
class _Places:
    """What the fix needs to know."""

    places: tuple[int, ...]  # of the fetches, in the list that is run


class OverFetching(Cause):
    """
    What happens
    The training run fetches more than the step needs: values that nobody reads, or that are read
    only in some steps.

    Why it is slow
    A session computes whatever is fetched. What the training op does not need itself is computed
    for the fetch alone, in every step, and its result is copied to Python.

    The fix
    Do not fetch in the training run what is not used. What is logged occasionally, fetch
    occasionally:
    `session.run([train, loss] if step % 100 == 0 else [train])`.

    When we are wrong
    A value that is read by other means than its name (a debugger, `locals()`) counts as unused.
    """

    title = "more is fetched in every step than is used"
    reads = (InspectedRun, Fetch)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in inspected_loops(run):
            unused = [fetch for fetch in _fetches(run, loop) if fetch.use != "always"]
            most = max((fetch.seconds for fetch in unused), default=0.0)
            found = [fetch for fetch in unused if fetch.seconds > _SOME * most]
            if found:
                yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: Sequence[_Fetch]) -> Finding:
        found = sorted(found, key=lambda fetch: -fetch.seconds)
        first = found[0]
        each = min(sum(fetch.seconds for fetch in found), first.spare)
        size = sum(fetch.bytes for fetch in found)
        names = [_written(run, fetch) for fetch in found]
        unused = all(fetch.use == "never" for fetch in found)
        evidence = [Evidence("bytes fetched per step for them", size, "B")]
        for fetch, name in zip(found, names, strict=True):
            evidence += [
                Evidence(f"seconds per step that only `{name}` needs", fetch.seconds, "s"),
                Evidence("bytes per step", fetch.bytes, "B"),
                Evidence("is read", fetch.use),
            ]
        shown = ", ".join(f"`{name}`" for name in names[:3])
        if len(names) > 3:
            shown += f" and {len(names) - 3} more"
        verb, read = "is" if len(names) == 1 else "are", "never" if unused else "only sometimes"
        rest = "." if unused else ", and fetch it in the steps that read it."
        return Finding(
            cause=self.id,
            title=f"{shown} {verb} fetched in every step ({say.size(size)}) and {read} read: "
            f"{say.time(each)} of a step of {say.time(loop.typical())}",
            location=first.location,
            seconds=each * loop.steps,
            evidence=tuple(evidence),
            advice=f"Take {shown} out of the training run{rest}",
            detail=_Places(tuple(fetch.fact.position for fetch in found)),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.fetch_when_used import fetch_when_used

        detail, where = finding.detail, finding.location
        if not isinstance(detail, _Places) or where is None:
            return None
        edited = fetch_when_used(script, where.line, detail.places)
        note = "It is then computed with the weights after the step, not during it."
        return Fix("fetch it where it is read", Safety.REVIEW, {script.path: edited.text}, note)


def _fetches(run: Run, loop: Loop) -> list[_Fetch]:
    groups: dict[tuple[Place, str], list[Fetch]] = defaultdict(list)
    for fetch in run.facts(Fetch):
        if loop.holds(fetch) and fetch.stack:
            groups[fetch.stack[0], fetch.name].append(fetch)
    sources = Sources(run.sources)
    found = []
    for fetches in groups.values():
        first = fetches[0]
        if "object" in first.dtype or not all(fetch.timed for fetch in fetches):
            continue  # an object is text, such as a summary: it is written somewhere
        found.append(
            _Fetch(
                fact=first,
                location=say.place(run, first.stack[0]),
                bytes=median(fetch.bytes for fetch in fetches),
                seconds=median(fetch.own for fetch in fetches),
                spare=median(fetch.spare for fetch in fetches),
                use=_use(sources, first),
            )
        )
    return found


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


def _use(sources: Sources, fetch: Fetch) -> str:
    """What becomes of a fetched value, by the names that its line binds: unclear is "always"."""
    where, called, statements = _result_of(sources, [Location(*place) for place in fetch.stack])
    statement = statements[-1] if statements else None
    if isinstance(statement, ast.Expr):
        return "never" if _calls(statement.value, called) else "always"
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return "always"
    target, key = statement.targets[0], fetch.key
    if isinstance(target, ast.Tuple | ast.List):
        starred = any(isinstance(item, ast.Starred) for item in target.elts)
        if starred or len(target.elts) != fetch.of:
            return "always"
        target, key = target.elts[fetch.position], None
    elif fetch.of != 1 and key is None:
        return "always"
    scope: ast.AST | None = sources.function(where) or sources.tree(where.file)
    if scope is None or not isinstance(target, ast.Name):
        return "always"
    return _reads(scope, target.id, statements, key)


def _result_of(sources: Sources, stack: Sequence[Location]) -> tuple[Location, str, list[ast.AST]]:
    """The line that gets the result of a run, what it calls for it, and the statements around it.

    A function that returns the result as it is hands it on to the line that called it.
    """
    called = "run"
    for where in stack[:-1]:
        statements = list(sources.around(where))
        last = statements[-1] if statements else None
        if not isinstance(last, ast.Return) or not _calls(last.value, called):
            return where, called, statements
        called = where.function
    return stack[-1], called, list(sources.around(stack[-1]))


def _calls(value: ast.expr | None, name: str) -> bool:
    """Whether an expression is a call of a method or function of this name, and nothing else."""
    function = value.func if isinstance(value, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr == name
    return isinstance(function, ast.Name) and function.id == name


def _reads(
    scope: ast.AST, name: str, around: Sequence[ast.AST], key: str | int | None = None
) -> str:
    """How often a name (a key of it) is read: never, sometimes (inside an `if`), or always."""
    parents = {child: node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}
    reads = [node for node in ast.walk(scope) if _loads(node, name)]
    if key is not None:
        reads = [node for node in reads if not _of_another_key(parents.get(node), key)]
    if not reads:
        return "never"
    loops = [node for node in around if isinstance(node, ast.For | ast.While)]
    always = bool(loops) and any(_in_every_step(read, loops[-1], parents, around) for read in reads)
    return "always" if always else "sometimes"


def _loads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _in_every_step(
    read: ast.AST, loop: ast.AST, parents: dict[ast.AST, ast.AST], around: Sequence[ast.AST]
) -> bool:
    """Whether a name is read inside a loop and outside of any `if` of its own."""
    node = read
    while node in parents:
        parent = parents[node]
        if parent is loop:
            return True
        if isinstance(parent, ast.If) and node is not parent.test and parent not in around:
            return False
        node = parent
    return False


def _of_another_key(node: ast.AST | None, key: str | int) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return bool(node.slice.value != key)


def _looks(own: float, *stack: Place, key: str | None = None) -> list[Placed]:
    lines = stack or (Place("train.py", 3, "<module>"),)
    maps = Fetch(
        cycle=0,
        stack=lines,
        name="maps:0",
        bytes=8_000_000,
        position=1,
        of=2,
        key=key,
        own=own,
        timed=True,
        dtype="float32",
    )
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

OverFetching.FIRES = (
    Sketch("a value that nobody reads", style="session", source=_HEAD, facts=_looks(1e-3)),
    Sketch(
        "a value that is read in every hundredth step",
        style="session",
        facts=_looks(1e-3),
        source=f"{_HEAD}    if step % 100 == 0:\n        print(maps.mean())\n",
    ),
    Sketch(
        "one of several values that a function returns by their names",
        style="session",
        facts=_looks(1e-3, *_RETURNED, key="maps"),
        source=f"{_KEYED}    if n % 100 == 0:\n        print(out['maps'].mean())\n",
    ),
)
OverFetching.QUIET = (
    Sketch(
        "a value that is read in every step",
        style="session",
        facts=_looks(1e-3),
        source=f"{_HEAD}    history.append(maps.mean())\n",
    ),
    Sketch(
        "values by their names, all of which are handed on",
        style="session",
        facts=_looks(1e-3, *_RETURNED, key="maps"),
        source=f"{_KEYED}    history.append(out)\n",
    ),
    Sketch(
        "an unused value that the training op needs itself",
        style="session",
        source=_HEAD,
        facts=_looks(0.0),
    ),
)
