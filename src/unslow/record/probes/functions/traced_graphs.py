"""Sees what a large traced graph is made of: ops that repeat, at which of the user's lines, and constants baked in."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from unslow.record.engine.frames import Place
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.functions.signatures import code_place

_LARGE = 500  # nodes below which a graph is traced in no time, whatever it is made of
_MOST_OPS = 100_000  # of a session's graph: to look through more takes too long
_REPEATS = 8  # iterations that a loop must have had to be told from a few alike layers
_SURE = 16  # the same where no kind of op occurs just so often: small numbers divide anything
_COMPARED = 12  # kinds of ops, the most frequent ones
_AS_MUCH = 0.9
_MOSTLY = 0.6  # of the kinds of ops that occur so often or more must fit: some do so by chance
_CONSTANT = 1 << 20  # bytes of one constant below which it is no burden
_SAMPLED = 24  # repeated ops whose way to the user's lines is asked for: 40 µs each
_TOUCHES = (
    "ReadVariableOp",
    "Assign",
    "ResourceApply",
    "ResourceGather",
    "Apply",
)  # ops that are given a variable
_NUMBER = re.compile(
    r"_\d+(?=/|$|_grad)"
)  # TensorFlow 1 names gradients after the op: "gradients/add_35_grad/Sum"
_TRACER = (
    "func_graph_from_py_func"  # what is outside of it called the function, and is no part of it
)


class Traced(Probe):
    name = "traced"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.recorder.signals.session_graph.subscribe(self.name, self._session_graph)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        place = "tensorflow.python.eager.polymorphic_function"
        return {f"{place}.tracing_compilation": self._on_tracing}  # seen on 2.15 to 2.21

    def _on_tracing(self, module: ModuleType) -> None:
        self.replace(module, "_create_concrete_function", self._create)

    def _create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        probe = self

        def _create_concrete_function(
            function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any
        ) -> Any:
            began = clock()
            concrete = original(function_type, type_context, func_graph, tracing_options)
            if not local.lane.busy:
                probe._look(concrete, tracing_options, clock() - began)
            return concrete

        return _create_concrete_function

    def _look(self, concrete: Any, options: Any, took: int) -> None:
        began = clock()
        lane = self.recorder.local.lane
        try:
            graph = concrete.graph
            place = code_place(options.python_function)
            name = str(options.name)
            operations = graph.get_operations()
            if len(operations) >= _LARGE:
                self._repeated(operations, name, place, took)
            self._constants(operations, name, place, took)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _session_graph(self, lane: Lane, graph: Any) -> None:
        """A graph that a session trains: nothing traced it, but Python loops unroll in it as well."""
        began = clock()
        try:
            operations = graph.get_operations()
            if _LARGE <= len(operations) <= _MOST_OPS:
                self._repeated(operations, "", ["", 0, ""], 0, session=True)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _repeated(
        self, operations: Sequence[Any], name: str, place: list[Any], took: int, **more: Any
    ) -> None:
        """Ops with one name but for its numbers: made by a loop, or by alike layers."""
        groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for op in operations:
            groups[op.type, _NUMBER.sub("", op.name)].append(op)
        repeats = _period([len(group) for group in groups.values()], len(operations))
        if repeats < _REPEATS:
            return
        alike = [group for group in groups.values() if _repeats(len(group), repeats)]
        touched = [[op.inputs[0].name for op in group] for group in alike if _touches(group[0])]
        forward = [group for group in alike if "gradient" not in group[0].name]
        stack = self._common(forward or alike)
        loop = self._loop(stack)
        self.recorder.fact(
            "unrolled",
            f"{name}@{place}",
            took,
            name=name,
            place=place,
            nodes=len(operations),
            repeats=repeats,
            repeated=sum(map(len, alike)),
            each=sum(map(len, forward)) // repeats,
            stack=stack,
            touches=sum(map(len, touched)),
            own=sum(len(names) for names in touched if _own(names)),
            loop=loop,
            step=self.steps.total,
            **more,
        )

    def _common(self, groups: Sequence[Sequence[Any]]) -> list[Place]:
        """The user's frames on the way to most of the repeated ops, within the traced function."""
        largest = sorted(groups, key=len, reverse=True)[:_SAMPLED]
        counts: dict[tuple[Place, ...], int] = defaultdict(int)
        for group in largest:
            counts[tuple(self._frames(group[len(group) // 2]))] += len(group)
        best = max(counts, key=lambda frames: (bool(frames), counts[frames]), default=())
        for file, _, _ in best:
            self.recorder.keep_source(file)
        return list(best)

    def _frames(self, op: Any) -> Iterator[Place]:
        """The user's frames of an op, innermost first, up to the call that traced the function."""
        user = self.recorder.user
        for frame in reversed(op.traceback or ()):
            if frame.name == _TRACER:
                return
            if user.owns_file(frame.filename):
                yield frame.filename, frame.lineno, frame.name

    def _loop(self, stack: Sequence[Place]) -> list[int] | None:
        """Which of the frames stands in a Python loop, and that loop's first and last line."""
        for depth, place in enumerate(stack):
            lines = self.recorder.user.loop_around(place)
            if lines is not None:
                return [depth, *lines]
        return None

    def _constants(self, operations: Sequence[Any], name: str, place: list[Any], took: int) -> None:
        """Arrays that became part of the graph instead of being handed to it."""
        large = []
        for op in operations:
            if op.type == "Const":
                tensor = op.outputs[0]
                size = (tensor.shape.num_elements() or 0) * (tensor.dtype.size or 0)
                if size >= _CONSTANT:
                    large.append((size, op))
        if not large:
            return
        largest = max(large, key=lambda pair: pair[0])
        stack = list(self._frames(largest[1]))
        for file, _, _ in stack:
            self.recorder.keep_source(file)
        self.recorder.fact(
            "constants",
            f"{name}@{place}",
            took,
            name=name,
            place=place,
            count=len(large),
            stack=stack,
            bytes=sum(size for size, _ in large),
            largest=largest[0],
            shape=list(largest[1].outputs[0].shape),
            step=self.steps.total,
        )


def _touches(op: Any) -> bool:
    """Whether an op is given a variable: in a graph of TensorFlow 1 an Identity reads it."""
    if op.type == "Identity":
        return len(op.inputs) > 0 and op.inputs[0].op.type in ("VariableV2", "Variable")
    return bool(op.type.startswith(_TOUCHES))


def _own(names: Sequence[str]) -> bool:
    """Whether alike ops use variables of their own, as layers and optimizers do, and not the same ones again."""
    return 2 * len(set(names)) > len(names)


def _period(counts: Sequence[int], nodes: int) -> int:
    """How often a loop's body was repeated: the number that most of the ops occur a multiple of times."""
    periods = {count for count in counts if count >= _REPEATS} | _shared(counts)
    covered = {
        period: sum(count for count in counts if _repeats(count, period)) for period in periods
    }
    most = max(covered.values(), default=0)
    near = [period for period in covered if covered[period] >= _AS_MUCH * most]
    # Whatever is a multiple of 200 is one of 10 as well: of those that fit as well, the longest is meant.
    best = max(near, key=lambda period: (*_fit(counts, period), period), default=0)
    return best if best and 2 * covered[best] >= nodes and _fit(counts, best)[0] >= _MOSTLY else 0


def _fit(counts: Sequence[int], period: int) -> tuple[float, float]:
    """Of the kinds of ops that occur as often or more, the share that fits; and how well, in whole per cents."""
    large = [count for count in counts if count >= period - 1]
    fitting = [count for count in large if _repeats(count, period)]
    missed = sum(abs(count - round(count / period) * period) for count in fitting)
    return round(len(fitting) / max(1, len(large)), 2), -round(missed / max(1, sum(fitting)), 2)


def _shared(counts: Sequence[int]) -> set[int]:
    """What the largest counts are all but multiples of: a body may make every kind of op several times."""
    largest = sorted(counts, reverse=True)[:_COMPARED]
    near = [
        (one + first, other + second)
        for one, other in itertools.combinations(largest, 2)
        for first in (-1, 0, 1)
        for second in (-1, 0, 1)
    ]
    return {divisor for pair in near if (divisor := math.gcd(*pair)) >= _SURE}


def _repeats(count: int, period: int) -> bool:
    """A multiple, or nearly: in the first iteration and the last each op of the body may be missing, or one more."""
    times = round(count / period)
    return times > 0 and abs(count - times * period) <= max(1, min(times, period // 8))
