# expect: profiler-left-on
# steps: 500
"""A profile that was meant for a few steps, and is written for every epoch."""

import shutil
import tempfile

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([512, 16])
y = tf.random.normal([512, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).repeat()
layers = [tf.keras.layers.Dense(16, activation="relu") for _ in range(30)]
model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
folder = tempfile.mkdtemp()
details = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=1)


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for epoch in range(10):
    tf.profiler.experimental.start(folder, details)  # <-- profiler-left-on
    for bx, by in data.take(50):
        loss = train(bx, by)
    tf.profiler.experimental.stop()
print("loss", round(float(loss), 3))
shutil.rmtree(folder)
