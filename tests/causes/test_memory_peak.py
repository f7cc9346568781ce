"""The edits that make a peak of memory smaller."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.cut import Cut, Reason
from unslow.analyse.sketches.sketch import Sketch, at, stack_at
from unslow.causes.memory_peak import MemoryPeak
from unslow.facts.memory import Holding, Inventory, MemoryHigh, Weights
from unslow.fix.edit.script import CannotEdit, Script
from unslow.model import Finding, Fix, Location, Refusal

SOURCE = """\
import numpy as np
from keras.utils import to_categorical

images = load()
x = np.stack(images)
y = to_categorical(labels, 1000)
z = np.random.randn(1000, 1000)
model.compile("adam", loss="categorical_crossentropy")
model.fit(x, y)
p = model.predict(x, batch_size=len(x))
"""


def answered(cut: Cut, line: int, source: str = SOURCE) -> Fix | Refusal | None:
    finding = Finding("memory-peak", "title", Location("train.py", line), 0.0, (), detail=cut)
    return MemoryPeak().fix(finding, Script("train.py", source))


def lines_of(answer: object) -> list[str]:
    assert isinstance(answer, Fix)
    return answer.files["train.py"].splitlines()


def test_a_batch_of_predict_becomes_that_of_fit() -> None:
    cut = Cut(Reason.BATCH, 1e9, None, "predict", instead="32")
    assert lines_of(answered(cut, 10))[9] == "p = model.predict(x, batch_size=32)"


def test_a_copy_is_dropped_behind_the_line_that_reads_it_last() -> None:
    cut = Cut(Reason.COPY, 1e9, None, "images", instead="x", after=5)
    assert lines_of(answered(cut, 4))[4:6] == ["x = np.stack(images)", "del images"]


def test_a_copy_is_not_dropped_where_both_were_needed_at_the_peak() -> None:
    cut = Cut(Reason.COPY, 1e9, None, "images", instead="x", after=5, dropped=1e8)
    answer = answered(cut, 4)
    assert isinstance(answer, Refusal) and "both needed" in answer.reason


def test_labels_stay_integers_and_the_loss_becomes_the_sparse_one() -> None:
    lines = lines_of(answered(Cut(Reason.ONE_HOT, 1e9, None, "y"), 6))
    assert lines[5] == "y = np.asarray(labels)"
    assert lines[7] == 'model.compile("adam", loss="sparse_categorical_crossentropy")'


def test_labels_that_are_an_array_stay_what_they_are() -> None:
    source = SOURCE.replace("(labels, 1000)", "(np.array(labels), 1000)")
    lines = lines_of(answered(Cut(Reason.ONE_HOT, 1e9, None, "y"), 6, source))
    assert lines[5] == "y = np.array(labels)"


def test_labels_are_left_alone_where_the_loss_is_not_written_out() -> None:
    source = SOURCE.replace('"categorical_crossentropy"', "LOSS")
    with pytest.raises(CannotEdit, match="is written out nowhere"):
        answered(Cut(Reason.ONE_HOT, 1e9, None, "y"), 6, source)


def test_metrics_of_one_hot_labels_become_sparse_as_well() -> None:
    given = 'keras.losses.CategoricalCrossentropy(), metrics=["categorical_accuracy", "acc"]'
    source = "import keras\n" + SOURCE.replace('"categorical_crossentropy"', given)
    lines = lines_of(answered(Cut(Reason.ONE_HOT, 1e9, None, "y"), 7, source))
    sparse = 'SparseCategoricalCrossentropy(), metrics=["sparse_categorical_accuracy", "acc"]'
    assert lines[8] == f'model.compile("adam", loss=keras.losses.{sparse})'


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        ("classes = y.shape[1]\n", "read by its columns"),
        ("truth = np.argmax(y, axis=1)\n", "read by its columns"),
        ("model.compile(metrics=[keras.metrics.AUC()])\n", "`AUC` compares the columns"),
        ("loss = Loss(label_smoothing=0.1)\n", "smooths its labels"),
    ],
)
def test_labels_whose_columns_are_read_stay(added: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        answered(Cut(Reason.ONE_HOT, 1e9, None, "y"), 6, SOURCE + added)


def test_data_begins_as_float32() -> None:
    lines = lines_of(answered(Cut(Reason.WIDE, 1e9, None, "z"), 7))
    assert lines[6] == 'z = np.random.randn(1000, 1000).astype("float32")'


def test_arrays_in_a_graph_become_tensors_outside_of_it() -> None:
    source = "import tensorflow as tf\ntable = load()\n@tf.function\ndef f(i):\n"
    cut = Cut(Reason.CONSTANT, 1e9, None, "88 MB")
    lines = lines_of(answered(cut, 5, f"{source}    return tf.gather(table, i)\n"))
    assert "table_tensor = tf.constant(table)" in lines


def test_a_dataset_of_one_element_has_no_edit() -> None:
    assert answered(Cut(Reason.ONE_ELEMENT, 1e9, None, "88 MB"), 9) is None


CALLED = """\
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
a = model(prep(x), training=False).numpy()
b = model(prep(z), training=False).numpy()
c = model(prep(z), training=True).numpy()
d = model(prep(x))
e = tf.nn.softmax(model(x)).numpy()
for rows in batches:
    f = model(rows).numpy()
"""


def called(line: int) -> Fix | Refusal | None:
    cut = Cut(Reason.CALL, 1e9, None, "Sequential", instead="32", rows="640")
    return answered(cut, line, CALLED)


def test_a_model_that_is_called_with_all_rows_predicts_in_batches() -> None:
    lines = lines_of(called(4))
    assert lines[3:6] == [
        "a = model.predict(prep(x), batch_size=32, verbose=0)",
        "b = model.predict(prep(z), batch_size=32, verbose=0)",
        "c = model(prep(z), training=True).numpy()",
    ]
    assert lines[6:] == CALLED.splitlines()[6:]


@pytest.mark.parametrize("line", [6, 7, 8])
def test_a_call_stays_where_predict_gives_something_else(line: int) -> None:
    with pytest.raises(CannotEdit):
        called(line)


SPLIT = """\
x = np.random.randn(1000, 50)
y = to_categorical(labels)
order = np.random.permutation(1000)
x_train, y_train = x[order[100:]], y[order[100:]]
x_test, y_test = x[order[:100]], y[order[:100]]
model.fit(x_train, y_train)
"""


def test_the_rows_of_a_split_belong_to_the_array_that_they_were_taken_from() -> None:
    size = {"x": 5e8, "x_train": 4e8, "y": 8e8, "y_train": 7e8, "y_test": 1e8}
    held = [
        Holding(
            path=name,
            file="train.py",
            function="<module>",
            bytes=bytes_,
            dtype="float64",
            shape=(int(bytes_ / 8e5), 100),
            one_hot=name[0] == "y",
            fed="fit" if name.endswith("_train") else "",
        )
        for name, bytes_ in size.items()
    ]
    facts = [
        at(1, MemoryHigh(bytes=4e9, stack=stack_at(3))),
        at(1, Inventory(held=tuple(held))),
        at(1, Weights(bytes=1e6)),
    ]
    run = Sketch("a split", facts=facts, ticks={"rss": [5e8, 4e9]}, source=SPLIT).run()
    found = list(MemoryPeak().detect(run))
    assert [str(each.location) for each in found] == ["train.py:2", "train.py:1"]
    assert [each.frees for each in found] == pytest.approx([1.6e9, 4.5e8])
