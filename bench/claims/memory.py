"""Memory: what grows with the iterations, what with the batch, and what only looks as if it grew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import each, in_turn, peak, resident, seconds
from bench.claims.lazy import keras, np, tf, tf1
from bench.claims.loops import small, trainer

_WARM, _COUNTED = 500, 1500


def _gained(step: Callable[[], Any], warm: int = _WARM, counted: int = _COUNTED) -> Measured:
    """Bytes that an iteration adds to the process once it is warm."""
    each(step, warm)
    before = resident()
    each(step, counted)
    return {"bytes an iteration": (resident() - before) / counted}


def compiled_loop() -> Measured:
    return _gained(trainer(*small(), compiled=True))


def eager_loop() -> Measured:
    return _gained(trainer(*small(), compiled=False), warm=60, counted=200)


def session_loop(adding: bool) -> Measured:
    tf1.disable_v2_behavior()
    x = tf1.placeholder(tf1.float32, [None, 8])
    loss = tf1.reduce_mean(tf1.square(tf1.matmul(x, tf1.get_variable("w", [8, 8]))))
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())
    feed = {x: np.ones((16, 8), "float32")}

    def step() -> None:
        session.run([train, tf1.negative(loss) if adding else loss], feed)

    return _gained(step, 50, 150) if adding else _gained(step)


def keeping_loop(detached: bool) -> Measured:
    """A loop that appends every step's predictions to a list, or a float made of them."""
    model, x = small()
    kept: list[Any] = []
    step = trainer(model, x, compiled=True)

    def keep() -> None:
        step()
        predictions = model(tf.tile(x, [64, 1]))
        kept.append(float(tf.reduce_mean(predictions)) if detached else predictions)

    return _gained(keep, 100, 400)


def epochs() -> Measured:
    """Late epochs of one model in turn with early ones of another, and what an epoch adds to the memory."""
    model, other = small()[0], small()[0]
    model.compile("adam", "mse")
    other.compile("adam", "mse")
    x = np.random.default_rng(1).normal(size=(1024, 16)).astype("float32")
    y = np.sin(x.sum(axis=1, keepdims=True))
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    levels: list[int] = []
    losses: list[float] = []

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            levels.append(resident())
            losses.append(logs["loss"])

    watch = {model: [Watch()], other: [keras.callbacks.Callback()]}
    model.fit(data, epochs=18, verbose=0, callbacks=watch[model])
    other.fit(data, epochs=2, verbose=0)

    def one_more(which: Any, done: int) -> float:
        return seconds(
            partial(
                which.fit,
                data,
                epochs=done + 1,
                initial_epoch=done,
                verbose=0,
                callbacks=watch[which],
            )
        )

    late, early = in_turn(
        lambda turn: one_more(model, 18 + turn), lambda turn: one_more(other, 2 + turn), 6
    )
    return {
        "epochs 3 to 8": early,
        "epochs 19 to 24": late,
        "bytes an epoch": (levels[17] - levels[4]) / 13,  # of one call of fit()
        "loss gained in epochs 1 to 6": losses[0] - losses[5],
        "loss gained in epochs 19 to 24": max(losses[18] - losses[23], 1e-9),
    }


def slots(optimizer: str) -> Measured:
    """Bytes of the optimizer's own variables, early and late, as a multiple of the weights' bytes."""
    model, x = small()
    update = keras.optimizers.get(optimizer)

    def update_once() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        update.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )

    step = tf.function(update_once)

    def held() -> float:
        return float(sum(np.prod(variable.shape) * 4 for variable in update.variables))

    step()
    early = held()
    each(step, 1500)
    weights = sum(np.prod(variable.shape) * 4 for variable in model.trainable_variables)
    late = held()
    return {
        "bytes at 1": early,
        "bytes at 1500": late,
        "growth": late / early,
        "of the weights": late / weights,
    }


def deep(rows: int) -> tuple[Any, Any]:
    layers = [keras.layers.Dense(256, activation="relu") for _ in range(8)]
    return keras.Sequential([keras.Input((256,)), *layers]), tf.random.normal([rows, 256])


def batch_peak(rows: int) -> Measured:
    """How far a compiled training step raises the memory, once all that lasts is there."""
    model, x = deep(rows)
    step = trainer(model, x, compiled=True)
    one = trainer(model, x[:1], compiled=True)
    each(one, 3)
    return {"peak bytes": peak(lambda: each(step, 3))}


def tape_left(persistent: bool) -> Measured:
    """Memory that each tape still holds after its gradient was taken, while the tape itself is kept."""
    model, x = deep(4096)
    tapes: list[Any] = []

    def step() -> None:
        with tf.GradientTape(persistent=persistent) as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        tape.gradient(loss, model.trainable_variables)
        tapes.append(tape)

    each(step, 3)
    before = resident()
    each(step, 6)
    return {"bytes a tape": (resident() - before) / 6}


_GROWTH = {"bytes an iteration": "bytes"}

EXPERIMENTS = (
    Experiment(
        "memory-per-iteration",
        "bytes that an iteration adds: compiled and eager training, a session loop, and one that adds an op",
        {
            "compiled": compiled_loop,
            "eager": eager_loop,
            "session": partial(session_loop, adding=False),
            "session, adding an op": partial(session_loop, adding=True),
        },
        _GROWTH,
    ),
    Experiment(
        "kept-results",
        "bytes that an iteration adds where the script appends its predictions to a list, or floats made of them",
        {"predictions": partial(keeping_loop, False), "floats": partial(keeping_loop, True)},
        _GROWTH,
    ),
    Experiment(
        "epochs",
        "late against early epochs of `fit`: seconds, memory, and what the loss gains",
        {"fit": epochs},
        {
            "epochs 3 to 8": "s",
            "epochs 19 to 24": "s",
            "bytes an epoch": "bytes",
            "loss gained in epochs 1 to 6": "",
            "loss gained in epochs 19 to 24": "",
        },
    ),
    Experiment(
        "optimizer-state",
        "bytes of the optimizer's own variables after 1 and after 1 500 updates",
        {name: partial(slots, name) for name in ("adam", "rmsprop", "sgd")},
        {
            "bytes at 1": "bytes",
            "bytes at 1500": "bytes",
            "growth": "share",
            "of the weights": "share",
        },
        pairs=1,
    ),
    Experiment(
        "batch-memory",
        "how far a training step raises the memory with batches of 256 and of 4 096 rows",
        {"256 rows": partial(batch_peak, 256), "4096 rows": partial(batch_peak, 4096)},
        {"peak bytes": "bytes"},
    ),
    Experiment(
        "tape",
        "memory that a tape which is kept still holds after its gradient was taken: an ordinary tape, a persistent one",
        {"persistent": partial(tape_left, True), "ordinary": partial(tape_left, False)},
        {"bytes a tape": "bytes"},
    ),
)
