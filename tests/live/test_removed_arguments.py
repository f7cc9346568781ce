"""The tables of removed-argument against the Keras that is installed: each row raises, or is taken and ignored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.live.conftest import environment
from unslow.causes.removed_argument import _CALLS, _GONE_CALLS, _GONE_METHODS, _METHODS

_TRY = """
import inspect, json, sys
import keras
import numpy as np
import tensorflow as tf

rows = json.loads(sys.argv[1])
wrong = []
NEEDED = {
    "Dense": [1], "LSTM": [1], "GRU": [1], "Dropout": [0.5], "ModelCheckpoint": ["a.keras"], "TensorBoard": ["logs"],
    "to_categorical": [[1]], "load_model": ["none.keras"], "Policy": ["mixed_float16"], "Input": [(3,)],
    "BatchNormalization": [], "ReduceLROnPlateau": [], "Model": [], "LossScaleOptimizer": [keras.optimizers.SGD()],
}


def rejects(call):
    try:
        call()
    except (TypeError, ValueError, AttributeError, ImportError):
        return True
    return False


def find(name):
    thing = keras
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def model():
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


X, Y = np.zeros((4, 3), "float32"), np.zeros((4, 1), "float32")
OBJECTS = {
    "model": model(), "optimizer": keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
    "metric": keras.metrics.Mean(), "dataset": tf.data.Dataset.range(3),
}
GIVEN = {"fit": [X, Y], "evaluate": [X, Y], "predict": [X], "compile": [], "train_on_batch": [X, Y],
         "test_on_batch": [X, Y], "save": ["m.keras"], "save_weights": ["m.weights.h5"],
         "load_weights": ["m.weights.h5"], "apply_gradients": [[]]}
for name, what, ignored in rows["calls"]:
    if name.endswith(".*"):
        module = find(name[:-2])
        classes = [item for key, item in vars(module).items() if inspect.isclass(item) and key != "InputLayer"]
        names = [item.__name__ for item in classes if what in inspect.signature(item.__init__).parameters]
        if names:
            wrong.append(f"{name} {what} is a parameter of {names}")
        continue
    thing = find(name)
    arguments = [model(), "m.keras"] if name == "keras.models.save_model" else NEEDED[name.rpartition(".")[2]]
    if name.endswith("load_model"):
        model().save("none.keras")
    if rejects(lambda: thing(*arguments, **{what: 1})) == ignored:
        wrong.append(f"{name} {what}")
for kind, method, what in rows["methods"]:
    OBJECTS["model"].save_weights("m.weights.h5")
    if not rejects(lambda: getattr(OBJECTS[kind], method)(*GIVEN[method], **{what: 1})):
        wrong.append(f"{kind}.{method} {what}")
    if rejects(lambda: getattr(OBJECTS[kind], method)(*GIVEN[method])) and method != "apply_gradients":
        wrong.append(f"{kind}.{method} cannot be tried")
wrong += [f"{kind}.{method}" for kind, method in rows["gone"] if hasattr(OBJECTS[kind], method)]
for name in rows["gone_calls"]:
    if not rejects(lambda: find(name)("mixed_float16")):
        wrong.append(name)
for kind in (keras.optimizers.SGD, keras.optimizers.Adam, keras.optimizers.RMSprop, keras.optimizers.Ftrl):
    if not rejects(lambda: kind(lr=0.1)) or rejects(lambda: kind(decay=0.1)):
        wrong.append(kind.__name__)
for layer in (keras.layers.Dense, keras.layers.LSTM):
    for what in ("batch_input_shape", "W_regularizer", "border_mode", "consume_less"):
        if not rejects(lambda: layer(1, **{what: None})):
            wrong.append(f"{layer.__name__} {what}")
if not rejects(lambda: keras.optimizers.legacy.Adam()) or not rejects(lambda: keras.optimizers.SGD().lr):
    wrong.append("legacy or lr")
held = keras.optimizers.SGD(0.5)
held.lr = 0.1
if float(held.learning_rate) != 0.5:
    wrong.append("setting lr has an effect")
for path, only in (("a.ckpt", True), ("a.h5", True), ("a", False), ("a.hdf5", False)):
    if not rejects(lambda: keras.callbacks.ModelCheckpoint(path, save_weights_only=only)):
        wrong.append(f"ModelCheckpoint {path}")
for save, path in (("save", "folder"), ("save", "a.tf"), ("save_weights", "a.h5"), ("save_weights", "a.ckpt")):
    if not rejects(lambda: getattr(model(), save)(path)):
        wrong.append(f"{save} {path}")
for save, path in (("save", "a.keras"), ("save", "a.h5"), ("save", "a.hdf5"), ("save_weights", "a.weights.h5")):
    if rejects(lambda: getattr(model(), save)(path)):
        wrong.append(f"{save} {path}")
print(json.dumps(wrong))
"""


def test_every_row_raises_or_is_ignored_as_the_table_says(tmp_path: Path) -> None:
    rows = {
        "calls": [
            [name, gone.what, gone.ignored] for name, group in _CALLS.items() for gone in group
        ],
        "methods": [
            [kind.value, method, gone.what]
            for (kind, method), group in _METHODS.items()
            for gone in group
        ],
        "gone": [[kind.value, method] for kind, method in _GONE_METHODS],
        "gone_calls": list(_GONE_CALLS),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _TRY, json.dumps(rows)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []
