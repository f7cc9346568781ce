"""Hand-made pipelines for sketches: stages with their seconds per batch in, the facts of a pipeline out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unslow.analyse.sketches.sketch import Fact, fact


@dataclass(frozen=True)
class Made:
    """One stage of a hand-made pipeline, from the source up: what the program asked for and what ran."""

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
    settings: tuple[tuple[str, Any], ...] = ()


def pipeline_facts(
    *stages: Made,
    wait: float,
    steps: int = 100,
    in_python: bool = True,
    passes: int = 1,
    ram: float = 1e10,
) -> list[Fact]:
    """The facts of a pipeline (stages from the source to the step) whose batches are waited for `wait` seconds each."""
    built = [stage for one in reversed(stages) if one.line for stage in _built(one)]
    for position, one in enumerate(built):
        one["inputs"] = [position + 1] if position + 1 < len(built) else []
    length = steps // passes
    facts = [fact("dataset", 0, dataset=1, stages=built)]
    for number in range(passes):
        first = number * length
        facts.append(
            fact(
                "iterator",
                first,
                n=number + 1,
                iterator=number + 1,
                dataset=1,
                stack=[["train.py", 10, "<module>"]],
            )
        )
        facts += [
            _reading(stages, number + 1, first + done, done, wait, in_python, ram)
            for done in (1, length // 2, length)
        ]
    return facts


def _built(one: Made) -> list[dict[str, Any]]:
    stage = {"kind": one.kind, "stack": [["train.py", one.line, "<module>"]], **dict(one.settings)}
    if one.runs_as != "MapAndBatch":
        return [stage]
    batch = {
        "kind": "Batch",
        "stack": [["train.py", one.line + 1, "<module>"]],
        "batch_size": stage["batch_size"],
    }
    return [batch, stage]


def _reading(
    stages: Sequence[Made],
    iterator: int,
    step: int,
    done: int,
    wait: float,
    in_python: bool,
    ram: float,
) -> Fact:
    nodes: list[dict[str, Any]] = [_node(1, "Root", Made("Root"), done, [2])]
    for number, one in enumerate(reversed(stages), start=2):
        inputs = [number + 1] if number <= len(stages) else []
        nodes.append(_node(number, one.runs_as or one.kind, one, done, inputs))
    return fact(
        "pipeline",
        step,
        iterator=iterator,
        dataset=1,
        evaluates=False,
        step=step,
        elements=done,
        wait=wait * max(0, done - 1),
        over=max(0, done - 1),
        fetches=done if in_python else 0,
        fetch=(wait + 5e-5) * done if in_python else 0.0,
        nodes=nodes,
        cpu_budget=2,
        ram_budget=ram,
    )


def _node(number: int, name: str, one: Made, done: int, inputs: list[int]) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "inputs": inputs,
        "elements": one.elements * done,
        "busy": one.busy * done * 1e9,
        "buffered": one.buffered,
        "buffered_bytes": one.buffered * one.bytes,
        "produced": one.bytes * one.elements * done,
        "asynchronous": one.asynchronous,
        "ratio": 1.0,
        "parallelism": one.parallelism,
        "parallelism_tuned": one.tuned,
    }
