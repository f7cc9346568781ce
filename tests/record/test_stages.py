"""A pipeline in a graph is described without adding an op to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from unslow.facts.data import BuiltStage
from unslow.record.probes.data.stages import Sources, describe


def constant(value: int | bytes, dtype: str = "int64_val") -> Any:
    fields: dict[str, list[int | bytes]] = {"int64_val": [], "int_val": [], "string_val": []}
    fields[dtype].append(value)
    return SimpleNamespace(
        op=SimpleNamespace(type="Const", get_attr=lambda _: SimpleNamespace(**fields))
    )


class Shape(list[int | None]):
    @property
    def rank(self) -> int:
        return len(self)


class Dataset:
    def __init__(self, *inputs: Any, **attributes: Any) -> None:
        self._below = inputs
        self.__dict__.update(attributes)

    def _inputs(self) -> tuple[Any, ...]:
        return self._below

    def cardinality(self) -> int:
        raise AssertionError("this would add an op to the graph")


def kind(name: str) -> type[Dataset]:
    return type(name, (Dataset,), {})


class DatasetV1Adapter(Dataset):
    """What TensorFlow 1's interface puts around every dataset."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__(*dataset._inputs())
        self._dataset = dataset


SLICES = DatasetV1Adapter(
    kind("_TensorSliceDataset")(_tensors=[SimpleNamespace(shape=Shape([50, 3]))])
)


def described(*chain: tuple[str, dict[str, Any]]) -> tuple[BuiltStage, ...]:
    dataset: Dataset = SLICES
    for name, attributes in chain:
        dataset = DatasetV1Adapter(kind(name)(dataset, **attributes))
    return describe(dataset, Sources(lambda _: (), lambda _: None), graph=True)


def test_the_interface_of_tensorflow_1_is_looked_through() -> None:
    stages = described(("_ShuffleDataset", {"_buffer_size": constant(20)}), ("_MapDataset", {}))
    assert [stage.kind for stage in stages] == ["Map", "Shuffle", "TensorSlice"]


def test_settings_are_read_from_constants_of_the_graph() -> None:
    stages = described(
        ("_CacheDataset", {"_filename": constant(b"/tmp/cache", "string_val")}),
        ("_BatchDataset", {"_batch_size": constant(8, "int_val")}),
    )
    assert (stages[0].batch_size, stages[1].file) == (8, "/tmp/cache")


def test_a_setting_that_the_graph_computes_is_left_out() -> None:
    fed = SimpleNamespace(op=SimpleNamespace(type="Placeholder"))
    assert described(("_ShuffleDataset", {"_buffer_size": fed}))[0].buffer_size is None


@pytest.mark.parametrize(
    ("name", "attributes", "length"),
    [
        ("_MapDataset", {}, 50),
        ("_BatchDataset", {"_batch_size": constant(8)}, 7),
        ("_TakeDataset", {"_count": constant(20)}, 20),
        ("_RepeatDataset", {"_count": constant(3)}, 150),
        ("_RepeatDataset", {"_count": constant(-1)}, -1),
        ("_FilterDataset", {}, -2),
    ],
)
def test_the_length_of_a_pass_follows_from_the_stages(
    name: str, attributes: dict[str, Any], length: int
) -> None:
    assert described((name, attributes))[0].length == length
