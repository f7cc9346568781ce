"""Gradient accumulation: as it is often printed, by hand done right, and by Keras's own optimizer."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import each, peak, steady
from bench.claims.lazy import keras, np, tf
from bench.claims.loops import trainer
from bench.claims.memory import deep

_PARTS = 8


def _problem() -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(3)
    batches = [tf.constant(rng.normal(size=(16, 4)).astype("float32")) for _ in range(_PARTS)]
    return tf.Variable(tf.ones([4])), batches


def _gradient(weights: Any, batch: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.linalg.matvec(batch, weights) - 1.0))
    return tape.gradient(loss, weights)


def update_error(way: str) -> Measured:
    """How far the update after eight batches is from that of one batch with all their rows, relative to it."""
    weights, batches = _problem()
    wanted = -_gradient(weights, tf.concat(batches, 0)).numpy()
    steps = _PARTS if way == "keras" else None
    sgd = keras.optimizers.SGD(1.0, gradient_accumulation_steps=steps)
    total = tf.zeros_like(weights)
    before = weights.numpy()
    for number, batch in enumerate(batches, 1):
        gradient = _gradient(weights, batch)
        if way == "keras":
            sgd.apply_gradients([(gradient, weights)])
            continue
        total = (tf.zeros_like(gradient) if way == "reset" else total) + gradient
        if number % _PARTS == 0:
            sgd.apply_gradients([(total / _PARTS, weights)])
    made = weights.numpy() - before
    return {
        "error": float(np.linalg.norm(made - wanted) / np.linalg.norm(wanted)),
        "size": float(np.linalg.norm(made) / np.linalg.norm(wanted)),
    }


def accumulated(parts: int) -> Measured:
    """Memory and time of one update from 4 096 rows: all at once, or summed over so many parts."""
    rows = 4096 // parts
    model, x = deep(rows)
    model_step = trainer(model, x, compiled=True) if parts == 1 else _summing(model, x, parts)
    each(trainer(model, x[:1], compiled=True), 2)
    high = peak(lambda: each(model_step, 2 * parts))
    return {"peak bytes": high, "seconds a row": steady(model_step, 7 * parts, warm=0) / rows}


def _summing(model: Any, x: Any, parts: int) -> Any:
    adam = keras.optimizers.Adam(gradient_accumulation_steps=parts)
    return trainer(model, x, compiled=True, optimizer=adam)


EXPERIMENTS = (
    Experiment(
        "accumulated-update",
        "the update after eight batches against that of one batch with all their rows: with sums set to zero in every"
        " batch (as printed, with its counter supplied), with sums that last, and with"
        " `gradient_accumulation_steps`",
        {
            "as printed": partial(update_error, "reset"),
            "lasting sums": partial(update_error, "kept"),
            "Keras": partial(update_error, "keras"),
        },
        {"error": "share", "size": "share"},
        pairs=1,
    ),
    Experiment(
        "accumulation-cost",
        "one update from 4 096 rows at once against eight parts of 512 rows",
        {"at once": partial(accumulated, 1), "eight parts": partial(accumulated, _PARTS)},
        {"peak bytes": "bytes", "seconds a row": "s"},
        cpu=True,
    ),
)
