# expect: file-growth
# also: checkpoint-cost
# steps: 120
"""A training that keeps all of its checkpoints."""

import shutil
import tempfile

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([2048, 1024])
y = tf.random.normal([2048, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(2048).repeat(120)
model = tf.keras.Sequential([tf.keras.layers.Dense(1024, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
folder = tempfile.mkdtemp()
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=None)  # <-- file-growth


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step, (bx, by) in enumerate(data):
    loss = train(bx, by)
    if step % 6 == 0:
        manager.save()
print("loss", round(float(loss), 3))
shutil.rmtree(folder)
