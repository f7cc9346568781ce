"""Session style: what a `run` call costs, what merging, feeding, fetching and batching change."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, flow, seconds, steady
from bench.claims.lazy import np, tf1


class Size(NamedTuple):
    """A model of two dense layers, and its batch."""

    rows: int
    features: int
    hidden: int
    calls: int


TINY = Size(32, 16, 16, 700)
LARGE = Size(512, 512, 1024, 21)
WIDE = Size(512, 4096, 16, 42)  # 8 MB a batch, little to compute


class Model(NamedTuple):
    """The tensors of a classifier and the session that trains it."""

    loss: Any
    accuracy: Any
    hidden: Any
    train: Any
    session: Any


def arrays(size: Size) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(size.rows, size.features)).astype("float32")
    return x, rng.integers(0, 8, size.rows).astype("int32")


def classifier(x: Any, y: Any, size: Size) -> Model:
    first = tf1.get_variable("first", [size.features, size.hidden])
    second = tf1.get_variable("second", [size.hidden, 8])
    hidden = tf1.nn.relu(tf1.matmul(x, first))
    logits = tf1.matmul(hidden, second)
    loss = tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    accuracy = tf1.reduce_mean(
        tf1.cast(tf1.equal(tf1.argmax(logits, 1, output_type=tf1.int32), y), tf1.float32)
    )
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())
    return Model(loss, accuracy, hidden, train, session)


def placed(size: Size) -> tuple[Any, Any, Model]:
    """A classifier on placeholders."""
    tf1.disable_v2_behavior()
    x = tf1.placeholder(tf1.float32, [None, size.features])
    y = tf1.placeholder(tf1.int32, [None])
    return x, y, classifier(x, y, size)


def calls_per_step(size: Size, merged: bool) -> Measured:
    x, y, model = placed(size)
    feed = dict(zip((x, y), arrays(size), strict=True))

    def step() -> None:
        if merged:
            model.session.run([model.train, model.loss, model.accuracy], feed)
        else:
            model.session.run([model.train, model.loss], feed)
            model.session.run(model.accuracy, feed)

    return {"seconds": steady(step, size.calls)}


def bystanders(count: int) -> Measured:
    """A step in a graph that holds other ops, which the step does not need."""
    x, y, model = placed(TINY)
    other = tf1.constant(1.0)
    for _ in range(count):
        other = tf1.negative(other)
    feed = dict(zip((x, y), arrays(TINY), strict=True))
    return {"seconds": steady(lambda: model.session.run(model.train, feed), 700)}


def fixed_share(size: Size) -> Measured:
    """What a run that computes nothing takes, as a share of a training run."""
    x, y, model = placed(size)
    feed = dict(zip((x, y), arrays(size), strict=True))
    nothing = tf1.no_op()
    empty = steady(lambda: model.session.run(nothing), 350)
    return {"share": empty / steady(lambda: model.session.run(model.train, feed), size.calls)}


def row_cost(rows: int, calls: int) -> Measured:
    size = Size(rows, 64, 64, calls)
    x, y, model = placed(size)
    feed = dict(zip((x, y), arrays(size), strict=True))
    return {"seconds a row": steady(lambda: model.session.run(model.train, feed), calls) / rows}


def fetched(what: str) -> Measured:
    size = Size(512, 64, 2048, 70)
    x, y, model = placed(size)
    feed = dict(zip((x, y), arrays(size), strict=True))
    extra = {"training only": [], "twenty scalars": [tf1.identity(model.loss) for _ in range(20)]}
    fetches = [model.train, *extra.get(what, [model.hidden])]
    return {"seconds": steady(lambda: model.session.run(fetches, feed), size.calls)}


def fed(size: Size) -> Measured:
    x, y, model = placed(size)
    rows, labels = _dataset(size)
    at = 0

    def step() -> None:
        nonlocal at
        part = slice(at, at + size.rows)
        model.session.run(model.train, {x: rows[part], y: labels[part]})
        at = (at + size.rows) % len(rows)

    return {"seconds": steady(step, size.calls)}


def piped(size: Size, source: str, once: bool = False) -> Measured:
    tf1.disable_v2_behavior()
    rows, labels = _dataset(size)
    if source == "generator":
        dataset = tf1.data.Dataset.from_generator(
            lambda: zip(rows, labels, strict=True), (tf1.float32, tf1.int32), ((size.features,), ())
        )
    else:
        dataset = tf1.data.Dataset.from_tensor_slices((rows, labels))
    dataset = dataset.batch(size.rows, drop_remainder=True).repeat().prefetch(2)
    iterator = (tf1.data.make_one_shot_iterator if once else tf1.data.make_initializable_iterator)(
        dataset
    )
    x, y = iterator.get_next()
    model = classifier(x, y, size)
    if not once:
        model.session.run(iterator.initializer)
    slow = source == "generator"
    calls = max(size.calls // 10, 7) if slow else size.calls
    return {"seconds": flow(lambda: model.session.run(model.train), calls, warm=3 if slow else 10)}


def held(size: Size) -> Measured:
    """The batch lies in the engine already."""
    tf1.disable_v2_behavior()
    x, y = (tf1.Variable(array, trainable=False) for array in arrays(size))
    model = classifier(x, y, size)
    return {"seconds": steady(lambda: model.session.run(model.train), size.calls)}


def _dataset(size: Size) -> tuple[Any, Any]:
    return arrays(size._replace(rows=4 * size.rows))


def prepared(vectorised: bool) -> Measured:
    """Rows scaled one by one in Python or all at once, and the time inside `run` alone."""
    size = Size(256, 64, 64, 42)
    x, y, model = placed(size)
    raw, labels = arrays(size)
    inside: list[float] = []

    def scaled() -> Any:
        if vectorised:
            return (raw - raw.mean(axis=1, keepdims=True)) / raw.std(axis=1, keepdims=True)
        return np.stack([(row - row.mean()) / row.std() for row in raw])

    def step() -> None:
        batch = scaled()
        inside.append(seconds(lambda: model.session.run(model.train, {x: batch, y: labels})))

    whole = steady(step, size.calls)
    return {"seconds": whole, "seconds in run": calm(inside[10:])}


_SECONDS = {"seconds": "s"}

EXPERIMENTS = (
    Experiment(
        "run-calls",
        "training and accuracy in one `run` or in two, for a tiny and a large model",
        {
            "tiny, two runs": partial(calls_per_step, TINY, merged=False),
            "tiny, one run": partial(calls_per_step, TINY, merged=True),
            "large, two runs": partial(calls_per_step, LARGE, merged=False),
            "large, one run": partial(calls_per_step, LARGE, merged=True),
        },
        _SECONDS,
        abreast=True,
    ),
    Experiment(
        "bystanders",
        "the same step in a graph with 10 and with 5 000 ops that the step does not need",
        {"10 others": partial(bystanders, 10), "5000 others": partial(bystanders, 5000)},
        _SECONDS,
        abreast=True,
    ),
    Experiment(
        "fixed-share",
        "a `run` that computes nothing, as a share of a training `run`, for a tiny and a large model",
        {"tiny": partial(fixed_share, TINY), "large": partial(fixed_share, LARGE)},
        {"share": "share"},
    ),
    Experiment(
        "batch-size",
        "a row's share of the step, in batches of 4 and of 512 rows",
        {"batches of 4": partial(row_cost, 4, 700), "batches of 512": partial(row_cost, 512, 140)},
        {"seconds a row": "s"},
        abreast=True,
    ),
    Experiment(
        "fetches",
        "the training op alone, with 20 scalars that are there anyway, and with a matrix of 4 MB",
        {
            what: partial(fetched, what)
            for what in ("training only", "twenty scalars", "one matrix")
        },
        _SECONDS,
        abreast=True,
    ),
    Experiment(
        "feeding",
        "batches fed from an array, taken from a tf.data pipeline over the array, taken from a Python generator"
        " through tf.data, and lying in the engine already; for a small step and for one with 8 MB a batch",
        {
            "small, fed": partial(fed, TINY),
            "small, array pipeline": partial(piped, TINY, "array"),
            "small, generator pipeline": partial(piped, TINY, "generator"),
            "small, held": partial(held, TINY),
            "8 MB, fed": partial(fed, WIDE),
            "8 MB, array pipeline": partial(piped, WIDE, "array"),
            "8 MB, generator pipeline": partial(piped, WIDE, "generator"),
            "8 MB, held": partial(held, WIDE),
        },
        _SECONDS,
        cpu=True,
    ),
    Experiment(
        "one-shot",
        "an initialisable iterator against a one-shot iterator over the same pipeline",
        {
            "initialisable": partial(piped, TINY, "array"),
            "one-shot": partial(piped, TINY, "array", once=True),
        },
        _SECONDS,
    ),
    Experiment(
        "preprocessing",
        "rows scaled one by one in Python against all at once, as seen by the whole step and inside `run`",
        {"row by row": partial(prepared, False), "all at once": partial(prepared, True)},
        {"seconds": "s", "seconds in run": "s"},
    ),
)
