# Keras `fit` with `gradient_accumulation_steps`.
# steps: 40
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(gradient_accumulation_steps=4)
model.compile(optimizer=optimizer, loss="mse")
history = model.fit(x, y, batch_size=32, epochs=4, verbose=0)  # <-- loop
print("epochs", len(history.history["loss"]))
