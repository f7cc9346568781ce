"""What runs below the step: 16-bit numbers, XLA, graph optimisation, changing shapes and fresh buffers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, each, peak, seconds, steady
from bench.claims.lazy import keras, np, tf
from bench.claims.loops import large, small, trainer
from bench.claims.memory import deep


def precision(policy: str) -> Measured:
    keras.mixed_precision.set_global_policy(policy)
    step = trainer(*large(), compiled=True)
    return {"seconds": steady(step, 7, warm=3)}


def activations(policy: str) -> Measured:
    """How far a training step with a large batch raises the memory."""
    keras.mixed_precision.set_global_policy(policy)
    model, x = deep(4096)
    each(trainer(model, x[:1], compiled=True), 2)
    step = trainer(model, x, compiled=True)
    return {"peak bytes": peak(lambda: each(step, 2))}


def lost_gradients(by_fit: bool) -> Measured:
    """The share of a layer's gradients that half precision turns into zero, where the loss itself is small."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64), keras.layers.Dense(64)])
    x = tf.random.normal([256, 64], seed=1)
    before = [weights.numpy() for weights in model.trainable_variables]
    adam = keras.optimizers.Adam(0.01)
    if by_fit:
        model.compile(adam, _tiny_loss)
        model.fit(x, x, batch_size=256, verbose=0)
    else:
        with tf.GradientTape() as tape:
            loss = _tiny_loss(x, model(x))
        found = tape.gradient(loss, model.trainable_variables)
        adam.apply_gradients(zip(found, model.trainable_variables, strict=True))
    same = [
        np.mean(old == new.numpy())
        for old, new in zip(before, model.trainable_variables, strict=True)
    ]
    return {"weights that did not move": float(same[0])}


def _tiny_loss(y: Any, predictions: Any) -> Any:
    return 1e-6 * tf.reduce_mean(tf.square(tf.cast(predictions, tf.float32) - y))


def elementwise(jit: bool) -> Measured:
    x = tf.random.normal([512, 512])

    def chain(x: Any) -> Any:
        for _ in range(20):
            x = tf.tanh(x) * 0.5 + tf.sigmoid(x) * x
        return x

    call = tf.function(chain, jit_compile=jit)
    first = seconds(lambda: call(x).numpy())
    return {"first call": first, "seconds": steady(lambda: call(x), 21, warm=2)}


def layered(of: Callable[[], tuple[Any, Any]], jit: bool, calls: int) -> Measured:
    step = trainer(*of(), compiled=False)
    call = tf.function(step, jit_compile=jit)
    first = seconds(lambda: call().numpy())
    return {"first call": first, "seconds": steady(lambda: call().numpy(), calls, warm=3)}


_SWITCHES = (
    "constant_folding",
    "common_subgraph_elimination",
    "arithmetic_optimization",
    "remapping",
    "layout_optimizer",
)


def optimised(setting: str) -> Measured:
    """A graph with repeated and constant parts, with the graph optimiser as it is, asked for by name, or off."""
    if setting == "asked for":
        tf.config.optimizer.set_experimental_options(dict.fromkeys(_SWITCHES, True))
    elif setting == "off":
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    x = tf.random.normal([256, 256])
    fixed = np.random.default_rng(1).normal(size=(256, 256)).astype("float32")

    def repeats(x: Any) -> Any:
        total, constant = tf.zeros_like(x), tf.constant(fixed)
        for _ in range(30):
            total += tf.tanh(x) + tf.matmul(constant, constant)
        return total

    call = tf.function(repeats)
    return {"seconds": steady(lambda: call(x).numpy(), 140, warm=3)}


def shapes(kind: str, sizes: str) -> Measured:
    """A compiled step that takes any number of rows, given one number, eight in turn, or one that never came before."""
    if kind == "dense":
        model, row = deep(1)[0], [256]
    else:
        row = [16, 16, 8]
        model = keras.Sequential(
            [keras.Input(row), *(keras.layers.Conv2D(8, 3, padding="same") for _ in range(4))]
        )
    step = trainer(model, None, compiled=False).func
    call = tf.function(step, input_signature=[tf.TensorSpec([None, *row], tf.float32)])
    counts = {
        "one": [64] * 70,
        "eight": [60 + i % 8 for i in range(70)],
        "new": [29 + i for i in range(70)],
    }[sizes]
    times = [seconds(partial(call, tf.random.normal([rows, *row]))) for rows in counts]
    return {"seconds": calm(times[20:])}


def results(fresh: bool, side: int, calls: int) -> Measured:
    """The sum of two matrices in a tensor of its own, or added into a variable that is there."""
    a = tf.Variable(tf.ones([side, side]))
    b = tf.ones([side, side])

    def added() -> Any:
        if fresh:
            return a + b
        a.assign_add(b)
        return None

    return {"seconds": steady(tf.function(added), calls)}


_SECONDS = {"seconds": "s"}
_FIRST = {"seconds": "s", "first call": "s"}

EXPERIMENTS = (
    Experiment(
        "mixed-speed",
        "a training step of three dense layers of 1 024 in float32, mixed_float16 and mixed_bfloat16",
        {name: partial(precision, name) for name in ("float32", "mixed_float16", "mixed_bfloat16")},
        _SECONDS,
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "mixed-memory",
        "how far a training step with 4 096 rows raises the memory in float32, mixed_float16 and mixed_bfloat16",
        {
            name: partial(activations, name)
            for name in ("float32", "mixed_float16", "mixed_bfloat16")
        },
        {"peak bytes": "bytes"},
        cpu=True,
    ),
    Experiment(
        "mixed-stability",
        "weights that an update leaves where they are because half precision made their gradients zero: in a loop with"
        " a tape, the rest of the code as it was, and in `fit`",
        {"own loop": partial(lost_gradients, False), "fit": partial(lost_gradients, True)},
        {"weights that did not move": "share"},
        pairs=1,
    ),
    Experiment(
        "xla",
        "`tf.function` with and without `jit_compile=True`: a chain of elementwise ops, a small and a large model",
        {
            "elementwise, plain": partial(elementwise, False),
            "elementwise, XLA": partial(elementwise, True),
            "small model, plain": partial(layered, small, False, 350),
            "small model, XLA": partial(layered, small, True, 350),
            "large model, plain": partial(layered, large, False, 14),
            "large model, XLA": partial(layered, large, True, 14),
        },
        _FIRST,
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "graph-optimiser",
        "a graph with repeated and constant parts: as TensorFlow runs it, with the optimisations asked for by name, and"
        " with all of them off",
        {setting: partial(optimised, setting) for setting in ("by default", "asked for", "off")},
        _SECONDS,
        abreast=True,
    ),
    Experiment(
        "shapes",
        "a compiled training step of dense layers and of convolutions, given batches of one size, of eight sizes in"
        " turn, and of a new size each time",
        {
            f"{kind}, {sizes}": partial(shapes, kind, sizes)
            for kind in ("dense", "convolutions")
            for sizes in ("one", "eight", "new")
        },
        _SECONDS,
        cpu=True,
        abreast=True,
    ),
    Experiment(
        "fresh-buffers",
        "a sum that makes a tensor against one added into a variable, for 4 KiB and for 16 MiB",
        {
            "4 KiB, new tensor": partial(results, True, 32, 700),
            "4 KiB, in place": partial(results, False, 32, 700),
            "16 MiB, new tensor": partial(results, True, 2048, 35),
            "16 MiB, in place": partial(results, False, 2048, 35),
        },
        _SECONDS,
        cpu=True,
        abreast=True,
    ),
)
