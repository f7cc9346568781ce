import numpy as np
import tensorflow as tf

SIZE = 256
BATCH = 4


class PatchNet(tf.keras.Model):
    """Keeps a running gradient norm, so train_step is spelled out."""

    def __init__(self):
        super().__init__()
        self.convs = [tf.keras.layers.Conv2D(f, 3, padding="same", activation="relu") for f in (24, 24, 48)]
        self.pool = tf.keras.layers.MaxPooling2D()
        self.gap = tf.keras.layers.GlobalAveragePooling2D()
        self.out = tf.keras.layers.Dense(1)
        self.gnorm = tf.keras.metrics.Mean(name="gnorm")

    def call(self, x):
        for conv in self.convs:
            x = self.pool(conv(x))
        return self.out(self.gap(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.gnorm.update_state(tf.linalg.global_norm(grads))
        return {"loss": loss, "gnorm": self.gnorm.result()}


rng = np.random.default_rng(0)
patches = rng.normal(size=(48, SIZE, SIZE, 3)).astype("float32")
tumour = rng.integers(0, 2, (48, 1)).astype("float32")
patches[tumour[:, 0] == 1] += 0.3

ds = tf.data.Dataset.from_tensor_slices((patches, tumour)).shuffle(48).batch(BATCH)
net = PatchNet()
net.compile(tf.keras.optimizers.Adam(1e-3), tf.keras.losses.BinaryCrossentropy(from_logits=True))
net.fit(ds, epochs=3, verbose=2)
