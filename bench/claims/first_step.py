"""The first step: how much longer it is, of what it consists, and what changes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, each, seconds
from bench.claims.lazy import keras, np, tf, tf1


def linear() -> tuple[Any, Any, Any]:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    return model, np.ones((3, 1), "float32"), np.ones((3, 1), "float32")


def pictures() -> tuple[Any, Any, Any]:
    blocks: list[Any] = []
    for width in (16, 32, 32, 64, 64, 64):
        blocks += [keras.layers.Conv2D(width, 3, padding="same"), keras.layers.BatchNormalization()]
        blocks += [keras.layers.ReLU(), keras.layers.MaxPooling2D(2, padding="same")]
    layers = [keras.Input((32, 32, 3)), *blocks, keras.layers.Flatten(), keras.layers.Dense(10)]
    return (
        keras.Sequential(layers),
        np.ones((16, 32, 32, 3), "float32"),
        np.ones((16, 10), "float32"),
    )


def fitted(of: Callable[[], tuple[Any, Any, Any]], optimizer: str = "sgd") -> Measured:
    """The first batch of `fit` against later ones, `compile()` alone, and how often the step was traced."""
    model, x, y = of()
    compiling = seconds(lambda: model.compile(optimizer, "mse"))
    times: list[float] = []
    began = time.perf_counter()

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            nonlocal began
            now = time.perf_counter()
            times.append(now - began)
            began = now

    began = time.perf_counter()
    data = tf.data.Dataset.from_tensors((x, y)).repeat(40)
    model.fit(data, verbose=0, callbacks=[Watch()])
    return {
        "first step": times[0],
        "later steps": calm(times[10:]),
        "compile()": compiling,
        "compile() of the first step": compiling / times[0],
    }


def parts() -> Measured:
    """The first step of a compiled loop, cut: starting the device, weights, slots, tracing, preparing, running."""
    device = seconds(lambda: tf.zeros([1]).numpy())
    built: list[Any] = []
    weights = seconds(lambda: built.extend(pictures()))
    model, x, y = built
    adam = keras.optimizers.Adam()
    slots = seconds(lambda: adam.build(model.trainable_variables))
    traces = 0

    def train(x: Any, y: Any) -> Any:
        nonlocal traces
        traces += 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        variables = model.trainable_variables
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    step = tf.function(train)
    x, y = tf.constant(x), tf.constant(y)
    tracing = seconds(lambda: step.get_concrete_function(x, y))
    first = seconds(lambda: step(x, y).numpy())
    later = calm(each(lambda: step(x, y).numpy(), 60)[5:])
    whole = device + weights + slots + tracing + first
    return {
        "device": device,
        "weights": weights,
        "slots": slots,
        "tracing": tracing,
        "preparing": first - later,
        "running": later,
        "graph's share": (tracing + first - later) / whole,
        "device's share": device / whole,
        "weights' share": weights / whole,
        "traces in 61 steps": float(traces),
    }


def initialised(how: str, width: int) -> Measured:
    layers = [
        keras.layers.Dense(width, kernel_initializer=how) for _ in range(3 if width > 100 else 14)
    ]
    keras.layers.Dense(2, kernel_initializer=how).build((None, 2))
    return {"seconds": calm([seconds(partial(layer.build, (None, width))) for layer in layers])}


def optimised(name: str) -> Measured:
    """The first update of a compiled loop over a model of many weights, the optimizer's own set-up included."""
    layers = [keras.layers.Dense(64, activation="relu") for _ in range(6)]
    model = keras.Sequential([keras.Input((64,)), *layers])
    x = tf.random.normal([16, 64])
    update = keras.optimizers.get(name)

    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        variables = model.trainable_variables
        update.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    step = tf.function(train)
    return {"first step": seconds(lambda: step().numpy())}


def traced(backward: bool) -> Measured:
    model, x, _ = pictures()
    x = tf.constant(x)

    def call() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        return tape.gradient(loss, model.trainable_variables) if backward else loss

    return {"tracing": seconds(tf.function(call).get_concrete_function)}


def placeholders() -> Measured:
    tf1.disable_v2_behavior()
    began = time.perf_counter()
    x = tf1.placeholder(tf1.float32, [None, 16])
    y = tf1.placeholder(tf1.float32, [None, 4])
    making = time.perf_counter() - began
    hidden = tf1.matmul(x, tf1.get_variable("w", [16, 4]))
    train = tf1.train.AdamOptimizer().minimize(tf1.reduce_mean(tf1.square(hidden - y)))
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())
    feed = {x: np.ones((8, 16), "float32"), y: np.ones((8, 4), "float32")}
    session.run(train, feed)
    return {"placeholders' share": making / (time.perf_counter() - began)}


def preset(explicit: bool) -> Measured:
    """The way to the end of the first step with weights that are drawn once more and set by hand, or not."""
    began = time.perf_counter()
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(10, kernel_initializer="random_normal")]
    )
    if explicit:
        normal = keras.initializers.RandomNormal()
        model.layers[0].set_weights([normal((1, 10)), normal((10,))])
    model.compile("adam", "mse")
    model.fit(np.ones((3, 1), "float32"), np.ones((3, 10), "float32"), verbose=0)
    return {"to the end of the first step": time.perf_counter() - began}


EXPERIMENTS = (
    Experiment(
        "first-step",
        "the first step of `fit` against later ones, for a linear regression and a convolutional network",
        {"linear": partial(fitted, linear), "convolutions": partial(fitted, pictures)},
        {
            "first step": "s",
            "later steps": "s",
            "compile()": "s",
            "compile() of the first step": "share",
        },
    ),
    Experiment(
        "first-step-parts",
        "the first step of a compiled loop over a convolutional network, cut into its parts",
        {"parts": parts},
        {
            **dict.fromkeys(("device", "weights", "slots", "tracing", "preparing", "running"), "s"),
            **dict.fromkeys(("graph's share", "device's share", "weights' share"), "share"),
            "traces in 61 steps": "count",
        },
        cpu=True,
    ),
    Experiment(
        "initialisers",
        "making a square matrix of weights by zeros, by a random initialiser and by an orthogonal one, with 16 and"
        " with 2 048 columns",
        {
            f"{width}, {how}": partial(initialised, how, width)
            for width in (16, 2048)
            for how in ("zeros", "glorot_uniform", "orthogonal")
        },
        {"seconds": "s"},
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "optimizers",
        "the first step of a model of 12 weight tensors with SGD, RMSprop and Adam",
        {name: partial(optimised, name) for name in ("sgd", "rmsprop", "adam")},
        {"first step": "s"},
    ),
    Experiment(
        "backward-graph",
        "tracing a model forward and with its gradients",
        {"with gradients": partial(traced, True), "forward": partial(traced, False)},
        {"tracing": "s"},
    ),
    Experiment(
        "placeholders",
        "making two placeholders, as a share of the way to the end of the first `run`",
        {"session": placeholders},
        {"placeholders' share": "share"},
    ),
    Experiment(
        "preset-weights",
        "the way to the end of the first step with weights drawn and set by hand against without",
        {"set by hand": partial(preset, True), "left alone": partial(preset, False)},
        {"to the end of the first step": "s"},
    ),
)
