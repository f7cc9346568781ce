"""The user's own container keeps the tensors of every step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.memory.hoards import JOINED, READS, Hoard, hoards
from unslow.analyse.memory.process_memory import memory_left, steps_until_full
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.memory import Container, Containers, Live
from unslow.fix.edit.script import Script
from unslow.fix.moves.bound_container import (
    bounded_cache,
    keep_latest,
    keep_numbers,
    keep_tail,
)
from unslow.fix.moves.kept_parts import keep_parts
from unslow.fix.moves.store_copy import store_copy
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Forecast,
    Loop,
    Refusal,
    Run,
    Safety,
)
from unslow.syntax import Kind, Source, own_nodes
from unslow.syntax.nodes import method_of

_DICT = re.compile(r"dict of (\d+)")
_SCALAR = re.compile(r"tensor \w*\[\]")
_LARGE = re.compile(r"(tensor|array) \w*\[\d")  # has dimensions: no number can stand for it
_CACHE = "cache"
_MOST_NAMED = 4  # containers beside the largest: a line may fill hundreds

_KEEP_LESS = (
    "Keep numbers instead of tensors in `{path}` (`float(loss)`), a running metric, or only the "
    "latest few: `collections.deque(maxlen=100)`."
)
_KEEP_FEW = (
    "Keep in `{path}` only what is used later: the latest few (`collections.deque(maxlen=100)`), "
    "or a part or summary of each. If all must be kept, write them to disk; pictures take a "
    "quarter of float32 as uint8 arrays."
)
_KEEP_PART = "Keep only what is needed of `{path}`: joining copies all of it each time."
_LIMIT_CACHE = (
    "Give the cache of `{path}` a limit, `functools.lru_cache(maxsize=100)`: without one it keeps "
    "the result of every call with new arguments for as long as the program runs."
)
_STORE_COPIES = (
    "Store a copy: `.copy()`. What `{path}` gets is a view, and a view keeps all of the array that "
    "it shows a part of."
)
_ADVICE = {**dict.fromkeys(JOINED, _KEEP_PART), _CACHE: _LIMIT_CACHE}


class HoardedTensors(Cause):
    """
    What happens
    A list, dict or attribute of the script gets something added in every step and never releases
    it: losses as tensors, gradients, activations, batches. The memory of the process climbs as
    long as the training runs.

    Why it is slow
    Nothing is slow at first. When memory is full, the machine swaps or the container reaches its
    limit: the steps get slower until the process is killed.

    The fix
    Keep numbers instead of tensors (`float(loss)`), a running metric instead of a list, or only
    the latest few in a `collections.deque(maxlen=…)`. Of pictures, gradients or feature maps, keep
    the latest few or what is used later, or write them to disk. Nothing that a step made may be
    reachable from a container that only grows. Of a NumPy array, a slice is a view that keeps all
    of the array: store a copy of it.

    When we are wrong
    A replay buffer or a cache that fills up looks the same until it stops growing; after that it
    is not reported. Numbers, strings and anything of a few megabytes are left alone.
    """

    title = "a container keeps the tensors of every step"
    reads = READS

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            # What has no known line is of a container by itself.
            by_line = grouped(hoards(run, loop), lambda hoard: hoard.line or hoard.container.path)
            for together in by_line.values():
                yield self._finding(run, loop, together)

    def _finding(self, run: Run, loop: Loop, together: Sequence[Hoard]) -> Finding:
        """`together`: containers that one line fills."""
        hoard = max(together, key=lambda each: each.held)
        rate = sum(each.bytes_per_step for each in together)
        held = sum(each.held for each in together)
        left = memory_left(run.process_of(loop))
        title = f"{_named(hoard, len(together) - 1)} {say.size(rate)} of every step: "
        title += f"{say.size(held)} after {loop.steps:,} steps"
        if hoard.shown:
            title += f", through views of {say.size(hoard.shown)}"
        if hoard.is_slowing:
            title += ", and a step that uses all of it takes ever longer"
        is_inferred = hoard.is_hidden or hoard.line is None
        return Finding(
            cause=self.id,
            title=title,
            location=hoard.line or loop.update,
            seconds=0.0,
            grows=True,
            forecast=Forecast(
                step=loop.steps * 10,
                bytes=held + rate * loop.steps * 9,
                text=steps_until_full(left, rate),
            ),
            certainty=Certainty.LIKELY if is_inferred else Certainty.MEASURED,
            evidence=tuple(_evidence(loop, hoard, together, left)),
            advice=_advice(hoard),
            detail=hoard,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, hoard = finding.place, finding.detail_of(Hoard)
        path = hoard.container.path
        if hoard.container.kind == _CACHE:
            files = {where.file: bounded_cache(script, where.line).text}
            note = "What it forgets is computed again when it is asked for."
            return Fix(f"limit the cache of `{path}`", Safety.REVIEW, files, note)
        if hoard.line is None or hoard.container.kind in _ADVICE:
            return None
        if hoard.shown:
            files = {where.file: store_copy(script, where.line, path).text}
            return Fix(f"store copies in `{path}` instead of views", Safety.EXACT, files)
        if _SCALAR.fullmatch(hoard.container.element):
            return Fix(
                title=f"keep numbers in `{path}`",
                safety=Safety.REVIEW,
                files={where.file: keep_numbers(script, where.line, path).text},
                note=f"`{path}` then holds Python numbers instead of tensors.",
            )
        tail = keep_tail(script, where.line, path)
        if tail is not None:
            title = f"keep the latest {tail[1]} in `{path}`: no more are read"
            note = "Where more are to be read one day, this number grows with it."
            return Fix(title, Safety.EXACT, {where.file: tail[0].text}, note)
        parts = keep_parts(script, where.line, path)
        if parts is not None and len(parts[1]) < _parts_of(hoard.container.element):
            title = f"keep only {' and '.join(parts[1])} of what `{path}` gets: no more is read"
            return Fix(title, Safety.EXACT, {where.file: parts[0].text})
        return Fix(
            title=f"keep the latest 100 in `{path}`",
            safety=Safety.REVIEW,
            files={where.file: keep_latest(script, where.line, path).text},
            note=f"`{path}` then forgets what is older than its latest 100 elements.",
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        if any(source.session_runs()):
            return  # tensors of a graph hold no values
        for call in source.every(ast.Call):
            loop = source.innermost(call)
            if loop not in source.step_loops or method_of(call) != "append" or len(call.args) != 1:
                continue
            if loop is not None and _keeps_tensor(source, call):
                yield _spotted(source, call, loop.lineno)


def _parts_of(element: str) -> int:
    """How many values an element has: 13 of "dict of 13 × array float32[8, 9]"."""
    found = _DICT.match(element)
    return int(found[1]) if found else 0


def _advice(hoard: Hoard) -> str:
    container = hoard.container
    usual = _KEEP_FEW if _LARGE.search(container.element) else _KEEP_LESS
    if hoard.shown:
        usual = _STORE_COPIES
    return _ADVICE.get(container.kind, usual).format(path=container.path)


def _named(hoard: Hoard, others: int) -> str:
    path = hoard.container.path
    if not others:
        return f"`{path}` keeps"
    return f"`{path}` and {others} more container{'s' if others > 1 else ''} keep"


def _evidence(
    loop: Loop, hoard: Hoard, together: Sequence[Hoard], left: float
) -> Iterator[Evidence]:
    container = hoard.container
    yield Evidence("container", container.path)
    yield Evidence("elements", container.length)
    yield Evidence("each is", container.element)
    if hoard.shown:
        yield Evidence("each shows", hoard.shown, "bytes")
        yield Evidence("and keeps", hoard.each, "bytes")
    yield Evidence("held at the last inspection", round(container.bytes / 1e6, 1), "MB")
    if hoard.is_hidden:
        yield Evidence("seen by", "all tensors that Python holds; no other container grows")
    yield Evidence("growth", round(hoard.bytes_per_step / 1e6, 3), "MB per step")
    others = [each.container.path for each in together if each is not hoard]
    if others:
        yield Evidence("also filled at this line", ", ".join(others[:_MOST_NAMED]))
    if hoard.is_slowing:
        yield Evidence("a step at first", loop.trend.before, "s")
        yield Evidence("a step at the end", loop.trend.after, "s")
    if left:
        yield Evidence("memory left", round(left / 1e9, 1), "GB")


def _keeps_tensor(source: Source, append: ast.Call) -> bool:
    """Whether an `append` puts a tensor into a container that no loop around it empties."""
    held = getattr(append.func, "value", append.func)
    outermost = source.loops(append)[-1]
    if source.kind(append.args[0]) is not Kind.TENSOR or not source.bound_outside(held, outermost):
        return False
    return not any(_empties(node, ast.unparse(held)) for node in own_nodes(outermost))


def _empties(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=function):
            return ast.unparse(function) in (f"{name}.clear", f"{name}.pop", f"{name}.popleft")
        case ast.Delete(targets=targets):
            return any(ast.unparse(target).startswith(name) for target in targets)
    return False


def _spotted(source: Source, append: ast.Call, loop_line: int) -> Spot:
    held, kept = ast.unparse(append.func).removesuffix(".append"), ast.unparse(append.args[0])
    return source.spot(
        append,
        f"`{held}` keeps the tensor `{kept}` of every step of the loop at line {loop_line}, and "
        "with it its memory, for as long as the loop runs",
        f"append float({kept}), or keep a keras.metrics.Mean()",
    )


def _filled(each: float, element: str, most: int = 10**9, **more: object) -> list[Placed]:
    """Inspections of `self.history` in a sketch, `each` bytes for every step up to `most`."""
    usual = Container(path="self.history", file="train.py", function="train", kind="list")
    found = []
    for step in (16, 22, 31, 44, 61, 86, 120, 168, 235, 329):
        length = min(step, most)
        values = {"length": length, "bytes": length * each, "element": element, **more}
        found.append(at(step, Containers(step=step, found=(usual.replace(**values),))))
    return found


def _live(each: float) -> list[Placed]:
    """Counts of all tensors that Python holds, `each` bytes more for every step."""
    return [at(step, Live(step=step, tensors=step, bytes=each * step)) for step in (100, 200, 390)]


def _sketch(says: str, facts: list[Placed], source: str = "", slowing: float = 0.0) -> Sketch:
    return Sketch(says, [0.01 + step * slowing for step in range(400)], facts=facts, source=source)


_APPENDING = "for batch in data:\n    step()\n    self.history.append(gradients)\n"
_JOINING = "for x in data:\n    step()\n    self.history = tf.concat([self.history, x], 0)\n"
_SLICING = "for batch in data:\n    step()\n    self.history.append(states[:, 0])\n"
_JOINED_ROWS = _filled(1e4, "tensor float32[400, 25]", kind="EagerTensor")
_CACHED = _filled(8e5, "tensor float32[200000]", kind=_CACHE, path="draw()", line=3)
HoardedTensors.FIRES = (
    _sketch("a list of large tensors, one per step", _filled(2e5, "tensor float32[50000]")),
    _sketch(
        "a list of gradients, found in the source",
        _filled(4e6, "list of 4 × tensor float32[1000]"),
        _APPENDING,
    ),
    _sketch(
        "a list of slices, each of which keeps its array",
        _filled(6.3e6, "array float32[64, 256]"),
        _SLICING,
    ),
    _sketch("a cache of a function's results without a limit", _CACHED),
    _sketch(
        "a tensor that is joined with every batch, and all of it is computed with",
        _JOINED_ROWS,
        _JOINING,
        slowing=1e-4,
    ),
    _sketch(
        "a method of each step's tape, which holds far more than can be seen",
        [*_filled(1e3, "method with Tape"), *_live(4e6)],
    ),
)
HoardedTensors.QUIET = (
    _sketch("a tensor of a few MB that is joined, at no cost", _JOINED_ROWS, _JOINING),
    _sketch(
        "a history of scalar tensors, and tensors that something else keeps",
        [*_filled(254, "tensor float32[]"), *_live(4e6)],
    ),
    _sketch("a list of floats", _filled(24, "float")),
    _sketch("a history of scalar tensors, a few KB", _filled(254, "tensor float32[]")),
    _sketch("a replay buffer that has filled up", _filled(2e6, "array float32[84, 84]", 50)),
    _sketch("a bounded deque", _filled(2e6, "tensor float32[84, 84]", bounded=True)),
)
