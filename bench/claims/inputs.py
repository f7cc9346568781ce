"""Input pipelines: prefetching, parallel and vectorised maps, caches, and what buffers hold."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import flow, resident, seconds, steady
from bench.claims.lazy import np, tf

_WAIT = 0.006  # seconds that a read from a far disk might wait; the processor is free meanwhile


def _waiting(x: Any) -> Any:
    """Stands for a slow disk: waits, computes nothing."""

    def wait(value: Any) -> Any:
        time.sleep(_WAIT)
        return value

    return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape)


def _working(x: Any) -> Any:
    """Keeps a core busy for about as long as `_waiting` waits."""
    for _ in range(12):
        x = tf.sort(tf.sin(x), axis=-1)
    return x


_KINDS = {"waiting": _waiting, "working": _working}


def _source(rows: int = 4096) -> Any:
    return tf.data.Dataset.from_tensor_slices(tf.random.normal([rows, 64])).repeat()


def _step() -> Any:
    """A compiled step that takes all cores some milliseconds, as a real model does."""
    weights = tf.Variable(tf.random.normal([1024, 1024]) * 0.03)

    def step(batch: Any) -> Any:
        x = tf.tile(batch[:, :64], [1, 16])
        for _ in range(3):
            x = tf.tanh(tf.matmul(x, weights))
        weights.assign_add(1e-6 * weights)
        return tf.reduce_sum(x)

    return tf.function(step)


def _trained(dataset: Any, calls: int = 35) -> Measured:
    step, batches = _step(), iter(dataset)
    return {"seconds": flow(lambda: step(next(batches)).numpy(), calls, warm=10)}


def prefetched(kind: str, buffer: bool, own: bool = True) -> Measured:
    """The stage in front of the step handles a batch at a time; tf.data's own prefetch is on, as it is by default."""
    dataset = _source().batch(128).map(_KINDS[kind])
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = own
    dataset = dataset.with_options(options)
    return _trained(dataset.prefetch(tf.data.AUTOTUNE) if buffer else dataset)


def mapped(kind: str, parallel: bool) -> Measured:
    dataset = (
        _source()
        .batch(128)
        .map(_KINDS[kind], num_parallel_calls=tf.data.AUTOTUNE if parallel else None)
    )
    return _trained(dataset.prefetch(tf.data.AUTOTUNE))


def ordered(batch_first: bool) -> Measured:
    """Cheap work for each row, before the rows are batched or for a batch at once; seconds of a batch, no step."""

    def scale(x: Any) -> Any:
        return (x - tf.reduce_mean(x, axis=-1, keepdims=True)) * 0.5

    dataset = _source()
    dataset = dataset.batch(128).map(scale) if batch_first else dataset.map(scale).batch(128)
    batches = iter(dataset.prefetch(tf.data.AUTOTUNE))
    return {"seconds": flow(lambda: next(batches), 140)}


def passes(cached: bool) -> Measured:
    """Small compressed files that are read and decoded in every pass, or in the first only; and memory gained."""
    place = Path("rows")
    place.mkdir()
    rng = np.random.default_rng(1)
    for number in range(64):
        picture = tf.io.encode_jpeg(rng.integers(0, 255, (128, 128, 3)).astype("uint8"))
        tf.io.write_file(str(place / f"{number}.jpg"), picture)

    def read(name: Any) -> Any:
        return tf.cast(tf.io.decode_jpeg(tf.io.read_file(name), 3), tf.float32) / 255.0

    dataset = tf.data.Dataset.list_files(str(place / "*.jpg"), shuffle=False).map(read)
    dataset = (dataset.cache() if cached else dataset).batch(16).prefetch(1)

    def one_pass() -> None:
        list(dataset)

    for _ in range(5):
        one_pass()
    before = resident()
    for _ in range(10):
        one_pass()
    gained = resident() - before
    return {"seconds": steady(one_pass, 7, warm=0), "bytes a pass": gained / 10}


def buffered(stage: str, size: int) -> Measured:
    """Memory that a pipeline of 16 KiB rows takes for its buffer, once it is full."""
    dataset = tf.data.Dataset.range(1_000_000).map(
        lambda i: tf.random.normal([4096]) + tf.cast(i, tf.float32)
    )
    dataset = dataset.shuffle(size) if stage == "shuffle" else dataset.prefetch(size)
    next(iter(dataset.take(1)))
    before = resident()
    rows = iter(dataset)
    first = seconds(lambda: next(rows))
    if stage == "prefetch":
        while resident() - before < size * 16384 * 0.9 and first < 5:
            first += seconds(lambda: time.sleep(0.05))
    return {"bytes": float(max(resident() - before, 1)), "seconds to the first row": first}


def lazily(mapped: bool) -> Measured:
    """Memory that the results of preprocessing take: made for all rows at once, or row by row as they are used."""
    rows = np.ones((2048, 8192), "float32")
    list(
        tf.data.Dataset.range(4).map(lambda i: i + 1)
    )  # the runtime's own memory is not the data's
    before = resident()
    if mapped:
        dataset = tf.data.Dataset.from_generator(
            lambda: iter(rows), output_signature=tf.TensorSpec([8192])
        )
        dataset = dataset.map(lambda x: x * 2.0 + 1.0)
    else:
        scaled = rows * 2.0 + 1.0
        dataset = tf.data.Dataset.from_generator(
            lambda: iter(scaled), output_signature=tf.TensorSpec([8192])
        )
    for _ in dataset.batch(32):
        pass
    return {"bytes": float(max(resident() - before, 1))}


def whole_set() -> Measured:
    """Memory that `from_tensor_slices` of an array takes beside the array itself, per byte of the array."""
    rows = np.ones((2048, 8192), "float32")
    list(tf.data.Dataset.range(4).map(lambda i: i + 1))
    before = resident()
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    next(iter(dataset))
    return {"bytes held per byte": max(resident() - before, 1) / rows.nbytes}


_SECONDS = {"seconds": "s"}
_OFF_ON = (("without", False), ("with", True))

EXPERIMENTS = (
    Experiment(
        "prefetch",
        "a pipeline without and with `prefetch` before a step that uses all cores: with an input stage that waits, as"
        " for a disk, and with one that computes",
        {
            **{
                f"{kind}, {name}": partial(prefetched, kind, on)
                for kind in _KINDS
                for name, on in _OFF_ON
            },
            "waiting, none at all": partial(prefetched, "waiting", False, own=False),
        },
        _SECONDS,
        cpu=True,
        note="tf.data puts a prefetch of its own behind pipelines without one; `none at all` switches that off",
    ),
    Experiment(
        "parallel-map",
        "`map` without and with `num_parallel_calls=AUTOTUNE`, the same two input stages",
        {f"{kind}, {name}": partial(mapped, kind, on) for kind in _KINDS for name, on in _OFF_ON},
        _SECONDS,
        cpu=True,
    ),
    Experiment(
        "map-order",
        "a cheap function mapped over rows before they are batched against over whole batches",
        {"rows, then batch": partial(ordered, False), "batch, then map": partial(ordered, True)},
        _SECONDS,
    ),
    Experiment(
        "rereading",
        "passes over 64 small JPEG files: read and decoded in every pass, or kept by `cache()`",
        {"read every time": partial(passes, False), "cached": partial(passes, True)},
        {"seconds": "s", "bytes a pass": "bytes"},
    ),
    Experiment(
        "buffers",
        "memory and waiting time of shuffle and prefetch buffers of 100 and of 4 000 rows of 16 KiB",
        {
            f"{stage}, {size}": partial(buffered, stage, size)
            for stage in ("shuffle", "prefetch")
            for size in (100, 4000)
        },
        {"bytes": "bytes", "seconds to the first row": "s"},
    ),
    Experiment(
        "lazy-map",
        "memory for preprocessing an array of 64 MiB: all at once, or by `map` while it is used",
        {"all at once": partial(lazily, False), "by map": partial(lazily, True)},
        {"bytes": "bytes"},
    ),
    Experiment(
        "whole-set",
        "memory that `from_tensor_slices` takes for an array of 64 MiB, beside the array",
        {"from_tensor_slices": whole_set},
        {"bytes held per byte": "share"},
    ),
)
