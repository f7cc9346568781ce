"""Programs that look at themselves, or hold objects that nobody else should touch, go on as they do alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.test_transparency import STEPS, alike

LOCALS = """
def run():
    rate, seed = 0.1, 3
    config = locals()
    big = [0.0] * 1000
    train(300)
    for name in config:
        train(30)
    return sorted(config)


def let_go():
    class Big:
        def __del__(self):
            print("freed")
    held = Big()
    train(300)
    del held
    train(1)
    print("after del")


print(run())
let_go()
"""
OBJECTS = """
import collections, importlib.util, threading, types


class Touchy:
    def __getattr__(self, name):
        print("asked for", name)
        raise SystemExit(5)
    __class__ = property(lambda self: print("asked for its class"))
    __len__ = __iter__ = __bool__ = __repr__ = lambda self: print("touched")


class Endless(list):
    def __iter__(self):
        while True:
            yield 1
    def __len__(self):
        print("asked for its length")
        return 1 << 40


class Lazy(types.ModuleType):
    def __getattribute__(self, name):
        print("loaded by", name)
        return super().__getattribute__(name)


class Holder:
    def __init__(self):
        self.history = []
    @property
    def nbytes(self):
        print("computed")


sys.modules["lazily"] = Lazy("lazily")
holder, kept, endless, table = Holder(), [], Endless(), {}
touchy = Touchy()
for number in range(1200):
    step(tf.constant(2.0))
    holder.history.append(Touchy())
    kept.append(holder)
    list.append(endless, number)
    table[Touchy] = touchy
del sys.modules["lazily"]
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
print(threading.active_count(), len(kept))
"""
KERAS = """
import functools


class Fixed(type):
    def __setattr__(cls, name, value):
        raise TypeError("fixed")


class Watches(tf.keras.callbacks.Callback, metaclass=Fixed):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch)


class Odd(tf.keras.callbacks.Callback):
    @classmethod
    def on_train_batch_end(cls, batch, logs=None):
        cls.seen = getattr(cls, "seen", 0) + 1
    on_epoch_begin = functools.partial(print, "begins")


class Late:
    def __float__(self):
        raise ZeroDivisionError


class Adds(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["late"] = Late()


class Own(type(tf.Variable(0.0))):
    def __init__(self, value):
        super().__init__(value)
        self._kind = tf.float32
    @property
    def dtype(self):
        return self._kind


x, y = tf.ones([64, 4]), tf.ones([64, 1])
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, callbacks=[Watches(), Odd(), Adds()])
print(Odd.seen)
own = Own(tf.constant(1.0))
optimizer = tf.keras.optimizers.SGD(0.1)
for number in range(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(grads, iter(model.trainable_variables))
print(round(float(loss), 6), own.dtype.name)
"""
PLACES = """
import shutil, tempfile
folder = tempfile.mkdtemp()
train(300)
os.closerange(3, 200)
logs = [open(os.path.join(folder, str(number)), "w", buffering=1) for number in range(12)]
for number in range(400):
    step(tf.constant(2.0))
    for log in logs:
        log.write("x")
time.sleep(0.6)
train(200)
print([os.path.getsize(log.name) for log in logs])
gone = tempfile.mkdtemp()
os.chdir(gone)
shutil.rmtree(gone)
shutil.rmtree(folder)
exec(compile("for _ in range(50): value = float(step(tf.constant(2.0)))", "relative.py", "exec"))
print(round(value, 6))
sys.exit(3)
"""
AT_EXIT = """
import atexit, tempfile
folder = tempfile.mkdtemp()
v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
    more, begin = v1.assign_add(count, 1.0), v1.global_variables_initializer()
session = v1.Session(graph=graph)
session.run(begin)
x, y = tf.ones([8, 4]), tf.ones([8, 1])
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
train(50)
# Last in, first out; and no line of Python calls any of them.
for call, *given in (
    (model.save_weights, os.path.join(folder, "a.weights.h5")), (tf.train.Checkpoint(w=w).save, folder + "/b"),
    (tf.summary.create_file_writer(folder).flush,), (session.run, more), (step, tf.constant(2.0)),
    (step.get_concrete_function(tf.constant(2.0)), tf.constant(2.0)), (tf.data.Dataset.range(3).__iter__,),
    (v1.Session,), (tf.Variable, 2.0), (model.predict, x, None, 0), (model.fit, x, y, None, 1, 0),
    (model.train_on_batch, x, y), (tf.profiler.experimental.stop,),
):
    atexit.register(call, *given)
tf.profiler.experimental.start(folder)
"""


@pytest.mark.parametrize(
    "script",
    [LOCALS, OBJECTS, KERAS, PLACES, AT_EXIT],
    ids=["locals", "objects", "keras", "places", "at exit"],
)
def test_it_goes_on_as_it_does_alone(script: str, tmp_path: Path) -> None:
    alone, under = alike(tmp_path, STEPS + script)
    assert under == alone
