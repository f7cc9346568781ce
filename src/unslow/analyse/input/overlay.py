"""Lays tf.data's own model over the pipeline that the program built: TensorFlow drops, fuses and adds stages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NOT_RUN = frozenset(("Options", "Variant", "Restructured", "Model", "DebugOptions", "Root"))
_SAME = {"FromTensor": "Tensor", "TFRecord": "TFRecord", "Sparse": "TensorSlice"}
_FUSED = {
    "MapAndBatch": ("Batch", "Map"),
    "ShuffleAndRepeat": ("Repeat", "Shuffle"),
    "MapAndFilter": ("Filter", "Map"),
}
READERS = frozenset(("TFRecord", "TextLine", "FixedLengthRecord"))
_FURTHEST = 6  # stages that a rewrite may have dropped in a row


def base(name: str) -> str:
    name = re.sub(r"V\d+$", "", name)
    name = re.sub(r"^(Parallel|Finite|Forever|Memory|File|Legacy|Empty)", "", name)
    return _SAME.get(name, name)


def _matches(node: Mapping[str, Any], stage: Mapping[str, Any]) -> bool:
    name, kind = base(str(node["name"])), base(str(stage["kind"]))
    if kind in READERS and name in (
        "FlatMap",
        "Interleave",
    ):  # a reader of several files is a loop over them
        return True
    return name == kind or (name in _FUSED and _FUSED[name][0] == kind)


_Match = tuple[
    Mapping[str, Any], list[int], list[int]
]  # node, positions in the program's list, nodes inside it


def aligned(
    nodes: Mapping[int, Any], number: int, built: Sequence[Mapping[str, Any]], at: int | None
) -> Iterable[_Match]:
    """Each node with the stages it came from, walking down from the output."""
    node = nodes.get(number)
    if node is None:
        return
    inputs = [int(one) for one in node["inputs"]]
    found = _found(nodes, node, built, at)
    if found is None:
        yield node, [], _below(nodes, inputs[1:])
        if inputs:
            yield from aligned(nodes, inputs[0], built, at)
        return
    positions = _fused(node, built, found)
    real = [int(one) for one in built[positions[-1]]["inputs"]]
    if (
        inputs
        and base(str(node["name"])) == "Cache"
        and str(nodes[inputs[0]]["name"]).endswith("CacheImpl")
    ):
        inputs = [int(one) for one in nodes[inputs[0]]["inputs"]]  # one cache, two nodes
    yield node, positions, _below(nodes, inputs[len(real) :])
    for child, position in zip(inputs, real, strict=False):
        yield from aligned(nodes, child, built, position)


def _found(
    nodes: Mapping[int, Any],
    node: Mapping[str, Any],
    built: Sequence[Mapping[str, Any]],
    at: int | None,
) -> int | None:
    """The stage that a node came from: the next one down that is of its kind, unless TensorFlow added the node."""
    if at is None:
        return None
    child = nodes.get(int(node["inputs"][0])) if node["inputs"] else None
    position: int | None = at
    for _ in range(_FURTHEST):
        if position is None:
            return None
        stage = built[position]
        if _matches(node, stage):
            return position
        added = node["name"] == "Prefetch" and child is not None and _matches(child, stage)
        if added or len(stage["inputs"]) != 1:
            return None
        position = int(stage["inputs"][0])
    return None


def _fused(node: Mapping[str, Any], built: Sequence[Mapping[str, Any]], position: int) -> list[int]:
    """One node for two stages: both of them."""
    fused = _FUSED.get(base(str(node["name"])))
    if fused is None or base(str(built[position]["kind"])) != fused[0]:
        return [position]
    below: int | None = position
    for _ in range(_FURTHEST):
        inputs = built[below]["inputs"] if below is not None else []
        below = int(inputs[0]) if inputs else None
        if below is None:
            return [position]
        if base(str(built[below]["kind"])) == fused[1]:
            return [position, below]
        if str(built[below]["kind"]) not in NOT_RUN:
            return [position]
    return [position]


def _below(nodes: Mapping[int, Any], numbers: Iterable[int]) -> list[int]:
    """Nodes and all that stand below them: pipelines that a stage makes per element."""
    found: list[int] = []
    for number in numbers:
        if number in nodes:
            found += [number, *_below(nodes, (int(one) for one in nodes[number]["inputs"]))]
    return found
