# `tf_keras` (Keras 2): an eager loop.
# steps: 50
import tensorflow as tf
import tf_keras as keras

keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)

for epoch in range(5):
    for bx, by in data:  # <-- loop
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(bx) - by) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print("loss", round(float(loss), 4))
