"""Values are fetched in every step that nobody reads, or that are read only now and then."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from unslow.analyse import say
from unslow.analyse.runs import fetched, looked_at
from unslow.analyse.scopes import Sources
from unslow.analyse.sketch import Fact, Sketch, fact
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Location, Loop, Run

_SOME = 0.05  # of the dearest one: what costs less is not worth naming beside it


@dataclass(frozen=True)
class _Fetch:
    """A value that the training run fetches: what only it costs, and what becomes of it."""

    name: str
    location: Location
    position: int
    bytes: float
    seconds: float
    use: str  # never, sometimes, or always


class OverFetching(Cause):
    """
    What happens
    The training run fetches more than the step needs: values that nobody reads, or that are read only in some steps.

    Why it is slow
    A session computes whatever is fetched. What the training op does not need itself is computed for the fetch alone,
    in every step, and its result is handed over to Python.

    The fix
    Leave out of the training run what is not used. What is logged now and then, fetch now and then:
    `session.run([train, loss] if step % 100 == 0 else [train])`.

    When we are wrong
    A value that is read by other means than its name (a debugger, `locals()`) counts as unused.
    """

    title = "more is fetched in every step than is used"
    needs = ("sessions",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in looked_at(run):
            spare = [fetch for fetch in _fetches(run, loop) if fetch.use != "always" and fetch.seconds > 0]
            most = max((fetch.seconds for fetch in spare), default=0.0)
            found = [fetch for fetch in spare if fetch.seconds > _SOME * most]
            if found:
                yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: Sequence[_Fetch]) -> Finding:
        found = sorted(found, key=lambda fetch: -fetch.seconds)
        first = found[0]
        each, size = sum(fetch.seconds for fetch in found), sum(fetch.bytes for fetch in found)
        names = [_written(run, fetch) for fetch in found]
        unused = all(fetch.use == "never" for fetch in found)
        evidence = [Evidence("bytes fetched per step for them", size, "B")]
        for fetch, name in zip(found, names, strict=True):
            evidence += [
                Evidence(f"seconds per step that only `{name}` needs", fetch.seconds, "s"),
                Evidence("bytes per step", fetch.bytes, "B"),
                Evidence("is read", fetch.use),
            ]
        shown = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return Finding(
            cause=self.id,
            title=f"{shown} {'is' if len(names) == 1 else 'are'} fetched in every step ({say.size(size)}) and "
            f"{'never read' if unused else 'read only now and then'}: {say.time(each)} of a step of "
            f"{say.time(loop.typical())}",
            location=first.location, seconds=each * loop.steps, evidence=tuple(evidence),
            advice=f"Take {shown} out of the training run"
            + ("." if unused else ", and fetch it in the steps that read it."),
        )  # fmt: skip


def _fetches(run: Run, loop: Loop) -> list[_Fetch]:
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for event in run.of("fetch"):
        if loop.holds(event) and event.data.get("stack"):
            file, line, _ = event.data["stack"][0]
            groups[str(file), int(line), str(event.data["name"])].append(dict(event.data))
    sources = Sources(run.sources)
    found = []
    for (file, line, name), data in groups.items():
        if not all(each.get("timed") for each in data) or "object" in str(data[0].get("dtype")):
            continue  # text, such as a summary: it is written somewhere
        where = Location(file, line, str(data[0]["stack"][0][2]), run.line(file, line))
        position, of = int(data[0]["position"]), int(data[0]["of"])
        found.append(
            _Fetch(
                name, where, position, median(float(each["bytes"]) for each in data),
                median(float(each.get("own") or 0.0) for each in data), _use(sources, where, position, of),
            )
        )  # fmt: skip
    return found


def _written(run: Run, fetch: _Fetch) -> str:
    """The fetch as the user wrote it, where the fetches are a list; else the tensor's name."""
    text = fetched(run.sources, fetch.location)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return fetch.name
    if isinstance(node, ast.List | ast.Tuple) and fetch.position < len(node.elts):
        return ast.unparse(node.elts[fetch.position])
    return fetch.name


def _use(sources: Sources, where: Location, position: int, of: int) -> str:
    """What becomes of a fetched value, by the names that its line binds: unclear counts as always."""
    statements = list(sources.around(where))
    statement = statements[-1] if statements else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        direct = isinstance(statement.value.func, ast.Attribute) and statement.value.func.attr == "run"
        return "never" if direct else "always"
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return "always"
    target = statement.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        if len(target.elts) != of or any(isinstance(item, ast.Starred) for item in target.elts):
            return "always"
        target = target.elts[position]
    elif of != 1:
        return "always"
    if not isinstance(target, ast.Name):
        return "always"
    scope: ast.AST | None = sources.function(where) or sources.tree(where.file)
    return _reads(scope, target.id, statements) if scope is not None else "always"


def _reads(scope: ast.AST, name: str, around: Sequence[ast.AST]) -> str:
    """How often a name is read: never, sometimes (only inside an `if` of its own), or always."""
    parents = {child: node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}
    reads = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    if not reads:
        return "never"
    loops = [node for node in around if isinstance(node, ast.For | ast.While)]
    for read in reads:
        node: ast.AST = read
        guarded = False
        while node in parents:
            parent = parents[node]
            guarded = guarded or (isinstance(parent, ast.If) and node is not parent.test and parent not in around)
            if loops and parent is loops[-1]:
                break
            node = parent
        inside = bool(loops) and node in parents
        if inside and not guarded:
            return "always"
    return "sometimes"


def _step(cycle: int, own: float, line: int = 3) -> list[Fact]:
    where: dict[str, Any] = {"cycle": cycle, "index": 0, "stack": [["train.py", line, "<module>"]]}
    return [
        fact("run", cycle, updates=True, took=0.009, runs=1, fetches=["train"], **where),
        fact("fetch", cycle, name="maps:0", bytes=8e6, position=1, of=2, own=own, timed=True, dtype="float32", **where),
    ]


def _looks(own: float) -> list[Fact]:
    return [event for cycle in (4, 8, 16) for event in _step(cycle, own)]


_HEAD = "x = 1\nfor step in range(9):\n    _, maps = s.run([train, maps_op])\n"

OverFetching.FIRES = (
    Sketch("a value that nobody reads", style="session", source=_HEAD, facts=_looks(1e-3)),
    Sketch("a value that is read in every hundredth step", style="session", facts=_looks(1e-3),
           source=f"{_HEAD}    if step % 100 == 0:\n        print(maps.mean())\n"),
)  # fmt: skip
OverFetching.QUIET = (
    Sketch("a value that is read in every step", style="session", facts=_looks(1e-3),
           source=f"{_HEAD}    history.append(maps.mean())\n"),
    Sketch("an unused value that the training op needs itself", style="session", source=_HEAD, facts=_looks(0.0)),
)  # fmt: skip
