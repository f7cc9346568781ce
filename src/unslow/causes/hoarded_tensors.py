"""The user's own container keeps the tensors of every step."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse.host.machine import process_of
from unslow.analyse.memory.container_growth import growth_place
from unslow.analyse.memory.process_memory import tensors_held
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.memory import Container, Containers, Live
from unslow.fix.edit.script import Script
from unslow.fix.moves.bound_container import keep_latest, keep_numbers
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Forecast,
    Location,
    Loop,
    Process,
    Refusal,
    Run,
    Safety,
    Shape,
)
from unslow.syntax import Kind, Source, own_nodes

_LEAST_BYTES = 16 << 20  # a history of a few MB is no problem
# Where steps get slower meanwhile: computing with it costs more than the memory it takes.
_LEAST_USED = 1 << 20
_SLOWER = 0.5  # of a step, from the start to the end
_LEAST_INSPECTIONS = 3
_SCALAR = re.compile(r"tensor \w*\[\]")
# Elements whose size is known in full: nothing can be hidden behind them.
_TRANSPARENT = frozenset(
    [
        "tensor",
        "array",
        "ndarray",
        "list",
        "tuple",
        "dict",
        "set",
        "float",
        "int",
        "str",
        "bool",
        "NoneType",
    ]
)
_EVERY_STEP = 0.3, 1 / 0.3  # elements added in a step, at least and at most
_MUCH_MORE = 4.0
_HEAVY = ("tensor", "array", "Tensor", "Variable", "Tape", "IndexedSlices")

_KEEP_LESS = (
    "Keep numbers instead of tensors in `{path}` (`float(loss)`), a running metric, or only the "
    "latest few: `collections.deque(maxlen=100)`."
)
_JOINED = ("ndarray", "EagerTensor")
_ADVICE = {
    **dict.fromkeys(
        _JOINED, "Keep only what is needed of `{path}`; joining copies all of it each time."
    ),
    "cache": "Give the cache of `{path}` a limit, `functools.lru_cache(maxsize=100)`: without "
    "one it "
    "keeps the result of every call with new arguments, for as long as the program runs.",
}


@dataclass(frozen=True)
class _Series:
    """One container over the inspections of a loop."""

    steps: tuple[int, ...]
    seen: tuple[Container, ...]

    @property
    def last(self) -> Container:
        return self.seen[-1]

    def rate(self) -> float:
        """Bytes per step, if it grows to the end: the later half must grow as the whole does."""
        middle = len(self.seen) // 2
        whole = self._per_step([each.bytes for each in self.seen], 0)
        late = self._per_step([each.bytes for each in self.seen], middle)
        is_last = middle == len(self.seen) - 1
        return whole if is_last or late >= 0.5 * whole else 0.0

    def added(self) -> float:
        """Elements per step."""
        return self._per_step([each.length for each in self.seen], 0)

    def _per_step(self, values: Sequence[float], since: int) -> float:
        steps = self.steps[-1] - self.steps[since]
        return (values[-1] - values[since]) / steps if steps > 0 else 0.0


@dataclass(frozen=True)
class _Hoard:
    """What the fix needs."""

    path: str
    kind: str
    element: str
    bytes_per_step: float
    is_line_known: bool


class HoardedTensors(Cause):
    """
    What happens
    A list, dict or attribute of the script gets something added in every step and never gives
    it back: losses as tensors, gradients, activations, batches. The memory of the process
    climbs as long as the training runs.

    Why it is slow
    Nothing is slow at first. When the memory is full the machine starts to swap or the
    container's limit is hit, and the steps get slower and slower until the process is killed.

    The fix
    Keep numbers instead of tensors (`float(loss)`), a running metric instead of a list, or only
    the latest few in a `collections.deque(maxlen=…)`. Nothing that a step made may be reachable
    from a container that only grows.

    When we are wrong
    A replay buffer or a cache that is meant to fill up and then stops growing is not reported
    once it has stopped; while it is still filling it looks the same. Numbers, strings and
    anything of a few megabytes are left alone.
    """

    title = "a container keeps the tensors of every step"
    reads = (Containers, Live)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            found = [each for each in _series(run, loop) if len(each.seen) >= _LEAST_INSPECTIONS]
            hidden = _hidden(run, loop, found)
            for series in found:
                rate = hidden[1] if hidden is not None and hidden[0] is series else 0.0
                finding = self._judge(run, loop, series, rate)
                if finding is not None:
                    yield finding

    def _judge(self, run: Run, loop: Loop, series: _Series, hidden: float) -> Finding | None:
        """`hidden`: bytes per step that its elements hold out of sight, as a tape does."""
        last = series.last
        growth = _growth(loop, series, hidden)
        if growth is None:
            return None
        place = (last.file, last.line) if last.line else None
        place = place or growth_place(run.sources, last.file, last.path)
        if last.kind in _JOINED and place is None:
            return None
        left = _left(process_of(run, loop))
        until = int(left / growth.rate)
        rate, held = growth.rate, growth.held
        return Finding(
            cause=self.id,
            title=_title(loop, last, growth),
            location=Location(*place, last.function) if place else loop.update,
            seconds=0.0,
            grows=True,
            forecast=Forecast(
                step=loop.steps * 10,
                bytes=held + rate * loop.steps * 9,
                text=f"out of memory in about {until:,} steps" if until else "",
            ),
            certainty=Certainty.LIKELY if hidden or place is None else Certainty.MEASURED,
            evidence=tuple(_evidence(loop, last, growth, left)),
            advice=_ADVICE.get(last.kind, _KEEP_LESS).format(path=last.path),
            detail=_Hoard(
                last.path, last.kind, last.element, rate, is_line_known=place is not None
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, hoard = finding.location, finding.detail
        if where is None or not isinstance(hoard, _Hoard):
            return None
        if not hoard.is_line_known or hoard.kind in _ADVICE:
            return None
        path = hoard.path
        if _SCALAR.fullmatch(hoard.element):
            return Fix(
                title=f"keep numbers in `{path}`",
                safety=Safety.REVIEW,
                files={where.file: keep_numbers(script, where.line, path).text},
                note=f"`{path}` then holds Python numbers instead of tensors.",
            )
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
            if (
                not isinstance(call.func, ast.Attribute)
                or call.func.attr != "append"
                or len(call.args) != 1
            ):
                continue
            loop = source.innermost(call)
            if (
                loop is None
                or loop not in source.step_loops
                or source.kind(call.args[0]) is not Kind.TENSOR
            ):
                continue
            outermost = source.loops(call)[-1]
            if source.bound_outside(call.func.value, outermost) and not _is_emptied(
                source, call.func.value, outermost
            ):
                kept = ast.unparse(call.args[0])
                yield source.spot(
                    call,
                    f"`{ast.unparse(call.func.value)}` keeps the tensor `{kept}` of every step "
                    f"of the loop at line"
                    f" {loop.lineno}, and with it its memory, for as long as the loop runs",
                    f"append float({kept}), or keep a keras.metrics.Mean()",
                )


@dataclass(frozen=True)
class _Growth:
    """How a container grows, where it is worth a finding."""

    rate: float  # bytes per step
    held: float  # bytes at the end of the loop
    hidden: bool  # its elements hold most of it out of sight
    slower: bool  # steps use all of it and take ever longer


def _growth(loop: Loop, series: _Series, hidden: float) -> _Growth | None:
    last = series.last
    is_heavy = any(word in last.element for word in _HEAVY)
    if last.bounded or not is_heavy:
        return None
    slows = loop.trend.shape is Shape.DRIFTING and loop.trend.change > _SLOWER
    slower = last.kind in _JOINED and slows
    rate = hidden or series.rate()
    held = last.bytes + rate * max(0, loop.steps - series.steps[-1])
    if hidden:
        held = hidden * loop.steps
    least = _LEAST_USED if slower else _LEAST_BYTES
    if rate <= 0 or held < least:
        return None
    return _Growth(rate, held, bool(hidden), slower)


def _title(loop: Loop, last: Container, growth: _Growth) -> str:
    kept, held = _mb(growth.rate), _mb(growth.held)
    title = f"`{last.path}` keeps {kept} of every step: {held} after {loop.steps:,} steps"
    if growth.slower:
        return f"{title}, and a step that uses all of it takes ever longer"
    return title


def _evidence(loop: Loop, last: Container, growth: _Growth, left: float) -> Iterator[Evidence]:
    yield Evidence("container", last.path)
    yield Evidence("elements", last.length)
    yield Evidence("each is", last.element)
    yield Evidence("held at the last inspection", round(last.bytes / 1e6, 1), "MB")
    if growth.hidden:
        yield Evidence("seen by", "all tensors that Python holds; no other container grows")
    yield Evidence("growth", round(growth.rate / 1e6, 3), "MB per step")
    if growth.slower:
        yield Evidence("a step at first", loop.trend.before, "s")
        yield Evidence("a step at the end", loop.trend.after, "s")
    if left:
        yield Evidence("memory left", round(left / 1e9, 1), "GB")


def _hidden(run: Run, loop: Loop, found: Sequence[_Series]) -> tuple[_Series, float] | None:
    """Tensors that no container accounts for, where just one gets an element with every step."""
    tensors = tensors_held(run, loop) or 0.0
    unbounded = [each for each in found if not each.last.bounded]
    seen = sum(each.rate() for each in unbounded)
    growing = [each for each in unbounded if each.added() > 0 and not _is_transparent(each.last)]
    if len(growing) != 1 or tensors <= _MUCH_MORE * seen:
        return None
    least, most = _EVERY_STEP
    return (growing[0], tensors) if least <= growing[0].added() <= most else None


def _is_transparent(container: Container) -> bool:
    return container.element.partition(" ")[0] in _TRANSPARENT


def _series(run: Run, loop: Loop) -> list[_Series]:
    """What was seen of each container during a loop, in order."""
    found: dict[tuple[str, str, str], list[tuple[int, Container]]] = defaultdict(list)
    for inspection in run.facts(Containers):
        if not loop.holds(inspection):
            continue
        for container in inspection.found:
            key = (container.file, container.function, container.path)
            found[key].append((inspection.step, container))
    return [_Series(*zip(*seen, strict=True)) for seen in found.values()]


def _left(process: Process) -> float:
    """Bytes until the machine, or the container's limit, is full; 0 where it is not known."""
    columns = process.ticks.columns
    limit = float(process.machine.get("limit_bytes") or 0)
    in_group = columns.get("group_bytes")
    if limit and in_group is not None and len(in_group):
        return max(0.0, limit - float(in_group[-1]))
    available = columns.get("available")
    return float(available[-1]) if available is not None and len(available) else 0.0


def _mb(size: float) -> str:
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.3g} MB" if size >= 1e5 else f"{size / 1e3:.3g} KB"


def _is_emptied(source: Source, held: ast.expr, loop: ast.AST) -> bool:
    name = ast.unparse(held)
    methods = {f"{name}.{method}" for method in ("clear", "pop", "popleft")}
    for node in own_nodes(loop):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in methods:
            return True
        if isinstance(node, ast.Delete) and any(
            ast.unparse(target).startswith(name) for target in node.targets
        ):
            return True
    return False


def _filled(each: float, element: str, most: int = 10**9, **more: object) -> list[Placed]:
    """Inspections of `self.history` in a sketch, `each` bytes for every step up to `most`."""
    usual = Container(path="self.history", file="train.py", function="train", kind="list")
    found = []
    for step in _STEPS:
        length = min(step, most)
        values = {"length": length, "bytes": length * each, "element": element, **more}
        found.append(at(step, Containers(step=step, found=(usual.replace(**values),))))
    return found


def _live(each: float) -> list[Placed]:
    """Counts of all tensors that Python holds, `each` bytes more for every step."""
    return [at(step, Live(step=step, tensors=step, bytes=each * step)) for step in (100, 200, 390)]


_JOINING = """\
for batch in data:
    step()
    self.history = tf.concat([self.history, batch], 0)
"""
_STEPS = (16, 22, 31, 44, 61, 86, 120, 168, 235, 329)
HoardedTensors.FIRES = (
    Sketch(
        "a list that gets a large tensor in every step",
        [0.01] * 400,
        facts=[*_filled(2e5, "tensor float32[50000]")],
    ),
    Sketch(
        "a list of gradients, found in the source",
        [0.01] * 400,
        facts=[*_filled(4e6, "list of 4 × tensor float32[1000]")],
        source="for batch in data:\n    step()\n    self.history.append(gradients)\n",
    ),
    Sketch(
        "a cache of a function's results without a limit",
        [0.01] * 400,
        facts=[*_filled(8e5, "tensor float32[200000]", kind="cache", path="draw()", line=3)],
    ),
    Sketch(
        "a tensor that is joined with every batch, and all of it is computed with",
        [0.01 + step * 1e-4 for step in range(400)],
        facts=[*_filled(1e4, "tensor float32[400, 25]", kind="EagerTensor")],
        source=_JOINING,
    ),
    Sketch(
        "a method of each step's tape, which holds far more than can be seen",
        [0.01] * 400,
        facts=[*_filled(1e3, "method with Tape"), *_live(4e6)],
    ),
)
HoardedTensors.QUIET = (
    Sketch(
        "a tensor of a few MB that is joined with every batch, and costs nothing",
        [0.01] * 400,
        facts=[*_filled(1e4, "tensor float32[400, 25]", kind="EagerTensor")],
        source=_JOINING,
    ),
    Sketch(
        "a history of scalar tensors, and tensors that something else keeps",
        [0.01] * 400,
        facts=[*_filled(254, "tensor float32[]"), *_live(4e6)],
    ),
    Sketch("a list of floats", [0.01] * 400, facts=[*_filled(24, "float")]),
    Sketch(
        "a history of scalar tensors, a few KB",
        [0.01] * 400,
        facts=[*_filled(254, "tensor float32[]")],
    ),
    Sketch(
        "a replay buffer that has filled up",
        [0.01] * 400,
        facts=[*_filled(2e6, "array float32[84, 84]", 50)],
    ),
    Sketch(
        "a bounded deque",
        [0.01] * 400,
        facts=[*_filled(2e6, "tensor float32[84, 84]", bounded=True)],
    ),
)
