# A step compiled by XLA.
# steps: 80
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)

model.build([None, 8])


@tf.function(jit_compile=True)
def train_step(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


optimizer.build(model.trainable_variables)
for step, (bx, by) in enumerate(data.repeat(8)):  # <-- loop
    loss = train_step(bx, by)
print("loss", round(float(loss), 4))
