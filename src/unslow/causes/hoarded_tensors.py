"""The user's own container keeps the tensors of every step."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unslow.analyse.memory.container_growth import grower
from unslow.analyse.memory.process_memory import tensors_held
from unslow.analyse.sketches.sketch import Sketch, fact
from unslow.cause import Cause, Spot
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
    Refusal,
    Run,
    Safety,
    Shape,
)
from unslow.syntax import Kind, Source, own_nodes

_LEAST_BYTES = 16 << 20  # a history of a few MB is nobody's problem
_LEAST_USED = (
    1 << 20
)  # where steps get slower meanwhile: what is computed with it costs more than what it takes
_SLOWER = 0.5  # of a step, from the start to the end
_LEAST_LOOKS = 3
_SCALAR = re.compile(r"tensor \w*\[\]")
_OPEN = (
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
)
_OFTEN = 0.3  # elements for a step
_MUCH_MORE = 4.0
_HEAVY = ("tensor", "array", "Tensor", "Variable", "Tape", "IndexedSlices")

_Key = tuple[str, str, str]  # file, function and path of a container
_Looks = list[dict[str, Any]]

_KEEP_LESS = (
    "Keep numbers instead of tensors in `{path}` (`float(loss)`), a running metric, or only the latest few: "
    "`collections.deque(maxlen=100)`."
)
_JOINED = ("ndarray", "EagerTensor")
_ADVICE = {
    **dict.fromkeys(
        _JOINED, "Keep only what is needed of `{path}`; joining copies all of it each time."
    ),
    "cache": "Give the cache of `{path}` a limit, `functools.lru_cache(maxsize=100)`: without one it keeps the result "
    "of every call with new arguments, for as long as the program runs.",
}


class HoardedTensors(Cause):
    """
    What happens
    A list, dict or attribute of the script gets something added in every step and never gives it back: losses as
    tensors, gradients, activations, batches. The memory of the process climbs as long as the training runs.

    Why it is slow
    Nothing is slow at first. When the memory is full the machine starts to swap or the container's limit is hit, and
    the steps get slower and slower until the process is killed.

    The fix
    Keep numbers instead of tensors (`float(loss)`), a running metric instead of a list, or only the latest few in a
    `collections.deque(maxlen=…)`. Nothing that a step made may be reachable from a container that only grows.

    When we are wrong
    A replay buffer or a cache that is meant to fill up and then stops growing is not reported once it has stopped;
    while it is still filling it looks the same. Numbers, strings and anything of a few megabytes are left alone.
    """

    title = "a container keeps the tensors of every step"
    needs = ("memory",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            found = {
                key: looks for key, looks in _looks(run, loop).items() if len(looks) >= _LEAST_LOOKS
            }
            behind = _behind(run, loop, found)
            for key, looks in found.items():
                finding = self._judge(run, loop, key, looks, behind.get(key, 0.0))
                if finding is not None:
                    yield finding

    def _judge(
        self, run: Run, loop: Loop, key: _Key, looks: _Looks, behind: float
    ) -> Finding | None:
        """`behind`: bytes per step that its elements hold where nobody sees them, as a tape does."""
        last = looks[-1]
        if last["bounded"] or not any(word in last["element"] for word in _HEAVY):
            return None
        rate = behind or _rate(looks)
        held = behind * loop.steps or last["bytes"] + rate * max(0, loop.steps - last["step"])
        slower = (
            last["kind"] in _JOINED
            and loop.trend.shape is Shape.DRIFTING
            and loop.trend.change > _SLOWER
        )
        if rate <= 0 or held < (_LEAST_USED if slower else _LEAST_BYTES):
            return None
        file, function, path = key
        line = last.get("line") or grower(run.sources.get(file, ""), function, path, None)
        if last["kind"] in _JOINED and not line:
            return None
        where = Location(file, line, function) if line else loop.update
        process = next(one for one in run.processes if one.index == loop.process)
        left = _left(process.machine, process.ticks.columns)
        until = int(left / rate) if left else 0
        when = f"the memory is full {until:,} steps later" if until else ""
        return Finding(
            cause=self.id,
            title=f"`{path}` keeps {_mb(rate)} of every step: {_mb(held)} after {loop.steps:,} steps"
            + (", and a step that uses all of it takes ever longer" if slower else ""),
            location=where,
            seconds=0.0,
            grows=True,
            forecast=Forecast(step=loop.steps * 10, bytes=held + rate * loop.steps * 9, text=when),
            certainty=Certainty.MEASURED if line and not behind else Certainty.LIKELY,
            evidence=(
                Evidence("container", path),
                Evidence("elements", last["length"]),
                Evidence("each is", last["element"]),
                Evidence("held at the last look", round(last["bytes"] / 1e6, 1), "MB"),
                *(
                    [Evidence("seen by", "all tensors that Python holds; no other container grows")]
                    if behind
                    else []
                ),
                Evidence("growth", round(rate / 1e6, 3), "MB per step"),
                *([Evidence("a step at first", loop.trend.before, "s")] if slower else []),
                *([Evidence("a step at the end", loop.trend.after, "s")] if slower else []),
                *([Evidence("memory left", round(left / 1e9, 1), "GB")] if left else []),
            ),
            advice=_ADVICE.get(last["kind"], _KEEP_LESS).format(path=path),
            facts={
                "kind": last["kind"],
                "path": path,
                "bytes_per_step": rate,
                "element": last["element"],
                "seen": bool(line),
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, path = finding.location, str(finding.facts["path"])
        if where is None or not finding.facts["seen"] or finding.facts["kind"] in _ADVICE:
            return None
        if _SCALAR.fullmatch(str(finding.facts["element"])):
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
                    f"`{ast.unparse(call.func.value)}` keeps the tensor `{kept}` of every step of the loop at line"
                    f" {loop.lineno}, and with it its memory, for as long as the loop runs",
                    f"append float({kept}), or keep a keras.metrics.Mean()",
                )


def _behind(run: Run, loop: Loop, found: Mapping[_Key, _Looks]) -> dict[_Key, float]:
    """Tensors that Python holds and no container accounts for, where just one gets an element with every step."""
    tensors = tensors_held(run, loop) or 0.0
    added = {
        key: _per_step(looks[0], looks[-1], "length")
        for key, looks in found.items()
        if not looks[-1]["bounded"]
    }
    growing = [
        key
        for key, often in added.items()
        if often > 0 and found[key][-1]["element"].partition(" ")[0] not in _OPEN
    ]
    seen = sum(_rate(found[key]) for key in added)
    alone = growing[0] if len(growing) == 1 and tensors > _MUCH_MORE * seen else None
    return {alone: tensors} if alone is not None and _OFTEN <= added[alone] <= 1 / _OFTEN else {}


def _looks(run: Run, loop: Loop) -> dict[_Key, _Looks]:
    """What was seen of each container during a loop, in order."""
    found: dict[_Key, _Looks] = defaultdict(list)
    for event in run.of("containers"):
        if loop.holds(event):
            for entry in event.data["found"]:
                key = (entry["file"], entry["function"], entry["path"])
                found[key].append({**entry, "step": event.data["step"]})
    return found


def _rate(looks: _Looks) -> float:
    """Bytes per step, if the growth goes on to the end: the later half must grow as the whole does."""
    first, middle, last = looks[0], looks[len(looks) // 2], looks[-1]
    whole = _per_step(first, last)
    late = _per_step(middle, last) if middle is not last else whole
    return whole if late >= 0.5 * whole else 0.0


def _per_step(one: dict[str, Any], other: dict[str, Any], what: str = "bytes") -> float:
    steps = other["step"] - one["step"]
    return float(other[what] - one[what]) / steps if steps > 0 else 0.0


def _left(machine: Any, columns: Any) -> float:
    """Bytes until the machine, or the container's limit, is full."""
    limit = float(machine.get("limit_bytes") or 0)
    if limit and "group_bytes" in columns and len(columns["group_bytes"]):
        return max(0.0, limit - float(columns["group_bytes"][-1]))
    available = columns.get("available")
    return float(available[-1]) if available is not None and len(available) else 0.0


def _mb(size: float) -> str:
    return (
        f"{size / 1e9:.1f} GB"
        if size >= 1e9
        else f"{size / 1e6:.3g} MB"
        if size >= 1e5
        else f"{size / 1e3:.3g} KB"
    )


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


def _filled(
    steps: Iterable[int], each: float, element: str, most: int = 10**9, **more: Any
) -> Iterator[Any]:
    """Looks at `self.history` in a sketch, `each` bytes for every step up to `most`."""
    for step in steps:
        length = min(step, most)
        entry = {
            "file": "train.py",
            "function": "train",
            "path": "self.history",
            "length": length,
            "kind": "list",
            "bytes": length * each,
            "element": element,
            "bounded": False,
            **more,
        }
        yield fact("containers", step, step=step, found=[entry])


def _live(each: float) -> list[Any]:
    """Counts of all tensors that Python holds, `each` bytes more for every step."""
    return [
        fact("live", at, step=at, tensors=at, bytes=each * at, rss=6e8) for at in (100, 200, 390)
    ]


_STEPS = (16, 22, 31, 44, 61, 86, 120, 168, 235, 329)
HoardedTensors.FIRES = (
    Sketch(
        "a list that gets a large tensor in every step",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 2e5, "tensor float32[50000]")],
    ),
    Sketch(
        "a list of gradients, found in the source",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 4e6, "list of 4 × tensor float32[1000]")],
        source="for batch in data:\n    step()\n    self.history.append(gradients)\n",
    ),
    Sketch(
        "a cache of a function's results without a limit",
        [0.01] * 400,
        facts=[
            *_filled(_STEPS, 8e5, "tensor float32[200000]", kind="cache", path="draw()", line=3)
        ],
    ),
    Sketch(
        "a tensor that is joined with every batch, and all of it is computed with",
        [0.01 + step * 1e-4 for step in range(400)],
        facts=[*_filled(_STEPS, 1e4, "tensor float32[400, 25]", kind="EagerTensor")],
        source="for batch in data:\n    step()\n    self.history = tf.concat([self.history, batch], 0)\n",
    ),
    Sketch(
        "a method of each step's tape, which holds far more than can be seen",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 1e3, "method with Tape"), *_live(4e6)],
    ),
)
HoardedTensors.QUIET = (
    Sketch(
        "a tensor of a few MB that is joined with every batch, and costs nothing",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 1e4, "tensor float32[400, 25]", kind="EagerTensor")],
        source="for batch in data:\n    step()\n    self.history = tf.concat([self.history, batch], 0)\n",
    ),
    Sketch(
        "a history of scalar tensors, and tensors that something else keeps",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 254, "tensor float32[]"), *_live(4e6)],
    ),
    Sketch("a list of floats", [0.01] * 400, facts=[*_filled(_STEPS, 24, "float")]),
    Sketch(
        "a history of scalar tensors, a few KB",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 254, "tensor float32[]")],
    ),
    Sketch(
        "a replay buffer that has filled up",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 2e6, "array float32[84, 84]", 50)],
    ),
    Sketch(
        "a bounded deque",
        [0.01] * 400,
        facts=[*_filled(_STEPS, 2e6, "tensor float32[84, 84]", bounded=True)],
    ),
)
