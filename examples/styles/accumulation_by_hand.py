# Gradients accumulated by hand over five batches per update.
# steps: 10
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)

model.build([None, 8])
sums = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
for step, (bx, by) in enumerate(data.repeat(5)):  # <-- loop
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    for total, gradient in zip(sums, tape.gradient(loss, model.trainable_variables)):
        total.assign_add(gradient / 5.0)
    if (step + 1) % 5 == 0:
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
        for total in sums:
            total.assign(tf.zeros_like(total))
print("loss", round(float(loss), 4))
