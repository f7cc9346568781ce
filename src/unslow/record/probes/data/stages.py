"""Describes a tf.data pipeline as the program built it: each transformation, its line, settings and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unslow.record.probes.functions.signatures import code_place

PLACE = "_unslow_place"  # an attribute of a dataset: the user's frames when it was made, innermost first
_MOST_STAGES = 60
_MOST_OPS = 5000
_MOST_TYPES = 60
_SETTINGS = {
    "_buffer_size": "buffer_size",
    "_batch_size": "batch_size",
    "_num_parallel_calls": "parallel",
    "_cycle_length": "cycle_length",
    "_count": "count",
}
_RANDOM = (
    "Random",
    "Multinomial",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "SampleDistortedBoundingBox",
)
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
_FILES = ("ReadFile", "WholeFileReader")
_ENDLESS, _UNKNOWN = -1, -2  # lengths, as TensorFlow writes them
_SAME_LENGTH = ("Map", "ParallelMap", "Shuffle", "Prefetch", "Cache", "Options")


def describe(
    dataset: Any, keep_source: Callable[[str], None], graph: bool = False
) -> list[dict[str, Any]]:
    """The stages from the last to the sources; `inputs` are positions in this list.

    Attributes of datasets are private: what a version of TensorFlow does not have is left out. In a graph nothing is
    asked that would add an op to it.
    """
    stages: list[dict[str, Any]] = []
    _add(dataset, stages, keep_source, graph)
    return stages


def _add(
    dataset: Any, stages: list[dict[str, Any]], keep_source: Callable[[str], None], graph: bool
) -> int:
    dataset = _inner(dataset)
    position = len(stages)
    stage: dict[str, Any] = {"kind": _kind(dataset), "stack": list(getattr(dataset, PLACE, ()))[:4]}
    stages.append(stage)
    for attribute, name in _SETTINGS.items():
        value = _number(getattr(dataset, attribute, None))
        if value is not None:
            stage[name] = value
    seed = getattr(dataset, "_reshuffle_each_iteration", None)
    if seed is not None:
        stage["reshuffles"] = bool(seed)
    filename = _text(getattr(dataset, "_filename", None))
    if filename is not None:
        stage["file"] = filename
    size = _bytes(getattr(dataset, "element_spec", None))
    if size:
        stage["bytes"] = size
    _add_function(dataset, stage, keep_source)
    inputs = dataset._inputs() if hasattr(dataset, "_inputs") else ()
    stage["inputs"] = [
        _add(one, stages, keep_source, graph) for one in inputs if len(stages) < _MOST_STAGES
    ]
    length = _told_length(dataset, stage, stages) if graph else _cardinality(dataset)
    if length is not None:
        stage["length"] = length
    return position


def _inner(dataset: Any) -> Any:
    """The dataset itself where TensorFlow 1's interface is put around it."""
    while any(kind.__name__ == "DatasetV1Adapter" for kind in type(dataset).__mro__) and hasattr(
        dataset, "_dataset"
    ):
        dataset = dataset._dataset
    return dataset


def _kind(dataset: Any) -> str:
    name = type(dataset).__name__.lstrip("_")
    return name.removesuffix("V2").removesuffix("V1").removesuffix("Dataset") or name


def _add_function(dataset: Any, stage: dict[str, Any], keep_source: Callable[[str], None]) -> None:
    functions = dataset._functions() if hasattr(dataset, "_functions") else ()
    wrapper = next(iter(functions), None)
    if wrapper is None:
        return
    place = code_place(getattr(wrapper, "_func", None))
    stage["function"] = place
    keep_source(place[0])
    graph = getattr(getattr(wrapper, "function", None), "graph", None)
    types, tokens = _ops(graph)
    stage["ops"] = len(types)
    stage["tokens"] = tokens[:20]
    stage["types"] = sorted({kind for kind, _ in types})[:_MOST_TYPES]
    stage["scalars"] = _only_scalar_constants(graph)
    stage["python"] = any(kind in _PYTHON for kind, _ in types)
    stage["random"] = any(kind.startswith(_RANDOM) and stateful for kind, stateful in types)
    stage["files"] = any(kind in _FILES for kind, _ in types)
    stage["stateful"] = any(stateful for _, stateful in types)


def _ops(graph: Any) -> tuple[list[tuple[str, bool]], list[str]]:
    """A function's ops, those of the functions it calls included: type, whether it keeps a state; Python's tokens."""
    types: list[tuple[str, bool]] = []
    tokens: list[str] = []
    if graph is None:
        return types, tokens
    definition = graph.as_graph_def()
    stateful = {
        op.name: bool(getattr(op, "_is_stateful", False))
        for op in graph.get_operations()[:_MOST_OPS]
    }
    nodes = [(node, stateful.get(node.name, False)) for node in definition.node[:_MOST_OPS]]
    for function in definition.library.function:
        nodes += [
            (node, node.op.startswith(_RANDOM) or node.op in _PYTHON)
            for node in function.node_def[:_MOST_OPS]
        ]
    for node, keeps in nodes:
        types.append((node.op, keeps))
        if node.op in _PYTHON:
            tokens.append(node.attr["token"].s.decode("utf-8", "replace"))
    return types, tokens


def _cardinality(dataset: Any) -> int | None:
    """Elements in one pass; -1 without end, -2 where TensorFlow cannot tell."""
    try:
        return int(dataset.cardinality().numpy())
    except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError):
        return None


def _told_length(dataset: Any, stage: dict[str, Any], stages: list[dict[str, Any]]) -> int:
    """The same from what is known while a graph is built, where TensorFlow's own answer would be an op."""
    kind = stage["kind"]
    if kind == "TensorSlice":
        shapes = [tensor.shape for tensor in getattr(dataset, "_tensors", ())]
        lengths = [int(shape[0]) for shape in shapes if shape.rank and shape[0] is not None]
        return lengths[0] if lengths else _UNKNOWN
    if kind == "Range":
        ends = [_number(getattr(dataset, name, None)) for name in ("_start", "_stop", "_step")]
        return len(range(*ends)) if None not in ends and ends[2] else _UNKNOWN  # type: ignore[arg-type]
    below = (
        int(stages[stage["inputs"][0]].get("length", _UNKNOWN))
        if len(stage["inputs"]) == 1
        else _UNKNOWN
    )
    count = int(stage.get("count", _UNKNOWN))
    if kind == "Repeat" and below != _UNKNOWN and "count" in stage:
        return _ENDLESS if count < 0 or below == _ENDLESS else below * count
    if kind == "Take" and below != _UNKNOWN and count >= 0:
        return count if below == _ENDLESS else min(below, count)
    if kind in ("Batch", "ParallelBatch") and stage.get("batch_size"):
        return below if below < 0 else -(-below // int(stage["batch_size"]))
    return below if kind in _SAME_LENGTH else _UNKNOWN


def _only_scalar_constants(graph: Any) -> bool:
    if graph is None:
        return False
    constants = (op for op in graph.get_operations()[:_MOST_OPS] if op.type == "Const")
    return all(op.outputs[0].shape.rank == 0 for op in constants)


def _number(value: Any) -> int | None:
    """The value of a setting: a Python number or a scalar tensor."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value.numpy())
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        constant = _constant(value)
        return int(constant) if isinstance(constant, int) else None


def _text(value: Any) -> str | None:
    try:
        return str(value.numpy().decode("utf-8", "replace"))
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        constant = _constant(value)
        return constant.decode("utf-8", "replace") if isinstance(constant, bytes) else None


def _constant(tensor: Any) -> int | bytes | None:
    """A scalar constant of a graph, from its op: TensorFlow's own `constant_value` would forbid to feed it."""
    op: Any = getattr(tensor, "op", None)
    if getattr(op, "type", "") != "Const":
        return None
    value = op.get_attr("value")
    found = [*value.int64_val, *value.int_val, *value.string_val]
    return found[0] if len(found) == 1 else None


def _bytes(spec: Any) -> int:
    """The size of one element where its shape is known; 0 where it is not."""
    if isinstance(spec, dict):
        spec = tuple(spec.values())
    if isinstance(spec, list | tuple):
        sizes = [_bytes(part) for part in spec]
        return sum(sizes) if all(sizes) else 0
    shape, kind = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or kind is None or shape.rank is None or not shape.is_fully_defined():
        return 0
    return max(1, int(shape.num_elements() or 0)) * max(1, int(getattr(kind, "size", 1) or 1))
