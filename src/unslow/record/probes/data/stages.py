"""Describes a tf.data pipeline as the program built it: each stage, its line and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from unslow.facts.data import ENDLESS, UNKNOWN_LENGTH, BuiltStage
from unslow.facts.schema import Place, Stack
from unslow.record.engine.foreign import Foreign
from unslow.record.probes.functions.signatures import code_place

_MOST_STAGES = 60
_MOST_OPS = 5000
_MOST_TYPES = 60
_MOST_TOKENS = 20
_MOST_FRAMES = 4
# Private attributes of datasets on 2.15 to 2.21; a setting that a version lacks is left out.
_SETTINGS = {"_buffer_size": "buffer_size", "_batch_size": "batch_size", "_count": "count"}
_RANDOM = (
    "Random",
    "Multinomial",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "SampleDistortedBoundingBox",
)
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
_FILES = ("ReadFile", "WholeFileReader")
_SAME_LENGTH = ("Map", "ParallelMap", "Shuffle", "Prefetch", "Cache", "Options")


class Sources(NamedTuple):
    """What a description asks about the program: the frames that made a dataset, its files."""

    made_at: Callable[[Foreign], Stack]
    keep: Callable[[str], None]


def describe(dataset: object, sources: Sources, graph: bool = False) -> tuple[BuiltStage, ...]:
    """The stages from the last to the sources; nothing is called that adds an op to a graph."""
    description = _Description(sources, graph)
    description.add(dataset)
    return tuple(BuiltStage(**stage) for stage in description.stages)


class _Description:
    def __init__(self, sources: Sources, graph: bool) -> None:
        self.stages: list[dict[str, Foreign]] = []
        self._sources = sources
        self._graph = graph

    def add(self, dataset: Foreign) -> int:
        """Append a dataset and all its inputs; its position in the list."""
        dataset = _unwrapped(dataset)
        position = len(self.stages)
        stage: dict[str, Foreign] = {"kind": _kind(dataset)}
        self.stages.append(stage)
        stage["stack"] = self._sources.made_at(dataset)[:_MOST_FRAMES]
        stage["file"] = _text(getattr(dataset, "_filename", None))
        stage["bytes"] = _bytes(getattr(dataset, "element_spec", None))
        for attribute, name in _SETTINGS.items():
            stage[name] = _number(getattr(dataset, attribute, None))
        stage.update(self._function(dataset))
        inputs = dataset._inputs() if hasattr(dataset, "_inputs") else ()
        stage["inputs"] = tuple(self.add(one) for one in inputs if len(self.stages) < _MOST_STAGES)
        if self._graph:
            below = [self.stages[number]["length"] for number in stage["inputs"]]
            stage["length"] = _derived_length(dataset, stage, below)
        else:
            stage["length"] = _cardinality(dataset)
        return position

    def _function(self, dataset: Foreign) -> dict[str, Foreign]:
        functions = dataset._functions() if hasattr(dataset, "_functions") else ()
        wrapper = next(iter(functions), None)
        if wrapper is None:
            return {}
        place = Place(*code_place(getattr(wrapper, "_func", None)))
        self._sources.keep(place.file)
        graph = getattr(getattr(wrapper, "function", None), "graph", None)
        nodes = _nodes(graph) if graph is not None else []
        types = {node.op for node, _ in nodes}
        calls = [node for node, _ in nodes if node.op in _PYTHON]
        tokens = [node.attr["token"].s.decode("utf-8", "replace") for node in calls]
        return {
            "function": place,
            "tokens": tuple(tokens[:_MOST_TOKENS]),
            "types": tuple(sorted(types)[:_MOST_TYPES]),
            "scalars": graph is not None and _only_scalar_constants(graph),
            "python": bool(calls),
            "random": any(node.op.startswith(_RANDOM) and stateful for node, stateful in nodes),
            "files": not types.isdisjoint(_FILES),
        }


def _unwrapped(dataset: Foreign) -> Foreign:
    """The dataset itself where TensorFlow 1's interface is put around it."""
    while any(kind.__name__ == "DatasetV1Adapter" for kind in type(dataset).__mro__):
        if not hasattr(dataset, "_dataset"):
            break
        dataset = dataset._dataset
    return dataset


def _kind(dataset: object) -> str:
    name = type(dataset).__name__.lstrip("_")
    return name.removesuffix("V2").removesuffix("V1").removesuffix("Dataset") or name


def _nodes(graph: Foreign) -> list[tuple[Foreign, bool]]:
    """A function's nodes and those of functions it calls, and whether each keeps a state."""
    definition = graph.as_graph_def()
    operations = graph.get_operations()[:_MOST_OPS]
    stateful = {op.name: bool(getattr(op, "_is_stateful", False)) for op in operations}
    nodes = [(node, stateful.get(node.name, False)) for node in definition.node[:_MOST_OPS]]
    for function in definition.library.function:
        nodes += [(node, node.op.startswith(_RANDOM)) for node in function.node_def[:_MOST_OPS]]
    return nodes


def _cardinality(dataset: Foreign) -> int:
    """Elements in one pass."""
    try:
        return int(dataset.cardinality().numpy())
    except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError):
        return UNKNOWN_LENGTH


def _derived_length(dataset: object, stage: dict[str, Foreign], below: Sequence[int]) -> int:
    """Elements in one pass as known while a graph is built, where `cardinality()` adds an op."""
    if stage["kind"] == "TensorSlice":
        return _slices_length(dataset)
    if stage["kind"] == "Range":
        return _range_length(dataset)
    length = below[0] if len(below) == 1 else UNKNOWN_LENGTH
    return length if length == UNKNOWN_LENGTH else _length_after(stage, length)


def _length_after(stage: dict[str, Foreign], length: int) -> int:
    """Elements in one pass of a stage whose input has a known length."""
    kind: str = stage["kind"]
    count: int | None = stage["count"]
    if kind in _SAME_LENGTH:
        return length
    if kind == "Repeat" and count is not None:
        return ENDLESS if count < 0 or length == ENDLESS else length * count
    if kind == "Take" and count is not None and count >= 0:
        return count if length == ENDLESS else min(length, count)
    if kind in ("Batch", "ParallelBatch") and stage["batch_size"]:
        return length if length == ENDLESS else -(-length // int(stage["batch_size"]))
    return UNKNOWN_LENGTH


def _slices_length(dataset: object) -> int:
    shapes = [tensor.shape for tensor in getattr(dataset, "_tensors", ())]
    lengths = [int(shape[0]) for shape in shapes if shape.rank and shape[0] is not None]
    return lengths[0] if lengths else UNKNOWN_LENGTH


def _range_length(dataset: object) -> int:
    ends = [_number(getattr(dataset, name, None)) for name in ("_start", "_stop", "_step")]
    known = [end for end in ends if end is not None]
    return len(range(*known)) if len(known) == len(ends) and known[2] else UNKNOWN_LENGTH


def _only_scalar_constants(graph: Foreign) -> bool:
    constants = (op for op in graph.get_operations()[:_MOST_OPS] if op.type == "Const")
    return all(op.outputs[0].shape.rank == 0 for op in constants)


def _number(value: Foreign) -> int | None:
    """The value of a setting: a Python number or a scalar tensor."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value.numpy())
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        constant = _constant(value)
        return constant if isinstance(constant, int) else None


def _text(value: Foreign) -> str:
    try:
        return str(value.numpy().decode("utf-8", "replace"))
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        constant = _constant(value)
        return constant.decode("utf-8", "replace") if isinstance(constant, bytes) else ""


def _constant(tensor: object) -> int | bytes | None:
    """A scalar constant of a graph, from its op: `constant_value` would forbid feeding it."""
    op: Foreign = getattr(tensor, "op", None)
    if getattr(op, "type", "") != "Const":
        return None
    value = op.get_attr("value")
    found = [*value.int64_val, *value.int_val, *value.string_val]
    return found[0] if len(found) == 1 else None


def _bytes(spec: Foreign) -> int:
    """The size of one element; 0 where its shape is not known."""
    if isinstance(spec, dict):
        spec = tuple(spec.values())
    if isinstance(spec, list | tuple):
        sizes = [_bytes(part) for part in spec]
        return sum(sizes) if all(sizes) else 0
    shape, kind = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or kind is None or not shape.is_fully_defined():
        return 0
    return max(1, int(shape.num_elements() or 0)) * max(1, int(getattr(kind, "size", 1) or 1))
