# expect: nothing
# steps: 300
"""One checkpoint for each epoch, the last three of them kept: a hundredth of the time."""

import tempfile

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([2048, 1024])
y = tf.random.normal([2048, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(1024).prefetch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


with tempfile.TemporaryDirectory() as folder:
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=3)
    for epoch in range(3):
        for _ in range(50):
            for bx, by in data:
                loss = train(bx, by)
        manager.save()
print("loss", round(float(loss), 3))
