"""Values are fetched in every step that nobody reads, or that are read only now and then."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import fetched, looked_at
from unslow.analyse.scopes import Sources
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Location, Loop, Run

_SOME = 0.05  # of the dearest one: what costs less is not worth naming beside it


@dataclass(frozen=True)
class _Fetch:
    """A value that the training run fetches: what only it costs, and what becomes of it."""

    name: str
    location: Location
    position: int
    key: (
        str | int | None
    )  # by which the program finds it in the result, where that is one of a kind
    bytes: float
    seconds: float  # per step, of what the update does not need
    spare: float  # the same of all fetches together: they may share some of it
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
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in looked_at(run):
            spare = [
                fetch
                for fetch in _fetches(run, loop)
                if fetch.use != "always" and fetch.seconds > 0
            ]
            most = max((fetch.seconds for fetch in spare), default=0.0)
            found = [fetch for fetch in spare if fetch.seconds > _SOME * most]
            if found:
                yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: Sequence[_Fetch]) -> Finding:
        found = sorted(found, key=lambda fetch: -fetch.seconds)
        first = found[0]
        each, size = (
            min(sum(fetch.seconds for fetch in found), first.spare),
            sum(fetch.bytes for fetch in found),
        )
        names = [_written(run, fetch) for fetch in found]
        unused = all(fetch.use == "never" for fetch in found)
        evidence = [Evidence("bytes fetched per step for them", size, "B")]
        for fetch, name in zip(found, names, strict=True):
            evidence += [
                Evidence(f"seconds per step that only `{name}` needs", fetch.seconds, "s"),
                Evidence("bytes per step", fetch.bytes, "B"),
                Evidence("is read", fetch.use),
            ]
        shown = ", ".join(f"`{name}`" for name in names[:3]) + (
            f" and {len(names) - 3} more" if len(names) > 3 else ""
        )
        return Finding(
            cause=self.id,
            title=f"{shown} {'is' if len(names) == 1 else 'are'} fetched in every step ({say.size(size)}) and "
            f"{'never read' if unused else 'read only now and then'}: {say.time(each)} of a step of "
            f"{say.time(loop.typical())}",
            location=first.location,
            seconds=each * loop.steps,
            evidence=tuple(evidence),
            advice=f"Take {shown} out of the training run"
            + ("." if unused else ", and fetch it in the steps that read it."),
        )


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
        stack = [
            Location(str(file), int(line), str(function))
            for file, line, function in data[0]["stack"]
        ]
        where = Location(file, line, stack[0].function, run.line(file, line))
        position, key = int(data[0]["position"]), data[0].get("key")
        found.append(
            _Fetch(
                name,
                where,
                position,
                key,
                median(float(each["bytes"]) for each in data),
                median(float(each.get("own") or 0.0) for each in data),
                median(float(each.get("spare", math.inf)) for each in data),
                _use(sources, stack, position, int(data[0]["of"]), key),
            )
        )
    return found


def _written(run: Run, fetch: _Fetch) -> str:
    """The fetch as the user wrote it, where the fetches are a list or have names; else the tensor's name."""
    if isinstance(fetch.key, str):
        return fetch.key
    text = fetched(run.sources, fetch.location)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return fetch.name
    if isinstance(node, ast.List | ast.Tuple) and fetch.position < len(node.elts):
        return ast.unparse(node.elts[fetch.position])
    return fetch.name


def _use(
    sources: Sources, stack: Sequence[Location], position: int, of: int, key: str | int | None
) -> str:
    """What becomes of a fetched value, by the names that its line binds: unclear counts as always."""
    where, called, statements = _handed_to(sources, stack)
    statement = statements[-1] if statements else None
    if isinstance(statement, ast.Expr):
        return "never" if _calls(statement.value, called) else "always"
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return "always"
    target = statement.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        if len(target.elts) != of or any(isinstance(item, ast.Starred) for item in target.elts):
            return "always"
        target, key = target.elts[position], None
    elif of != 1 and key is None:
        return "always"
    if not isinstance(target, ast.Name):
        return "always"
    scope: ast.AST | None = sources.function(where) or sources.tree(where.file)
    return _reads(scope, target.id, statements, key) if scope is not None else "always"


def _handed_to(sources: Sources, stack: Sequence[Location]) -> tuple[Location, str, list[ast.AST]]:
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
    return (isinstance(function, ast.Attribute) and function.attr == name) or (
        isinstance(function, ast.Name) and function.id == name
    )


def _reads(
    scope: ast.AST, name: str, around: Sequence[ast.AST], key: str | int | None = None
) -> str:
    """How often a name (a key of it) is read: never, sometimes (only inside an `if` of its own), or always."""
    parents = {child: node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}
    reads = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and not (key is not None and _of_another_key(parents.get(node), key))
    ]
    if not reads:
        return "never"
    loops = [node for node in around if isinstance(node, ast.For | ast.While)]
    for read in reads:
        node: ast.AST = read
        guarded = False
        while node in parents:
            parent = parents[node]
            guarded = guarded or (
                isinstance(parent, ast.If) and node is not parent.test and parent not in around
            )
            if loops and parent is loops[-1]:
                break
            node = parent
        inside = bool(loops) and node in parents
        if inside and not guarded:
            return "always"
    return "sometimes"


def _of_another_key(node: ast.AST | None, key: str | int) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return bool(node.slice.value != key)


def _step(cycle: int, own: float, stack: Sequence[Any], key: str | None) -> list[Fact]:
    where: dict[str, Any] = {"cycle": cycle, "index": 0, "stack": stack}
    value: dict[str, Any] = {
        "name": "maps:0",
        "bytes": 8e6,
        "position": 1,
        "of": 2,
        "key": key,
        "dtype": "float32",
    }
    return [
        fact("run", cycle, updates=True, took=0.009, runs=1, fetches=["train"], **where),
        fact("fetch", cycle, own=own, timed=True, **value, **where),
    ]


def _looks(own: float, *stack: Sequence[Any], key: str | None = None) -> list[Fact]:
    lines = stack or (["train.py", 3, "<module>"],)
    return [event for cycle in (4, 8, 16) for event in _step(cycle, own, lines, key)]


_KEYED = """def step():
    return s.run({"train": train, "maps": maps_op})
for n in range(9):
    out = step()
    losses.append(out["loss"])
"""
_RETURNED = ["train.py", 2, "step"], ["train.py", 4, "<module>"]
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
