# An eager loop by `optimizer.apply` of Keras 3.
# steps: 50
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
data = tf.data.Dataset.from_tensor_slices((tf.random.normal([320, 8]), tf.ones([320, 1]))).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)

for epoch in range(5):
    for bx, by in data:  # <-- loop
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(bx) - by) ** 2)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
print("loss", round(float(loss), 4))
