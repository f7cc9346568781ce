"""Files: checkpoints, summaries, logs and temporary files, and whether their number slows anything."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, each, in_turn, seconds, size_of
from bench.claims.lazy import keras, tf
from bench.claims.loops import small


def _fitted(rows: int, width: int) -> tuple[Any, Any]:
    layers = [keras.layers.Dense(width, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((16,)), *layers])
    model.compile("adam", "mse")
    data = tf.data.Dataset.from_tensors((tf.ones([32, 16]), tf.ones([32, 1]))).repeat(rows)
    model.fit(data.take(2), verbose=0)
    return model, data


def saving(steps: int, every: int) -> Measured:
    """Seconds of an epoch of so many steps where the weights are saved every so many epochs."""
    model, data = _fitted(steps, 4000)
    saver = keras.callbacks.ModelCheckpoint(
        "{epoch}.weights.h5", save_weights_only=True, save_freq=every * steps
    )
    fit = partial(model.fit, data, epochs=5, verbose=0, callbacks=[saver])
    return {"seconds an epoch": min(each(fit, 2 if steps < 100 else 1)) / 5}


def one_save(weights_only: bool) -> Measured:
    model, _ = _fitted(4, 50_000)
    save = model.save_weights if weights_only else model.save
    name = "model.weights.h5" if weights_only else "model.keras"
    times = [seconds(partial(save, name)) for _ in range(4)]
    return {"bytes": float(Path(name).stat().st_size), "seconds": calm(times[1:])}


def piling() -> Measured:
    """Sixty checkpoints that are all kept, the late ones in turn with the early ones of a second folder."""
    model, _ = _fitted(4, 10_000)
    full, fresh = Path("full"), Path("fresh")

    def save(folder: Path, number: int) -> float:
        return seconds(
            partial(tf.train.Checkpoint(model=model).write, str(folder / f"save{number}"))
        )

    for number in range(45):
        save(full, number)
        if number < 6:
            save(fresh, number)
    few = size_of(fresh)
    late, early = in_turn(
        lambda turn: save(full, 45 + turn), lambda turn: save(fresh, 6 + turn), 15
    )
    return {
        "early saves": early,
        "late saves": late,
        "early bytes": float(few),
        "late bytes": float(size_of(full)),
    }


def summaries() -> Measured:
    """A scalar summary written in every step: late writes into a file that has grown, in turn with early ones."""
    full, fresh = (tf.summary.create_file_writer(name) for name in ("full", "fresh"))

    def write(writer: Any, first: int, count: int) -> float:
        with writer.as_default():
            return (
                seconds(
                    lambda: [tf.summary.scalar("loss", 0.5, first + step) for step in range(count)]
                )
                / count
            )

    write(full, 0, 2000)
    write(fresh, 0, 300)
    late, early = in_turn(
        lambda part: write(full, 2000 + 50 * part, 50),
        lambda part: write(fresh, 300 + 50 * part, 50),
        20,
    )
    return {"early writes": early, "late writes": late}


def temporary() -> Measured:
    """Files that a training with checkpoints leaves in the folder for temporary files, and those in its own folder."""
    own = Path("own")
    own.mkdir()
    place = Path(tempfile.mkdtemp())
    tempfile.tempdir = str(place)
    model, data = _fitted(20, 64)
    saver = keras.callbacks.ModelCheckpoint(str(own / "{epoch}.weights.h5"), save_weights_only=True)
    model.fit(data, epochs=10, verbose=0, callbacks=[saver])
    before = size_of(own)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    return {
        "temporary files": float(len(list(place.rglob("*")))),
        "files of its own": float(len(list(own.iterdir()))),
        "bytes removed by setting the log level": float(before - size_of(own)),
    }


def logged(level: str, verbose: int) -> Measured:
    """A step of `fit` with more or less logging; what is printed goes nowhere."""
    logging = tf.compat.v1.logging
    logging.set_verbosity(getattr(logging, level))
    model, _ = small()
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors((tf.ones([32, 16]), tf.ones([32, 1]))).repeat(200)
    model.fit(data.take(5), verbose=0)
    return {
        "seconds": calm([seconds(lambda: model.fit(data, verbose=verbose)) for _ in range(4)]) / 200
    }


EXPERIMENTS = (
    Experiment(
        "save-period",
        "weights saved after every epoch against after every fifth, for epochs of 10 and of 150 steps",
        {
            "10 steps, every epoch": partial(saving, 10, 1),
            "10 steps, every fifth": partial(saving, 10, 5),
            "150 steps, every epoch": partial(saving, 150, 1),
            "150 steps, every fifth": partial(saving, 150, 5),
        },
        {"seconds an epoch": "s"},
        abreast=True,
    ),
    Experiment(
        "weights-only",
        "a whole model with Adam's state against its weights only",
        {"whole model": partial(one_save, False), "weights only": partial(one_save, True)},
        {"bytes": "bytes", "seconds": "s"},
        abreast=True,
    ),
    Experiment(
        "pile",
        "the 46th to 60th checkpoint of a folder in turn with the 6th to 20th of another, where all are kept",
        {"all kept": piling},
        {"early saves": "s", "late saves": "s", "early bytes": "bytes", "late bytes": "bytes"},
    ),
    Experiment(
        "summaries",
        "scalar summaries 2 000 to 3 000 of a file in turn with 300 to 1 300 of another",
        {"every step": summaries},
        {"early writes": "s", "late writes": "s"},
    ),
    Experiment(
        "temporary-files",
        "files that a training leaves in the folder for temporary files, and what setting the log level removes",
        {"fit with checkpoints": temporary},
        {
            "temporary files": "count",
            "files of its own": "count",
            "bytes removed by setting the log level": "bytes",
        },
        pairs=2,
    ),
    Experiment(
        "logging",
        "steps of `fit` with TensorFlow's log level INFO against ERROR, and with the progress bar against without",
        {
            "level INFO": partial(logged, "INFO", 0),
            "level ERROR": partial(logged, "ERROR", 0),
            "progress bar": partial(logged, "ERROR", 1),
        },
        {"seconds": "s"},
        abreast=True,
    ),
)
