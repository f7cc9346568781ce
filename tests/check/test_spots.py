"""Every cause that `unslow check` can see is found at the lines that end in `#!`, and at no other line."""

from __future__ import annotations

import pytest

from unslow.cause import by_id
from unslow.syntax import Source

TF2 = """\
import tensorflow as tf
import numpy as np
"""
TF1 = """\
import tensorflow.compat.v1 as tf
import numpy as np
"""
GRAPH = (
    TF1
    + """\
x = tf.placeholder(tf.float32)
y = tf.reduce_sum(x)
"""
)
DATASET = (
    TF2
    + """\
ds = tf.data.Dataset.range(100).shuffle(10).batch(2)
"""
)
MODEL = (
    TF2
    + """\
m = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
)
TRAINING = (
    TF2
    + """\
m = tf.keras.Sequential([tf.keras.layers.Dense(1)])
o = tf.keras.optimizers.Adam()
ds = tf.data.Dataset.range(3)
@tf.function
def step(x):
    with tf.GradientTape() as t:
        loss = tf.reduce_mean(m(x))
    o.apply_gradients(zip(t.gradient(loss, m.trainable_variables), m.trainable_variables))
    return loss
"""
)

CASES = [
    (
        "graph-growth",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        s.run(tf.reduce_mean(y), {x: 1})  #!
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
s = tf.Session()
for e in range(3):
    z = y * 2.0  #!
    for i in range(10):
        s.run(z, {x: 1})
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
def ev(s):
    best = tf.argmax(y)  #!
    return s.run(best, {x: 1})
with tf.Session() as s:
    while True:
        ev(s)
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
v = tf.Variable(1.0)
class A:
    def __init__(self):
        self.s = tf.Session()
    def go(self):
        for r in (1,2):
            self.s.run(v.assign(r))  #!
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        v = s.run(y, {x: 1})
        print(v * 2, np.mean(v))
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
for k in range(3):
    with tf.Graph().as_default(), tf.Session() as s:
        y2 = tf.constant(1.0)
        s.run(y2)
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
for k in range(3):
    y = tf.layers.dense(y, 3)
with tf.Session() as s:
    s.run(y, {x: 1})
""",
    ),
    (
        "graph-growth",
        TF2,
        """\
for i in range(3):
    print(tf.reduce_sum(tf.ones([i])))
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
o = tf.train.AdamOptimizer()
for t in tasks:
    o.apply_gradients(t)
    z = tf.add(y, 1)
with tf.Session() as s:
    s.run(y, {x: 1})
""",
    ),
    (
        "graph-growth",
        GRAPH,
        """\
def evaluate(s):
    return s.run(tf.argmax(y), {x: 1})
with tf.Session() as s:
    for i in range(1000):
        s.run(y, {x: 1})
        if i % 500 == 0:
            s.run(tf.reduce_mean(y), {x: 1})
            evaluate(s)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
def f(x): return x
for i in range(9):
    g = tf.function(f)  #!
    g(i)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
for i in range(9):
    tf.function(lambda x: x + i)(3)  #!
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
for i in range(9):
    @tf.function  #!
    def f(x):
        return x
    f(1)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
def step(x):
    @tf.function  #!
    def inner(y):
        return y
    return inner(x)
for i in range(9):
    step(i)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
def f(x): return x
g = tf.function(f)
for i in range(9):
    g(i)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
for model in models:
    step = tf.function(model.call)
    for batch in data:
        step(batch)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
cache = {}
for i in range(9):
    if i not in cache:
        f = tf.function(lambda x: x)
        f(1)
""",
    ),
    (
        "function-in-loop",
        TF2,
        """\
def make(model):
    @tf.function
    def step(x):
        return model(x)
    return step
for m in models:
    make(m)(1)
""",
    ),
    (
        "retracing",
        TF2,
        """\
@tf.function
def f(x, i): return x * i
for i in range(100):
    f(tf.ones(3), i)  #!
""",
    ),
    (
        "retracing",
        TF2,
        """\
f = tf.function(lambda x, lr: x * lr)
step = 0
for x in tf.data.Dataset.range(9):
    step += 1
    f(x, lr=step / 10)  #!
""",
    ),
    (
        "retracing",
        TF2,
        """\
@tf.function
def f(x, i): return x * i
for i in range(100):
    f(tf.ones(3), tf.constant(i))
""",
    ),
    (
        "retracing",
        TF2,
        """\
@tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
def f(i): return i
for i in range(100):
    f(i)
""",
    ),
    (
        "retracing",
        TF2,
        """\
@tf.function
def f(x, i): return x * i
for i in range(100):
    f(tf.ones(3), 2)
for i in range(3):
    f(tf.ones(3), i)
""",
    ),
    (
        "retracing",
        TF2,
        """\
def f(x, i): return x * i
for i in range(100):
    f(tf.ones(3), i)
""",
    ),
    (
        "run-eagerly",
        TF2,
        """\
tf.config.run_functions_eagerly(True)  #!
""",
    ),
    (
        "run-eagerly",
        TF2,
        """\
m = tf.keras.Sequential()
m.compile('sgd', run_eagerly=True)  #!
""",
    ),
    (
        "run-eagerly",
        TF2,
        """\
m = tf.keras.Sequential()
m.compile('sgd', run_eagerly=DEBUG)
if DEBUG:
    tf.config.run_functions_eagerly(True)
""",
    ),
    (
        "run-eagerly",
        TF2,
        """\
tf.config.run_functions_eagerly(True)
tf.config.run_functions_eagerly(False)
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
for i in range(9):
    x = next(iter(ds))  #!
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
for i in range(9):
    it = iter(ds)  #!
    x = next(it)
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
for e in range(9):
    it = iter(ds)
    for s in range(5):
        x = next(it)
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
it = iter(ds)
for i in range(9):
    x = next(it)
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
for i in range(9):
    part = ds.skip(i)
    x = next(iter(part))
""",
    ),
    (
        "iterator-rebuilt",
        DATASET,
        """\
for e in range(3):
    for x in ds:
        pass
sample = next(iter(ds))
""",
    ),
    (
        "iterator-rebuilt",
        TRAINING,
        """\
for i in range(9):
    for x in ds.take(1):  #!
        step(x)
""",
    ),
    (
        "iterator-rebuilt",
        TRAINING,
        """\
for x in ds.take(1):
    step(x)
for e in range(3):
    for x in ds.take(1):
        print(x)
    for x in ds.take(100):
        step(x)
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
for s in states:
    m.predict(s[None])  #!
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
r = [m.predict(s) for s in states]  #!
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
for e in range(3):
    m.fit(a, b)
    m.predict(val)
m.predict(val)
for k in models:
    k.predict(val)
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
for s in states:
    m.predict_on_batch(s)
    clf.predict(s)
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
class A:
    def act(self, s):
        return m.predict(s)  #!
a = A()
while True:
    a.act(state())
""",
    ),
    (
        "predict-in-loop",
        MODEL,
        """\
def final(x):
    return m.predict(x)
final(3)
""",
    ),
    (
        "predict-in-loop",
        TF2,
        """\
class W(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.predict(self.x)  #!
    def on_epoch_end(self, epoch, logs=None):
        self.model.predict(self.x)
""",
    ),
    (
        "many-session-runs",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        b = np.ones(i)
        s.run(y, {x: b})  #!
        s.run(y2, {x: b})
""",
    ),
    (
        "many-session-runs",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        b = np.ones(i)
        b = s.run(y, {x: b})
        s.run(y2, {x: b})
""",
    ),
    (
        "many-session-runs",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        b = np.ones(i)
        s.run(y, {x: b})
        if i % 100 == 0:
            s.run(y2, {x: b})
        s.run(y3, {x: t})
""",
    ),
    (
        "many-session-runs",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        b = np.ones(i)
        s.run(y, {x: b})
        s.run([y, y2], {x: b})
""",
    ),
    (
        "hoarded-tensors",
        TRAINING,
        """\
h = []
for x in ds:
    h.append(step(x))  #!
""",
    ),
    (
        "hoarded-tensors",
        TRAINING,
        """\
h = []
for e in range(3):
    for x in ds:
        loss = step(x)
        h.append(loss)  #!
""",
    ),
    (
        "hoarded-tensors",
        TRAINING,
        """\
h = []
for x in ds:
    h.append(float(step(x)))
    h.append(step(x).numpy())
out = []
for x in ds:
    out.append(m(x))
""",
    ),
    (
        "hoarded-tensors",
        TRAINING,
        """\
for e in range(3):
    h = []
    for x in ds:
        h.append(step(x))
""",
    ),
    (
        "hoarded-tensors",
        TRAINING,
        """\
h = []
for x in ds:
    h.append(step(x))
    if len(h) > 10:
        h.clear()
""",
    ),
    (
        "unrolled-loop",
        TF2,
        """\
N = 500
@tf.function
def f(x):
    for i in range(N):  #!
        x = tf.add(x, 1.0)
    return x
""",
    ),
    (
        "unrolled-loop",
        TF2,
        """\
@tf.function
def f(x):
    for i in range(3):
        x = tf.add(x, 1.0)
    for i in tf.range(500):
        x = tf.add(x, 1.0)
    for i in range(500):
        pass
    for i in range(490, 500):
        x = tf.add(x, 1.0)
    return x
for i in range(500):
    tf.add(1, 2)
""",
    ),
    (
        "kernels-rebuilt",
        TRAINING,
        """\
for x in ds:
    tf.random.set_seed(1)  #!
    step(x)
""",
    ),
    (
        "kernels-rebuilt",
        TRAINING,
        """\
for s in range(3):
    tf.random.set_seed(s)
    for x in ds:
        step(x)
""",
    ),
    (
        "kernels-rebuilt",
        TRAINING,
        """\
def again():
    tf.random.set_seed(1)  #!
for x in ds:
    again()
    step(x)
""",
    ),
    (
        "feed-dict",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        s.run(y, {x: [q * 2 for q in rows]})  #!
""",
    ),
    (
        "feed-dict",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        b = data[i].tolist()
        s.run(y, feed_dict={x: b})  #!
""",
    ),
    (
        "feed-dict",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        s.run(y, {x: data[i]})
        s.run(y, {x: [0.5]})
        s.run(y, {x: np.array([q for q in rows])})
""",
    ),
    (
        "host-sync",
        TRAINING,
        """\
for x in ds:
    step(x)
    w = m.get_weights()  #!
""",
    ),
    (
        "host-sync",
        TRAINING,
        """\
ws = [tf.Variable(1.), tf.Variable(2.)]
for x in ds:
    step(x)
    w = [v.numpy() for v in ws]  #!
""",
    ),
    (
        "host-sync",
        TRAINING,
        """\
for i, x in enumerate(ds):
    loss = step(x)
    print(float(loss), loss.numpy())
    if i % 100 == 0:
        m.get_weights()
m.get_weights()
""",
    ),
    (
        "variables-in-loop",
        TRAINING,
        """\
for x in ds:
    mean = tf.keras.metrics.Mean()  #!
    mean.update_state(step(x))
""",
    ),
    (
        "variables-in-loop",
        TRAINING,
        """\
from keras.optimizers import SGD as Descent
def fresh():
    return tf.Variable(1.0)  #!
for x in ds:
    v = fresh()
    step(x)
for x in ds:
    p = Descent(0.1)  #!
    step(x)
""",
    ),
    (
        "variables-in-loop",
        TRAINING,
        """\
for kind in kinds:
    v = tf.Variable(1.0)
    p = tf.keras.optimizers.SGD(0.1)
    p.apply_gradients([(1.0, v)])
""",
    ),
    (
        "variables-in-loop",
        TRAINING,
        """\
for e in range(3):
    mean = tf.keras.metrics.Mean()
    for i, x in enumerate(ds):
        mean.update_state(step(x))
        if i % 100 == 0:
            v = tf.Variable(1.0)
        if i % 10:
            continue
        w = tf.Variable(1.0)
layers = [tf.Variable(1.0) for _ in range(3)]
for x in ds:
    try:
        step(x)
    except ValueError:
        w = tf.Variable(1.0)
""",
    ),
    (
        "variables-in-loop",
        GRAPH,
        """\
with tf.Session() as s:
    for i in range(10):
        v = tf.Variable(1.0)
        s.run(y, {x: 1})
""",
    ),
    (
        "model-rebuilt",
        TF2,
        """\
from keras import Sequential, layers
def build():
    m = Sequential([layers.Dense(1)])
    m.compile("adam", "mse")
    return m
for train, test in folds.split(x):
    m = build()  #!
    m.fit(x[train], y[train])
""",
    ),
    (
        "model-rebuilt",
        TF2,
        """\
def fold(train):
    m = tf.keras.Sequential([tf.keras.layers.Dense(1)])  #!
    m.compile("adam", "mse")
    m.fit(x[train], y[train])
    return m.evaluate(x, y)
for train in folds:
    scores.append(fold(train))
""",
    ),
    (
        "model-rebuilt",
        MODEL,
        """\
for e in range(20):
    m.compile(tf.keras.optimizers.SGD(0.1 / (e + 1)), "mse")  #!
    m.fit(x, y)
""",
    ),
    (
        "model-rebuilt",
        TF2,
        """\
from keras import Sequential, layers
def build(width=1):
    m = Sequential([layers.Dense(width)])
    m.compile("adam", "mse")
    return m
for i in range(3):
    m = build()
    m.fit(x, y)
for width in widths:
    m = build(width)
    m.fit(x, y)
for train in folds:
    m = build()
    m.fit(x[train], y[train])
    models.append(m)
for train in folds:
    tf.keras.backend.clear_session()
    m = build()
    m.fit(x[train], y[train])
for seed in seeds:
    tf.keras.utils.set_random_seed(seed)
    m = build()
    m.fit(x, y)
for train in folds:
    m = build()
    m.predict(x[train])
""",
    ),
    (
        "model-rebuilt",
        MODEL,
        """\
for layer in m.layers:
    layer.trainable = True
    m.compile("adam", "mse")
    m.fit(x, y)
for loss in losses:
    m.compile("adam", loss)
    m.fit(x, y)
for other in others:
    other.compile("adam", "mse")
    other.fit(x, y)
""",
    ),
    (
        "checkpoint-cost",
        TRAINING,
        """\
manager = tf.train.CheckpointManager(tf.train.Checkpoint(m=m), "out", max_to_keep=2)
for x in ds:
    step(x)
    manager.save()  #!
    m.save_weights("last.weights.h5")  #!
""",
    ),
    (
        "checkpoint-cost",
        TRAINING,
        """\
manager = tf.train.CheckpointManager(tf.train.Checkpoint(m=m), "out", max_to_keep=2)
rare = tf.train.CheckpointManager(tf.train.Checkpoint(m=m), "out", 2, step_counter=o.iterations, checkpoint_interval=9)
for e in range(9):
    step(first)
    for i, x in enumerate(ds):
        step(x)
        rare.save()
        if i % 100 == 0:
            manager.save()
    manager.save()
def keep(i):
    if i % 100:
        return
    manager.save()
for i, x in enumerate(ds):
    step(x)
    keep(i)
    i % 100 == 0 and manager.save()
    picture.save("x.png")
""",
    ),
    (
        "checkpoint-cost",
        GRAPH,
        """\
saver = tf.train.Saver()
with tf.Session() as s:
    for e in range(10):
        for i in range(10):
            s.run(y, {x: 1})
        s.run(y, {x: 2})
        saver.save(s, "model")
    for i in range(10):
        s.run(y, {x: 1})
        saver.save(s, "model")  #!
""",
    ),
    (
        "checkpoint-cost",
        TF2,
        """\
tf.keras.callbacks.ModelCheckpoint("m.keras", save_freq=1)  #!
tf.keras.callbacks.BackupAndRestore("b", 1)  #!
tf.keras.callbacks.ModelCheckpoint("m.keras", save_freq="epoch")
tf.keras.callbacks.ModelCheckpoint("m.keras", save_freq=500)
""",
    ),
    (
        "gc-pauses",
        TRAINING,
        """\
import gc
for e in range(3):
    gc.collect()
    for x in ds:
        step(x)
        gc.collect()  #!
""",
    ),
    (
        "summary-cost",
        TRAINING,
        """\
tf.keras.callbacks.TensorBoard("logs", update_freq="batch")  #!
tf.keras.callbacks.TensorBoard("logs", update_freq=1)  #!
tf.keras.callbacks.TensorBoard("logs", update_freq="epoch")
tf.keras.callbacks.TensorBoard("logs")
for i, x in enumerate(ds):
    loss = step(x)
    tf.summary.scalar("loss", loss, i)
    tf.summary.histogram("w", w, i)  #!
    if i % 100 == 0:
        tf.summary.image("w", w, i)
""",
    ),
    (
        "summary-cost",
        TRAINING,
        """\
for i, x in enumerate(ds):
    with tf.summary.record_if(i % 100 == 0):
        loss = step(x)
        tf.summary.histogram("w", w, i)
""",
    ),
    (
        "profiler-left-on",
        TRAINING,
        """\
tf.profiler.experimental.start("logs")  #!
tf.debugging.experimental.enable_dump_debug_info("dump")  #!
tf.keras.callbacks.TensorBoard("logs", profile_batch=(1, 1000))  #!
tf.keras.callbacks.TensorBoard("logs", profile_batch=(10, 20))
tf.keras.callbacks.TensorBoard("logs", profile_batch=0)
""",
    ),
    (
        "profiler-left-on",
        TRAINING,
        """\
for i, x in enumerate(ds):
    if i == 10:
        tf.profiler.experimental.start("logs")
    step(x)
tf.profiler.experimental.stop()
if debugging:
    tf.debugging.experimental.enable_dump_debug_info("dump")
""",
    ),
    (
        "profiler-left-on",
        GRAPH,
        """\
full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
with tf.Session() as s:
    for i in range(10):
        s.run(y, {x: 1}, options=full)  #!
        if i == 3:
            s.run(y, {x: 1}, options=full)
""",
    ),
]


@pytest.mark.parametrize(
    ("cause", "text"),
    [(name, head + body) for name, head, body in CASES],
    ids=[name for name, _, _ in CASES],
)
def test_a_cause_is_seen_at_the_marked_lines_only(cause: str, text: str) -> None:
    found = by_id(cause)
    assert found is not None
    marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("#!")]
    assert sorted(spot.line for spot in found.spot(Source("train.py", text))) == marked
