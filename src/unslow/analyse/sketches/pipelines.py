"""Hand-made pipelines for sketches: stages with seconds per batch in, facts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unslow.analyse.sketches.sketch import Placed, at, stack_at
from unslow.facts.data import BuiltStage, Dataset, IteratorMade, ModelNode, PipelineReading

_FUSED_WITH = {"MapAndBatch": "Batch", "ShuffleAndRepeat": "Repeat"}  # the stage above


@dataclass(frozen=True)
class Made:
    """One stage of a hand-made pipeline: what the program asked for and what ran."""

    kind: str
    busy: float = 0.0  # seconds per batch
    runs_as: str = ""
    parallelism: float = 1.0
    tuned: bool = False
    asynchronous: bool = False
    elements: float = 1.0  # per batch
    bytes: float = 1000.0  # of one element
    buffered: float = 0.0
    line: int = 0  # 0: TensorFlow added it
    asked: BuiltStage = field(default_factory=lambda: BuiltStage(kind=""))

    def built(self) -> list[BuiltStage]:
        """As the program built it: two stages where TensorFlow fuses them."""
        stage = self.asked.replace(kind=self.kind, stack=stack_at(self.line))
        above = _FUSED_WITH.get(self.runs_as)
        if above is None:
            return [stage]
        size = stage.batch_size
        upper = BuiltStage(kind=above, stack=stack_at(self.line + 1), batch_size=size)
        return [upper, stage.replace(batch_size=None)]

    def node(self, number: int, done: int, inputs: tuple[int, ...]) -> ModelNode:
        """As tf.data's model has it after some batches."""
        return ModelNode(
            id=number,
            name=self.runs_as or self.kind,
            inputs=inputs,
            elements=self.elements * done,
            busy=self.busy * done * 1e9,
            buffered=self.buffered,
            buffered_bytes=self.buffered * self.bytes,
            produced=self.bytes * self.elements * done,
            asynchronous=self.asynchronous,
            parallelism=self.parallelism,
            parallelism_tuned=self.tuned,
        )


def pipeline_facts(
    *stages: Made,
    wait: float,
    steps: int = 100,
    in_python: bool = True,
    passes: int = 1,
    evaluates: bool = False,
) -> list[Placed]:
    """A pipeline, stages from the source up, each of whose batches is waited for `wait` seconds."""
    built = [stage for one in reversed(stages) if one.line for stage in one.built()]
    last = len(built) - 1
    chained = [
        stage.replace(inputs=() if position == last else (position + 1,))
        for position, stage in enumerate(built)
    ]
    length = steps // passes
    facts = [at(0, Dataset(dataset=1, stages=tuple(chained)))]
    for number in range(1, passes + 1):
        first = (number - 1) * length
        made = IteratorMade(n=number, iterator=number, dataset=1, stack=stack_at(10))
        made = made.replace(evaluates=evaluates)
        facts.append(at(first, made))
        for done in (1, length // 2, length):
            reading = PipelineReading(
                iterator=number,
                dataset=1,
                evaluates=evaluates,
                step=first + done,
                elements=done,
                wait=wait * max(0, done - 1),
                over=max(0, done - 1),
                fetches=done if in_python else 0,
                fetch=(wait + 5e-5) * done if in_python else 0.0,
                nodes=_nodes(stages, done),
                cpu_budget=2,
                ram_budget=1e10,
            )
            facts.append(at(first + done, reading))
    return facts


def _nodes(stages: Sequence[Made], done: int) -> tuple[ModelNode, ...]:
    nodes = [Made("Root").node(1, done, (2,))]
    for number, one in enumerate(reversed(stages), start=2):
        nodes.append(one.node(number, done, (number + 1,) if number <= len(stages) else ()))
    return tuple(nodes)
