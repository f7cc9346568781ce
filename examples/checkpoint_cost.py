# expect: checkpoint-cost
# steps: 200
"""A training that saves everything after every step, for fear of losing one."""
import shutil
import tempfile

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([2048, 256])
y = tf.random.normal([2048, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(256).repeat(25)
model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-3)
folder = tempfile.mkdtemp()
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, optimizer=optimizer), folder, max_to_keep=2)


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step, (bx, by) in enumerate(data):
    loss = train(bx, by)
    manager.save()  # <-- checkpoint-cost
print("loss", round(float(loss), 3))
shutil.rmtree(folder)
