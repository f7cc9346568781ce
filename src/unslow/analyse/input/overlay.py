"""Matches the nodes of tf.data's model with the stages that the program built.

TensorFlow drops, fuses and adds stages, so the two lists differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unslow.facts.data import BuiltStage, ModelNode

NOT_RUN = frozenset(("Options", "Variant", "Restructured", "Model", "DebugOptions", "Root"))
READERS = frozenset(("TFRecord", "TextLine", "FixedLengthRecord"))
_SAME = {"FromTensor": "Tensor", "Sparse": "TensorSlice"}
_FUSED = {  # one node for two stages: the upper and the lower one
    "MapAndBatch": ("Batch", "Map"),
    "ShuffleAndRepeat": ("Repeat", "Shuffle"),
    "MapAndFilter": ("Filter", "Map"),
}
_MOST_DROPPED = 6  # stages in a row that a rewrite may have dropped

Nodes = Mapping[int, ModelNode]
Built = Sequence[BuiltStage]


@dataclass(frozen=True)
class Match:
    node: ModelNode
    positions: tuple[int, ...]  # of its stages in the program's list; empty if TensorFlow added it
    inner: tuple[int, ...]  # nodes of pipelines that the stage makes per element


def base(name: str) -> str:
    """A stage's name without what differs between the program and its execution."""
    name = re.sub(r"V\d+$", "", name)
    name = re.sub(r"^(Parallel|Finite|Forever|Memory|File|Legacy|Empty)", "", name)
    return _SAME.get(name, name)


def match_stages(nodes: Nodes, built: Built) -> list[Match]:
    """Each node with the stages that it came from, from the one that gives batches down."""
    tops = (node.inputs[0] for node in nodes.values() if node.name == "Root" and node.inputs)
    return list(_aligned(nodes, next(tops, None), built, 0 if built else None))


def _aligned(
    nodes: Nodes, number: int | None, built: Built, position: int | None
) -> Iterable[Match]:
    node = nodes.get(number) if number is not None else None
    if node is None:
        return
    found = _stage_of(nodes, node, built, position)
    if found is None:
        yield Match(node, (), tuple(_all_below(nodes, node.inputs[1:])))
        yield from _aligned(nodes, next(iter(node.inputs), None), built, position)
        return
    positions = _with_fused(node, built, found)
    stage_inputs = built[positions[-1]].inputs
    inputs = _inputs_of(nodes, node)
    yield Match(node, positions, tuple(_all_below(nodes, inputs[len(stage_inputs) :])))
    for child, below in zip(inputs, stage_inputs, strict=False):
        yield from _aligned(nodes, child, built, below)


def _inputs_of(nodes: Nodes, node: ModelNode) -> tuple[int, ...]:
    """A node's inputs; a cache is two nodes."""
    if node.inputs and base(node.name) == "Cache":
        below = nodes[node.inputs[0]]
        if below.name.endswith("CacheImpl"):
            return below.inputs
    return node.inputs


def _stage_of(nodes: Nodes, node: ModelNode, built: Built, position: int | None) -> int | None:
    """The next stage down of a node's kind; None if TensorFlow added the node."""
    child = nodes.get(node.inputs[0]) if node.inputs else None
    for below in _chain(built, position):
        stage = built[below]
        if _is_same(node, stage):
            return below
        if node.name == "Prefetch" and child is not None and _is_same(child, stage):
            return None
    return None


def _chain(built: Built, position: int | None) -> Iterable[int]:
    """A stage and those below it, as far as each has one input."""
    for _ in range(_MOST_DROPPED):
        if position is None:
            return
        yield position
        inputs = built[position].inputs
        position = inputs[0] if len(inputs) == 1 else None


def _is_same(node: ModelNode, stage: BuiltStage) -> bool:
    name, kind = base(node.name), base(stage.kind)
    if kind in READERS and name in ("FlatMap", "Interleave"):
        return True  # a reader of several files is a loop over them
    return name == kind or (name in _FUSED and _FUSED[name][0] == kind)


def _with_fused(node: ModelNode, built: Built, position: int) -> tuple[int, ...]:
    """The positions of both stages where a node runs two of them."""
    upper, lower = _FUSED.get(base(node.name), ("", ""))
    if base(built[position].kind) != upper:
        return (position,)
    for below in list(_chain(built, position))[1:]:
        if base(built[below].kind) == lower:
            return (position, below)
        if built[below].kind not in NOT_RUN:
            break
    return (position,)


def _all_below(nodes: Nodes, numbers: Iterable[int]) -> Iterable[int]:
    for number in numbers:
        if number in nodes:
            yield number
            yield from _all_below(nodes, nodes[number].inputs)
