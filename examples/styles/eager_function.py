# An eager step in a function of its own.
# steps: 50
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


def train_step(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients((g, v) for g, v in zip(gradients, model.trainable_variables))
    return loss


def train_epoch():
    for bx, by in data:  # <-- loop
        loss = train_step(bx, by)
    return loss


for epoch in range(5):
    loss = train_epoch()
print("loss", round(float(loss), 4))
