# Keras `fit` with a `train_step` of its own.
# steps: 50
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        bx, by = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(bx, training=True) - by) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


model = Model()
model.compile(optimizer="adam")
history = model.fit(x, y, batch_size=32, epochs=5, verbose=0)  # <-- loop
print("epochs", len(history.history["loss"]))
