"""Hand-made jobs of several workers: what each does itself in a step, a whole Run out."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.workers.records import RECORD
from unslow.facts.json_object import JsonObject
from unslow.facts.schema import Fact as TypedFact
from unslow.facts.table import FactTable
from unslow.facts.workers import Collective, SyncBlock, WorkerIdentity, closes_at
from unslow.model import Run

_PARTS = ("input", "compute", "python", "save", "evaluate", "collector", "build")
_PERIOD = 0.005  # uneven by half a per cent, as a real job is
_SECOND = 1e9


@dataclass(frozen=True)
class Hand:
    """One worker of a sketched job: seconds of its own work in a step."""

    work: Mapping[str, float] = field(default_factory=dict)  # before its first collective
    inside: float = 0.02  # computed in the step's call, at one processor
    extra: Mapping[str, float] = field(default_factory=dict)  # the same, in some steps only
    every: int = 1  # each so many-th step has it
    since: int = 1  # from this step on
    until: int = 1 << 30  # to this one
    elements: float = 1024.0
    delay: float = 0.0  # its threads wait for a processor: added to the step, not to its work
    start: float = 0.0  # seconds after the first worker


@dataclass(frozen=True)
class JobSketch(Sketch):
    """A job: every step ends when the last worker has arrived and the transfer is over."""

    workers: Sequence[Hand] = (Hand(), Hand())
    steps: int = 200
    transfer: float = 0.002
    collectives: Sequence[Collective] = ()
    per_step: int = 1
    hosts: Sequence[str] = ()
    missing: int = 0  # workers that the cluster names and that left nothing
    more: Sequence[TypedFact] = ()  # of any process

    def run(self) -> Run:
        records = self.records()
        walls = records[0]["wall"] / records[0]["count"]
        base = replace_seconds(self, walls.tolist())
        total = base.seconds
        processes, loops, facts = [], [], list[TypedFact]()
        for index, found in enumerate(records):
            host = self.hosts[index] if self.hosts else "host"
            started = self.workers[index].start
            processes.append(
                replace(
                    base.processes[0],
                    index=index,
                    pid=100 + index,
                    host=host,
                    worker=f"worker {index}",
                    started=started,
                    probes={**base.processes[0].probes, "distribute": "armed"},
                )
            )
            loops.append(replace(base.loops[0], process=index))
            facts += self._facts(index, found)
        return replace(
            base,
            processes=tuple(processes),
            loops=tuple(loops),
            seconds=total,
            table=FactTable(facts=[*self._placed(walls, base.loops[0].end), *facts, *self.more]),
        )

    def _facts(self, index: int, found: np.ndarray) -> Iterator[TypedFact]:
        size = len(self.workers) + self.missing
        identity = WorkerIdentity(index=index, size=size, source="TF_CONFIG", job="sketch")
        yield identity.replace(process=index)
        data = base64.b64encode(found.tobytes()).decode()
        yield SyncBlock(data=data, records=len(found), process=index)
        for collective in self.collectives:
            yield collective.replace(process=index)

    def records(self) -> list[np.ndarray]:
        """The records of every worker, as its recorder would have written them."""
        steps = np.arange(1, self.steps + 1)
        uneven = 1 + _PERIOD * np.sin(steps)
        parts = [self._parts(hand, steps, uneven) for hand in self.workers]
        own = np.array(
            [
                sum(part.values()) + hand.inside * uneven + hand.delay
                for hand, part in zip(self.workers, parts, strict=True)
            ]
        )
        wall = own.max(axis=0) + self.transfer
        return [
            self._recorded(hand, part, wall, uneven)
            for hand, part in zip(self.workers, parts, strict=True)
        ]

    @staticmethod
    def _parts(hand: Hand, steps: np.ndarray, uneven: np.ndarray) -> JsonObject:
        active = (steps >= hand.since) & (steps <= hand.until) & (steps % hand.every == 0)
        return {
            name: (hand.work.get(name, 0.0) + hand.extra.get(name, 0.0) * active) * uneven
            for name in _PARTS
        }

    def _recorded(
        self, hand: Hand, parts: Mapping[str, np.ndarray], wall: np.ndarray, uneven: np.ndarray
    ) -> np.ndarray:
        single = np.zeros(self.steps, dtype=RECORD)
        single["step"] = np.arange(1, self.steps + 1)
        single["count"] = 1
        single["end"] = ((self.before + np.cumsum(wall)) * _SECOND).astype(np.int64)
        single["key"] = 100 + single["step"].astype(np.int64) * self.per_step
        single["wall"] = wall
        for name, seconds in parts.items():
            single[name] = seconds
        single["before"] = sum(parts.values())
        single["inside"] = hand.inside * uneven
        single["outside"] = parts["python"] + parts["compute"] + parts["collector"]
        single["elements"] = hand.elements
        single["collectives"] = self.per_step
        single["delay"] = hand.delay
        return merged(single)


def replace_seconds(sketch: Sketch, seconds: Sequence[float]) -> Run:
    """The run of one process with these steps, and all else that the sketch says."""
    named = {name: getattr(sketch, name) for name in Sketch.__dataclass_fields__}
    return Sketch(**{**named, "seconds": seconds, "facts": ()}).run()


def merged(single: np.ndarray) -> np.ndarray:
    """Records of one step each, as the recorder merges them in long runs."""
    ends = np.array([closes_at(int(step)) for step in single["step"]])
    if len(ends):
        ends[-1] = True
    last = np.flatnonzero(ends)
    starts = np.concatenate(([0], last[:-1] + 1))
    joined: np.ndarray = single[last].copy()
    for name in ("count", *(RECORD.names or ())[4:]):
        joined[name] = np.add.reduceat(single[name].astype(np.float64), starts)
    return joined
