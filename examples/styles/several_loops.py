# Two loops in one script: warm-up, then training.
# steps: 30, 40
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for bx, by in data.repeat(3):  # <-- loop
    loss = train_step(bx, by)
print("warm", round(float(loss), 4))
optimizer.learning_rate.assign(0.001)
for bx, by in data.repeat(4):  # <-- loop
    loss = train_step(bx, by)
print("loss", round(float(loss), 4))
