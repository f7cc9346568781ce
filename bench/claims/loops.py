"""Loops: ops added in each iteration, eager and compiled steps, and what a larger graph costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, each, seconds, steady
from bench.claims.lazy import keras, np, tf, tf1

MARKS = (100, 1000, 2000, 3000)


def adding_ops() -> Measured:
    """A session whose loop adds an op and fetches it; between the marks ops are added but not run, to save minutes."""
    tf1.disable_v2_behavior()
    x = tf1.placeholder(tf1.float32, [None, 8])
    loss = tf1.reduce_mean(tf1.square(tf1.matmul(x, tf1.get_variable("w", [8, 8]))))
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())
    feed = {x: np.ones((16, 8), "float32")}

    def step() -> None:
        session.run(train, feed)
        session.run(tf1.negative(loss), feed)

    measured, done = {}, 0
    for mark in MARKS:
        for _ in range(done, mark - 7):
            tf1.negative(loss)
        done = mark
        measured[f"at {mark}"] = calm(each(step, 7)[1:])
    return measured


def eager_chain() -> Measured:
    """Each iteration multiplies the last one's result, op by op."""
    x = tf.constant(1.0)

    def step() -> None:
        nonlocal x
        x = x * 1.0001
        tf.reduce_sum(x).numpy()

    return _at_marks(each(step, MARKS[-1]))


def compiled_training() -> Measured:
    step = trainer(*small(), compiled=True)
    return _at_marks(each(step, MARKS[-1]))


def _at_marks(times: list[float]) -> Measured:
    return {f"at {mark}": calm(times[mark - 90 : mark]) for mark in MARKS}


def doubled(made_before: bool, count: int = 1000) -> Measured:
    """A chain of products with the factors made in the loop or before it, every product read by Python."""
    times: list[float] = []

    def loop() -> None:
        factors: Iterable[Any] = (
            [tf.constant(2.0) for _ in range(count)] if made_before else [2.0] * count
        )
        x = tf.constant(1.0)

        def step(factor: Any) -> None:
            nonlocal x
            x = x * factor
            tf.reduce_sum(x).numpy()

        for factor in factors:
            times.append(seconds(partial(step, factor)))

    loop()
    whole = calm([seconds(loop) for _ in range(5)])
    last = times[-count:]
    return {"seconds": whole, "first hundred": calm(last[:100]), "last hundred": calm(last[-100:])}


def chain(compiled: bool, count: int = 1000) -> Measured:
    """The same chain of products as one call: eager, or unrolled into a graph."""

    def products(x: Any) -> Any:
        for _ in range(count):
            x = x * 2.0
        return x

    call = tf.function(products) if compiled else products
    x = tf.constant(1.0)
    first = seconds(lambda: call(x).numpy())
    return {"first call": first, "later calls": steady(lambda: call(x).numpy(), 21, warm=2)}


def small() -> tuple[Any, Any]:
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((16,)), *layers]), tf.random.normal([32, 16])


def large() -> tuple[Any, Any]:
    layers = [keras.layers.Dense(1024, activation="relu") for _ in range(3)]
    return keras.Sequential([keras.Input((1024,)), *layers]), tf.random.normal([256, 1024])


def trainer(model: Any, x: Any, compiled: bool, optimizer: str = "adam") -> partial[Any]:
    """One training step of a model towards zero."""
    update = keras.optimizers.get(optimizer)
    update.build(model.trainable_variables)

    def step(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(batch, training=True)))
        update.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        return loss

    return partial(tf.function(step) if compiled else step, x)


def model_step(of: Callable[[], tuple[Any, Any]], compiled: bool, calls: int) -> Measured:
    return {"seconds": steady(trainer(*of(), compiled=compiled), calls, warm=5)}


def grouped(of: Callable[[], tuple[Any, Any]], group: int, calls: int) -> Measured:
    """Seconds of an update where one call of the compiled function makes so many."""
    step = trainer(*of(), compiled=False)

    def several() -> None:
        for _ in tf.range(group):
            step()

    return {"seconds": steady(tf.function(several), calls, warm=1) / group}


def backward(ops: int) -> Measured:
    x = tf.Variable(tf.ones([8]))

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            y = tf.identity(x)
            for _ in range(ops):
                y = tf.sin(y)
        began = seconds(lambda: tape.gradient(y, x))
        return began

    gradient()
    return {"seconds": calm([gradient() for _ in range(7)])}


_SECONDS = {"seconds": "s"}
_MARKS = {f"at {mark}": "s" for mark in MARKS}

EXPERIMENTS = (
    Experiment(
        "iterations",
        "an iteration's time at the 100th, 1 000th, 2 000th and 3 000th: a session loop that adds an op, a chain of"
        " eager ops, and a compiled training step",
        {
            "session, adding an op": adding_ops,
            "eager chain": eager_chain,
            "compiled step": compiled_training,
        },
        _MARKS,
    ),
    Experiment(
        "factors",
        "1 000 eager products with the factors written in the loop against factors made before it",
        {"written in the loop": partial(doubled, False), "made before": partial(doubled, True)},
        {"seconds": "s", "first hundred": "s", "last hundred": "s"},
    ),
    Experiment(
        "loop-in-function",
        "1 000 products op by op against one `tf.function` that holds the loop: its first call and later ones",
        {"eager": partial(chain, False), "compiled": partial(chain, True)},
        {"first call": "s", "later calls": "s"},
    ),
    Experiment(
        "compiled-step",
        "a training step op by op against the same step in a `tf.function`, for a small and a large model",
        {
            "small, eager": partial(model_step, small, False, 49),
            "small, compiled": partial(model_step, small, True, 350),
            "large, eager": partial(model_step, large, False, 14),
            "large, compiled": partial(model_step, large, True, 14),
        },
        _SECONDS,
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "updates-per-call",
        "one update in each call of a compiled function against 20 for a small model and 5 for a large one",
        {
            "small, one": partial(grouped, small, 1, 280),
            "small, twenty": partial(grouped, small, 20, 21),
            "large, one": partial(grouped, large, 1, 14),
            "large, five": partial(grouped, large, 5, 1),
        },
        _SECONDS,
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "backward",
        "taking the gradient of a chain of 500 ops against one of 50",
        {"500 ops": partial(backward, 500), "50 ops": partial(backward, 50)},
        _SECONDS,
    ),
)
