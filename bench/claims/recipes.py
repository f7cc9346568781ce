"""The code examples of the documents, by their mechanism: whether each runs on today's TensorFlow."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from bench.claims.experiment import Experiment, Measured, Side
from bench.claims.lazy import keras, np, tf, tf1
from bench.claims.loops import small, trainer

_RAN: Measured = {}


def session_names(merged: bool) -> Measured:
    """Sessions by the names of TensorFlow 1, without its compatibility module."""
    with tf.Session() as session:
        fetches = [tf.constant(1.0), tf.constant(2.0)]
        if merged:
            session.run(fetches)
        else:
            [session.run(one) for one in fetches]
    return _RAN


def sessions(merged: bool) -> Measured:
    """The same through `tf.compat.v1`."""
    tf1.disable_v2_behavior()
    with tf1.Session() as session:
        fetches = [tf1.constant(1.0), tf1.constant(2.0)]
        if merged:
            session.run(fetches)
        else:
            [session.run(one) for one in fetches]
    return _RAN


def iterator_fed() -> Measured:
    """The tensor of an iterator given as a value to feed, through `tf.compat.v1`."""
    tf1.disable_v2_behavior()
    x = tf1.placeholder(tf1.float32, [None])
    element = tf1.data.make_one_shot_iterator(tf1.data.Dataset.from_tensors([1.0])).get_next()
    with tf1.Session() as session:
        session.run(x * 2.0, feed_dict={x: element})
    return _RAN


def one_shot_method() -> Measured:
    """The iterator made by a method of the dataset, as TensorFlow 1 had it."""
    tf.data.Dataset.from_tensors([1.0]).make_one_shot_iterator()
    return _RAN


def factor_loop(made_before: bool) -> Measured:
    x = tf.constant(1.0)
    for factor in [tf.constant(2.0)] * 5 if made_before else [2.0] * 5:
        x = x * factor
        tf.reduce_sum(x).numpy()
    return _RAN


def numpy_inside() -> Measured:
    def loop(count: int) -> Any:
        x = tf.constant(1.0)
        for _ in range(count):
            x = x * 2.0
            print(tf.reduce_sum(x).numpy())
        return x

    tf.function(loop)(5)
    return _RAN


def pipeline_loop() -> Measured:
    data = tf.data.Dataset.from_tensor_slices(np.ones((64, 16), "float32")).map(lambda x: x + 1.0)
    model, _ = small()
    for batch in data.shuffle(1000).batch(32).prefetch(tf.data.AUTOTUNE):
        trainer(model, batch, compiled=False)()
    return _RAN


def uncounted() -> Measured:
    """Accumulation whose test reads a counter that nothing defines."""
    weights = tf.Variable([1.0])
    for _ in range(8):
        with tf.GradientTape() as tape:
            loss = weights * 2.0
        total = tf.zeros_like(weights) + tape.gradient(loss, weights)
        if (counter + 1) % 8 == 0:  # type: ignore[name-defined]  # noqa: F821
            weights.assign_sub(total / 8.0)
    return _RAN


def policy() -> Measured:
    keras.mixed_precision.set_global_policy(keras.mixed_precision.Policy("mixed_float16"))
    trainer(*small(), compiled=True)()
    return _RAN


def step_of_arguments() -> Measured:
    """A compiled step that takes the model and the optimizer as arguments."""
    model, x = small()
    sgd = keras.optimizers.SGD()

    def step(model: Any, sgd: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.square(model(x))
        sgd.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        return loss

    call = tf.function(step)
    for _ in range(3):
        str(call(model, sgd, x).numpy())
    return _RAN


def saved_every(**how: Any) -> Measured:
    model, x = small()
    model.compile("sgd", "mse")
    name = how.pop("name", "{epoch:04d}.weights.h5")
    saver = keras.callbacks.ModelCheckpoint(filepath=name, save_weights_only=True, **how)
    model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[saver])
    return _RAN


def guessed_folder() -> Measured:
    """Removes a folder of temporary files by a guessed name; here the name is looked up only."""
    Path("guessed").exists()
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    return _RAN


def fitted(drawn: bool) -> Measured:
    dense = keras.layers.Dense(10, input_shape=[1], kernel_initializer="random_normal")
    model = keras.Sequential([dense])
    if drawn:
        normal = keras.initializers.RandomNormal()
        model.layers[0].set_weights([normal(shape=(1, 10)), normal(shape=(10,))])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.constant([[1.0], [2.0], [3.0]]), tf.ones([3, 10]), epochs=2, verbose=1)
    return _RAN


def global_optimizer() -> Measured:
    step = trainer(*small(), compiled=True, optimizer="sgd")
    for _ in range(3):
        step()
    return _RAN


SIDES: dict[str, Side] = {
    "two runs, TensorFlow 1 names": partial(session_names, False),
    "one run, TensorFlow 1 names": partial(session_names, True),
    "two runs, tf.compat.v1": partial(sessions, False),
    "one run, tf.compat.v1": partial(sessions, True),
    "iterator as a method": one_shot_method,
    "iterator's tensor fed, tf.compat.v1": iterator_fed,
    "factors in the loop": partial(factor_loop, False),
    "factors made before": partial(factor_loop, True),
    "numpy() in a tf.function": numpy_inside,
    "pipeline and eager loop": pipeline_loop,
    "accumulation with its counter undefined": uncounted,
    "mixed-precision policy": policy,
    "compiled step of arguments": step_of_arguments,
    "ModelCheckpoint(period=…)": partial(saved_every, period=5),
    "weights named .ckpt": partial(saved_every, name="cp-{epoch:04d}.ckpt"),
    "ModelCheckpoint(save_freq=…)": partial(saved_every, save_freq="epoch"),
    "cleaning up a guessed folder": guessed_folder,
    "fit of a linear model": partial(fitted, False),
    "fit with weights set by hand": partial(fitted, True),
    "compiled step of a global optimizer": global_optimizer,
}

EXPERIMENTS = (
    Experiment(
        "examples",
        "the code examples, each in our own words, run once",
        SIDES,
        {},
        pairs=1,
    ),
)
