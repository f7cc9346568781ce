"""Sees what a large traced graph holds: ops that repeat, and at which line, and constants."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from unslow.facts.functions import Constants, Unrolled
from unslow.facts.schema import Place, Stack, stack_of
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.functions.signatures import code_place

_LARGE = 500  # nodes: a smaller graph is traced quickly, whatever it holds
_MOST_OPS = 100_000  # of a session's graph: to inspect more takes too long
_REPEATS = 8  # iterations that distinguish a loop from a few alike layers
_SURE = 16  # the same where no kind of op occurs exactly that often: small numbers divide anything
_COMPARED = 12  # kinds of ops, the most frequent ones
_AS_MUCH = 0.9
_MOSTLY = 0.6  # of the kinds of ops that occur that often must fit: some do so by chance
_CONSTANT = 1 << 20  # bytes of one constant; a smaller one is no burden
_SAMPLED = 24  # repeated ops whose traceback is read: 40 µs each
_TOUCHES = ("ReadVariableOp", "Assign", "ResourceApply", "ResourceGather", "Apply")
# TensorFlow 1 names gradients after the op: "gradients/add_35_grad/Sum".
_NUMBER = re.compile(r"_\d+(?=/|$|_grad)")
TRACER = "func_graph_from_py_func"  # frames outside of it only called the function


class Traced(Probe):
    name = "traced"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self.recorder.signals.session_graph.subscribe(self.name, self._session_graph)

    def doors(self) -> Doors:
        place = "tensorflow.python.eager.polymorphic_function"
        wrapped = self.wrapping({"_create_concrete_function": self._create})
        return {f"{place}.tracing_compilation": wrapped}  # seen on 2.15 to 2.21

    def _create(self, original: Function) -> Function:
        local = self.recorder.local
        probe = self

        def _create_concrete_function(
            function_type: object, type_context: object, func_graph: object, tracing_options: object
        ) -> object:
            began = clock()
            concrete = original(function_type, type_context, func_graph, tracing_options)
            if not local.lane.busy:
                probe._inspect(concrete, tracing_options, clock() - began)
            return concrete

        return _create_concrete_function

    def _inspect(self, concrete: Foreign, options: Foreign, took: int) -> None:
        with self.inspection(self.recorder.local.lane):
            operations = concrete.graph.get_operations()
            traced = _Traced(str(options.name), code_place(options.python_function), took)
            if len(operations) >= _LARGE:
                self._repeated(operations, traced)
            self._constants(operations, traced)

    def _session_graph(self, lane: Lane, graph: Foreign) -> None:
        """A graph that a session trains is not traced, but Python loops unroll in it as well."""
        with self.inspection(lane):
            operations = graph.get_operations()
            if _LARGE <= len(operations) <= _MOST_OPS:
                self._repeated(operations, None)

    def _repeated(self, operations: Sequence[Foreign], traced: _Traced | None) -> None:
        """Ops with one name but for its numbers: made by a loop, or by alike layers."""
        groups: dict[tuple[str, str], list[Foreign]] = defaultdict(list)
        for op in operations:
            groups[op.type, _NUMBER.sub("", op.name)].append(op)
        repeats = _period([len(group) for group in groups.values()], len(operations))
        if repeats < _REPEATS:
            return
        alike = [group for group in groups.values() if _repeats(len(group), repeats)]
        touched = [[op.inputs[0].name for op in group] for group in alike if _touches(group[0])]
        forward = [group for group in alike if "gradient" not in group[0].name]
        stack = self._common(forward or alike)
        seen = traced or _Traced("", Place("", 0), 0)
        self.recorder.emit(
            Unrolled(
                key=seen.key,
                took=seen.took,
                name=seen.name,
                place=seen.place,
                nodes=len(operations),
                repeats=repeats,
                repeated=sum(map(len, alike)),
                each=sum(map(len, forward)) // repeats,
                stack=stack,
                touches=sum(map(len, touched)),
                own=sum(len(names) for names in touched if _own(names)),
                loop=self._loop(stack),
                session=traced is None,
                step=self.steps.total,
            )
        )

    def _common(self, groups: Sequence[Sequence[Foreign]]) -> Stack:
        """The user's frames on the way to most of the repeated ops, within the traced function."""
        largest = sorted(groups, key=len, reverse=True)[:_SAMPLED]
        counts: dict[Stack, int] = defaultdict(int)
        for group in largest:
            counts[self._stack(group[len(group) // 2])] += len(group)
        best = max(counts, key=lambda frames: (bool(frames), counts[frames]), default=())
        return self.recorder.kept(best)

    def _stack(self, op: Foreign) -> Stack:
        """The user's frames of an op, innermost first, up to the call that traced the function."""
        return stack_of(self.recorder.user.of_traceback(op.traceback or (), until=TRACER))

    def _loop(self, stack: Stack) -> tuple[int, int, int] | None:
        """Which of the frames is in a Python loop, and that loop's first and last line."""
        for depth, place in enumerate(stack):
            lines = self.recorder.user.loop_around(place)
            if lines is not None:
                return depth, *lines
        return None

    def _constants(self, operations: Sequence[Foreign], traced: _Traced) -> None:
        """Arrays that became part of the graph instead of its inputs."""
        sizes = [(_size(op), op) for op in operations if op.type == "Const"]
        large = [(size, op) for size, op in sizes if size >= _CONSTANT]
        if not large:
            return
        size, largest = max(large, key=lambda pair: pair[0])
        stack = self.recorder.kept(self._stack(largest))
        self.recorder.emit(
            Constants(
                key=traced.key,
                took=traced.took,
                name=traced.name,
                place=traced.place,
                count=len(large),
                stack=stack,
                bytes=sum(size for size, _ in large),
                largest=size,
                shape=tuple(largest.outputs[0].shape.as_list()),
                step=self.steps.total,
            )
        )


class _Traced(NamedTuple):
    """A function that was traced."""

    name: str
    place: Place
    took: int  # nanoseconds

    @property
    def key(self) -> str:
        return f"{self.name}@{self.place}"


def _size(op: Foreign) -> int:
    """Bytes of a constant."""
    tensor = op.outputs[0]
    return int((tensor.shape.num_elements() or 0) * (tensor.dtype.size or 0))


def _touches(op: Foreign) -> bool:
    """Whether an op is given a variable: in a graph of TensorFlow 1 an Identity reads it."""
    if op.type == "Identity":
        return len(op.inputs) > 0 and op.inputs[0].op.type in ("VariableV2", "Variable")
    return bool(op.type.startswith(_TOUCHES))


def _own(names: Sequence[str]) -> bool:
    """Whether alike ops mostly use different variables, as layers and optimizers do."""
    return 2 * len(set(names)) > len(names)


def _period(counts: Sequence[int], nodes: int) -> int:
    """How often a loop's body was repeated: most ops occur a multiple of that many times."""
    periods = {count for count in counts if count >= _REPEATS} | _shared(counts)
    covered = {period: _covered(counts, period) for period in periods}
    most = max(covered.values(), default=0)
    near = [period for period in covered if covered[period] >= _AS_MUCH * most]
    # A multiple of 200 is one of 10 as well: of those that fit as well, the longest is meant.
    best = max(near, key=lambda period: (*_fit(counts, period), period), default=0)
    if not best or 2 * covered[best] < nodes or _fit(counts, best)[0] < _MOSTLY:
        return 0
    return best


def _covered(counts: Sequence[int], period: int) -> int:
    return sum(count for count in counts if _repeats(count, period))


def _fit(counts: Sequence[int], period: int) -> tuple[float, float]:
    """Of the kinds of ops that occur that often, the share that fits; and how well, rounded."""
    large = [count for count in counts if count >= period - 1]
    fitting = [count for count in large if _repeats(count, period)]
    missed = sum(abs(count - round(count / period) * period) for count in fitting)
    return round(len(fitting) / max(1, len(large)), 2), -round(missed / max(1, sum(fitting)), 2)


def _shared(counts: Sequence[int]) -> set[int]:
    """What the largest counts nearly have in common: a body may make an op several times."""
    largest = sorted(counts, reverse=True)[:_COMPARED]
    pairs = itertools.combinations(largest, 2)
    shifts = (-1, 0, 1)
    shifted = itertools.product(pairs, shifts, shifts)
    divisors = {math.gcd(one + first, other + second) for (one, other), first, second in shifted}
    return {divisor for divisor in divisors if divisor >= _SURE}


def _repeats(count: int, period: int) -> bool:
    """A multiple, or nearly: the first and the last iteration may have an op more or less."""
    times = round(count / period)
    return times > 0 and abs(count - times * period) <= max(1, min(times, period // 8))
