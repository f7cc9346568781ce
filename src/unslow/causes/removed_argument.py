"""Broken recipe: an argument or a method that Keras 3 and TensorFlow 2 no longer have."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.cause import Cause, Spot
from unslow.syntax import Kind, argument, canonical

if TYPE_CHECKING:
    from unslow.syntax import Source

_KERAS = "Keras 3 (TensorFlow 2.16 and later)"
_LEGACY = "TF_USE_LEGACY_KERAS"
_WEIGHT_FILES = (".weights.h5",)


@dataclass(frozen=True, slots=True)
class Gone:
    """What is gone, what happens with it (tried on TensorFlow 2.21 and Keras 3.15), and what does
    the work now."""

    what: str
    instead: str
    ignored: bool = False  # it does not raise: it is taken and has no effect

    def text(self, owner: str, thing: str) -> str:
        does = "ignores it" if self.ignored else "raises"
        return f"{owner} has no {thing} `{self.what}` any more: {_KERAS} {does}"


def _several(names: str, instead: str, ignored: bool = False) -> tuple[Gone, ...]:
    return tuple(Gone(name, instead, ignored) for name in names.split())


_OPTIMIZER = (
    Gone("lr", "learning_rate=..."),
    Gone(
        "decay",
        "learning_rate=keras.optimizers.schedules.InverseTimeDecay(...), or weight_decay=...",
        ignored=True,
    ),
    Gone("schedule_decay", "learning_rate=keras.optimizers.schedules.ExponentialDecay(...)"),
)
_LAYER = (
    Gone("batch_input_shape", "keras.Input(batch_shape=...) as the first layer"),
    *_several("W_regularizer", "kernel_regularizer=..."),
    *_several("b_regularizer", "bias_regularizer=..."),
    *_several("border_mode", "padding=..."),
    *_several("subsample", "strides=..."),
    *_several("dim_ordering", "data_format=..."),
    *_several("nb_filter", "filters=..."),
    *_several("nb_row nb_col", "kernel_size=(rows, columns)"),
    *_several("consume_less inner_init time_major", "leave it out"),
    *_several("virtual_batch_size", "leave it out"),
)
_WORKERS = _several(
    "workers use_multiprocessing max_queue_size",
    "give it to the data: keras.utils.PyDataset(workers=..., use_multiprocessing=..., "
    "max_queue_size=...)",
)
_SAVED = _several("signatures options save_traces", "model.export(path) writes a SavedModel")
_WEIGHTS = _several("save_format options", "leave it out: the name must end in .weights.h5")

# Calls by canonical name, `.*` for any class of a module.
_CALLS: dict[str, tuple[Gone, ...]] = {
    "keras.optimizers.*": _OPTIMIZER,
    "keras.layers.*": _LAYER,
    "keras.layers.Dense": _several("output_dim", "units=..."),
    "keras.layers.LSTM": _several("output_dim", "units=..."),
    "keras.layers.GRU": _several("output_dim", "units=..."),
    "keras.layers.Dropout": _several("p", "rate=..."),
    "keras.layers.BatchNormalization": _several(
        "fused", "leave it out: the fused kernel is chosen automatically"
    ),
    "keras.Input": _several("type_spec", "shape=..., dtype=..."),
    "keras.Model": (*_several("input", "inputs=..."), *_several("output", "outputs=...")),
    "keras.callbacks.ModelCheckpoint": (
        Gone(
            "period",
            "save_freq='epoch', or save_freq=<batches>: it counts batches, period counted epochs",
        ),
        Gone("load_weights_on_restart", "keras.callbacks.BackupAndRestore(folder)"),
        Gone("options", "leave it out"),
    ),
    "keras.callbacks.TensorBoard": _several(
        "write_grads batch_size embeddings_layer_names embeddings_data",
        "leave it out, or log it with tf.summary",
    ),
    "keras.callbacks.ReduceLROnPlateau": (Gone("epsilon", "min_delta=...", ignored=True),),
    "keras.utils.to_categorical": _several("nb_classes", "num_classes=..."),
    "keras.models.save_model": _SAVED,
    "keras.models.load_model": _several("options", "leave it out"),
    "keras.optimizers.LossScaleOptimizer": _several(
        "loss_scale", "leave it out: the scale is dynamic"
    ),
    "keras.mixed_precision.Policy": _several(
        "loss_scale", "compile() scales the loss automatically"
    ),
}
# Methods of a value of some kind: arguments that are gone, or the method itself under the name "".
_METHODS: dict[tuple[Kind, str], tuple[Gone, ...]] = {
    (Kind.MODEL, "fit"): (
        *_WORKERS,
        *_several("nb_epoch", "epochs=..."),
        *_several("show_accuracy", "metrics=[...]"),
    ),
    (Kind.MODEL, "evaluate"): _WORKERS,
    (Kind.MODEL, "predict"): _WORKERS,
    (Kind.MODEL, "compile"): (
        *_several("sample_weight_mode target_tensors experimental_run_tf_function", "leave it out"),
        *_several("experimental_steps_per_execution", "steps_per_execution=..."),
        *_several("class_mode", "loss=..."),
    ),
    (Kind.MODEL, "train_on_batch"): _several(
        "reset_metrics", "call model.reset_metrics() yourself"
    ),
    (Kind.MODEL, "test_on_batch"): _several("reset_metrics", "call model.reset_metrics() yourself"),
    (Kind.MODEL, "save"): _SAVED,
    (Kind.MODEL, "save_weights"): _WEIGHTS,
    (Kind.MODEL, "load_weights"): _several("options", "leave it out"),
    (Kind.OPTIMIZER, "apply_gradients"): _several(
        "experimental_aggregate_gradients skip_gradients_aggregation", "leave it out"
    ),
}
_GONE_METHODS: dict[tuple[Kind, str], str] = {
    (Kind.MODEL, "fit_generator"): "model.fit(generator, ...)",
    (Kind.MODEL, "evaluate_generator"): "model.evaluate(generator, ...)",
    (Kind.MODEL, "predict_generator"): "model.predict(generator, ...)",
    (Kind.MODEL, "predict_classes"): "model.predict(x).argmax(axis=-1)",
    (Kind.MODEL, "predict_proba"): "model.predict(x)",
    (Kind.MODEL, "reset_states"): "layer.reset_state() of each stateful layer",
    (Kind.METRIC, "reset_states"): "metric.reset_state()",
    (
        Kind.OPTIMIZER,
        "get_weights",
    ): "optimizer.variables, or tf.train.Checkpoint(optimizer=optimizer)",
    (Kind.OPTIMIZER, "get_updates"): "optimizer.apply_gradients(...) under a tf.GradientTape",
    (Kind.OPTIMIZER, "get_gradients"): "tape.gradient(loss, variables)",
    (Kind.OPTIMIZER, "minimize"): "tf.GradientTape and optimizer.apply_gradients(...)",
    (Kind.OPTIMIZER, "get_scaled_loss"): "optimizer.scale_loss(loss)",
    (Kind.OPTIMIZER, "get_unscaled_gradients"): "leave it out: apply_gradients unscales",
    (
        Kind.DATASET,
        "make_one_shot_iterator",
    ): "for batch in dataset, or tf.compat.v1.data.make_one_shot_iterator",
    (
        Kind.DATASET,
        "make_initializable_iterator",
    ): "for batch in dataset, or the function of the same name in tf.compat.v1.data",
}
_GONE_CALLS: dict[str, str] = {
    "keras.mixed_precision.experimental.set_policy": "keras.mixed_precision.set_global_policy(...)",
    "keras.mixed_precision.experimental.Policy": "keras.mixed_precision.Policy(...)",
    "keras.utils.multi_gpu_model": "with tf.distribute.MirroredStrategy().scope(): ...",
    "keras.layers.CuDNNLSTM": "keras.layers.LSTM(...), which uses the cuDNN kernel automatically",
    "keras.layers.CuDNNGRU": "keras.layers.GRU(...), which uses the cuDNN kernel automatically",
    "keras.backend.set_session": "tf.config for devices and memory; Keras has no session",
    "keras.backend.get_session": "leave it out; Keras has no session",
}


class RemovedArgument(Cause):
    """
    What happens

    The code passes an argument, or calls a method, that Keras 1 or 2 or TensorFlow 1 had and that
    no longer exists: `ModelCheckpoint(period=5)`, `Adam(lr=0.1)`, `model.fit_generator(…)`, a
    weights file that does not end in `.weights.h5`, `optimizer.lr = 0.1`.

    Why it is slow

    It does not do what it says. Most of these raise when they are reached, which for a checkpoint
    may be after hours; some are ignored, so that the learning rate, for example, stays what it was.
    Each was tried on TensorFlow 2.21 with Keras 3.15.

    The fix

    The argument or method that does the work in Keras 3; the spot names it. `save_freq` of
    `ModelCheckpoint` counts batches, `period` counted epochs.

    When we are wrong

    With TensorFlow before 2.16, with `tf_keras`, or where `TF_USE_LEGACY_KERAS=1` is set outside
    the file: there `keras` is Keras 2 and still takes many of these.
    """

    title = "an argument or method that no longer exists"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        if _is_legacy(source):
            return
        for call in source.every(ast.Call):
            found = [*_by_name(source, call), *_by_kind(source, call), *_by_file_name(source, call)]
            if found and not source.guarded(call):
                yield from found
        yield from _learning_rates(source)


def _by_name(source: Source, call: ast.Call) -> Iterator[Spot]:
    name = source.name(call.func)
    if not name.startswith("keras.") or _is_keras_2(source.full_name(call.func)):
        return
    short = name.rpartition(".")[2]
    if name in _GONE_CALLS:
        yield source.spot(call, f"`{short}` is gone: {_KERAS} raises", _GONE_CALLS[name])
    if name.startswith("keras.optimizers.legacy."):
        yield source.spot(
            call, f"`{name}` is gone: {_KERAS} raises", f"keras.optimizers.{short}(...)"
        )
        return
    rows = _CALLS.get(name, ())
    if short[:1].isupper() and short != "InputLayer":
        rows += _CALLS.get(name.rpartition(".")[0] + ".*", ())
    yield from _given(source, call, rows, f"`{short}`")


def _by_kind(source: Source, call: ast.Call) -> Iterator[Spot]:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHOD_NAMES:
        return
    kind, method = source.kind(call.func.value), call.func.attr
    if (kind, method) in _GONE_METHODS and _is_todays(source, call.func.value, kind, method):
        since = "TensorFlow 2" if kind is Kind.DATASET else _KERAS
        article = "an" if kind is Kind.OPTIMIZER else "a"
        what = f"{article} {kind.value} has no method `{method}` any more"
        text = f"{what}: {since} raises AttributeError"
        yield source.spot(call, text, _GONE_METHODS[kind, method])
    rows = _METHODS.get((kind, method), ())
    if rows and _is_todays(source, call.func.value, kind, method):
        yield from _given(source, call, rows, f"`{method}`")


_METHOD_NAMES = {method for _, method in (*_METHODS, *_GONE_METHODS)}


def _given(source: Source, call: ast.Call, rows: tuple[Gone, ...], owner: str) -> Iterator[Spot]:
    for keyword in call.keywords:
        for row in rows:
            if keyword.arg == row.what:
                yield source.spot(keyword, row.text(owner, "argument"), row.instead)


def _is_keras_2(full_name: str) -> bool:
    return full_name.startswith(("tf_keras", "tensorflow.compat.v1", "tensorflow.python"))


def _is_todays(source: Source, value: ast.expr, kind: Kind, method: str) -> bool:
    """Whether an object is of TensorFlow 2 or Keras 3, and its method is not the user's own."""
    owner = source.class_of(value)
    if owner is not None:
        return not owner.source.class_attribute(owner.node, method) and not _is_legacy(owner.source)
    if kind is Kind.OPTIMIZER and isinstance(value, ast.Attribute) and value.attr == "optimizer":
        return True  # of a model, or it would not be known as an optimizer
    made = source.maker(value)
    name = source.full_name(made.func) if made is not None else ""
    if kind is Kind.DATASET:
        is_version_1 = any(source.calls("tf.disable_v2_behavior"))
        return name.startswith("tensorflow.data.") and not is_version_1
    if _is_keras_2(name):
        return False
    if kind is Kind.OPTIMIZER:
        return canonical(name).startswith("keras.") and ".legacy." not in name
    return True


def _is_legacy(source: Source) -> bool:
    """Whether a file asks for Keras 2."""
    asked = any(constant.value == _LEGACY for constant in source.every(ast.Constant))
    return asked or any(target.partition(".")[0] == "tf_keras" for target in source.imported)


def _by_file_name(source: Source, call: ast.Call) -> Iterator[Spot]:
    """Names of files whose ending decides the format: any other ending raises."""
    match call.func:
        case ast.Attribute(attr="save" | "save_weights" as method, value=model):
            is_model = source.kind(model) is Kind.MODEL
            if is_model and _is_todays(source, model, Kind.MODEL, method):
                path = argument(call, "filepath", 0)
                if method == "save":
                    yield from _model_file(source, call, path)
                else:
                    yield from _ending(source, path, _WEIGHT_FILES)
            return
    if _is_keras_2(source.full_name(call.func)):
        return
    match source.name(call.func):
        case "keras.models.save_model":
            yield from _model_file(source, call, argument(call, "filepath", 1))
        case "keras.callbacks.ModelCheckpoint":
            path = argument(call, "filepath", 0)
            match argument(call, "save_weights_only", 4):
                case ast.Constant(value=True):
                    yield from _ending(source, path, _WEIGHT_FILES)
                case None | ast.Constant():
                    yield from _ending(source, path, (".keras", ".h5"))


def _model_file(source: Source, call: ast.Call, path: ast.expr | None) -> Iterator[Spot]:
    if argument(call, "zipped", 3) is None:
        yield from _ending(source, path, (".keras", ".h5", ".hdf5"))


def _ending(source: Source, path: ast.expr | None, allowed: tuple[str, ...]) -> Iterator[Spot]:
    known = source.ending_of(path)
    whole = source.text_of(path) is not None
    if path is None or not known or known.startswith("hf://"):
        return
    # Where only the end is known, the part before it may complete an allowed ending.
    may_be_completed = not whole and any(ending.endswith(known) for ending in allowed)
    if not known.endswith(allowed) and not may_be_completed:
        wanted = " or ".join(allowed[:2])
        text = f"the file name must end in {wanted}: {_KERAS} raises ValueError for any other"
        yield source.spot(path, text, f"a name that ends in {allowed[0]}")


def _learning_rates(source: Source) -> Iterator[Spot]:
    """`optimizer.lr`: reading it raises, and setting it makes an attribute that nothing reads."""
    for node in source.every(ast.Attribute):
        if node.attr != "lr" or source.kind(node.value) is not Kind.OPTIMIZER:
            continue
        if _is_todays(source, node.value, Kind.OPTIMIZER, "lr") and not source.guarded(node):
            is_set = isinstance(node.ctx, ast.Store)
            does = "sets an attribute that nothing reads" if is_set else "raises AttributeError"
            text = f"an optimizer has no `lr` any more: with {_KERAS} this {does}"
            yield source.spot(node, text, "optimizer.learning_rate")
