# expect: summary-cost
# steps: 150
"""Writes all weights for TensorBoard after every step."""

import shutil
import tempfile

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([2048, 64])
y = tf.random.normal([2048, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).repeat()
layers = [tf.keras.layers.Dense(256, activation="relu") for _ in range(3)]
model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
folder = tempfile.mkdtemp()
writer = tf.summary.create_file_writer(folder)


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step, (bx, by) in enumerate(data.take(150)):
    loss = train(bx, by)
    with writer.as_default(step=step):
        tf.summary.write("loss", loss)
        for weight in model.trainable_variables:
            tf.summary.write(weight.path, weight.value)  # <-- summary-cost
print("loss", round(float(loss), 3))
shutil.rmtree(folder)
