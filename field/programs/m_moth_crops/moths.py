import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIDE = 40
KINDS = 6


class ZoomCrop(layers.Layer):
    """Random crop and zoom plus a brightness change, a different one for each picture."""

    def __init__(self, out_side, lowest=0.6, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.out_side = out_side
        self.lowest = lowest
        self.rng_seed = seed

    def draw(self, n):
        size = tf.random.uniform((n, 1), self.lowest, 1.0, seed=self.rng_seed)
        corner = tf.random.uniform((n, 2), seed=self.rng_seed + 1) * (1.0 - size)
        gain = tf.random.uniform((n,), 0.8, 1.2, seed=self.rng_seed + 2)
        return tf.concat([corner, corner + size], axis=1), gain

    def augment(self, pictures, boxes, gains):
        rows = tf.range(tf.shape(pictures)[0])
        crop = tf.image.crop_and_resize(pictures, boxes, rows, (self.out_side, self.out_side))
        mean = tf.reduce_mean(crop, axis=(1, 2), keepdims=True)
        return tf.clip_by_value((crop - mean) * gains[:, None, None, None] + mean, 0.0, 1.0)

    def call(self, pictures, training=False):
        if not training:
            return tf.image.resize(pictures, (self.out_side, self.out_side))
        boxes, gains = self.draw(tf.shape(pictures)[0])
        return self.augment(pictures, boxes, gains)


def encoder(width=12):
    return keras.Sequential([
        layers.Conv2D(width, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(width * 2, 3, strides=2, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(32),
    ])


class SimMoth(keras.Model):
    """SimCLR on unlabelled light-trap pictures."""

    def __init__(self, temperature=0.2):
        super().__init__()
        self.view_a = ZoomCrop(32, seed=10)
        self.view_b = ZoomCrop(32, seed=20)
        self.encoder = encoder()
        self.temperature = temperature
        self.tracker = keras.metrics.Mean(name="contrast")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, x):
        return self.encoder(self.view_a(x, training=False))

    def contrast(self, z):
        n = tf.shape(z)[0]

        def anchor(i):
            sims = tf.linalg.matvec(z, z[i]) / self.temperature
            others = tf.concat([sims[:i], sims[i + 1:]], axis=0)
            return tf.reduce_logsumexp(others) - sims[(i + n // 2) % n]

        return tf.reduce_mean(tf.map_fn(anchor, tf.range(n), fn_output_signature=tf.float32))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            za = tf.math.l2_normalize(self.encoder(self.view_a(x, training=True), training=True), axis=1)
            zb = tf.math.l2_normalize(self.encoder(self.view_b(x, training=True), training=True), axis=1)
            loss = self.contrast(tf.concat([za, zb], axis=0))
        variables = self.encoder.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.tracker.update_state(loss)
        return {"contrast": self.tracker.result()}


def pictures(n, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, KINDS, n)
    grid = np.linspace(-1, 1, SIDE, dtype="float32")
    yy, xx = np.meshgrid(grid, grid, indexing="ij")
    wing = np.exp(-((np.abs(xx)[None] - 0.1 * kind[:, None, None] / KINDS - 0.4) ** 2 * 8 + yy[None] ** 2 * 3))
    bars = 0.5 + 0.5 * np.sin(yy[None] * (4 + 2 * kind[:, None, None]) + rng.uniform(0, 3, (n, 1, 1)))
    hue = rng.uniform(0.4, 1.0, (n, 1, 1, 3))
    img = (wing * bars)[..., None] * hue + rng.normal(0, 0.03, (n, SIDE, SIDE, 3))
    return np.clip(img, 0, 1).astype("float32"), kind


def linear_probe(z, kind):
    half = len(z) // 2
    z = np.c_[z, np.ones(len(z))]
    w, *_ = np.linalg.lstsq(z[:half], np.eye(KINDS)[kind[:half]], rcond=None)
    return float(np.mean(np.argmax(z[half:] @ w, 1) == kind[half:]))


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    x, kind = pictures(2048)
    ds = tf.data.Dataset.from_tensor_slices(x).cache().shuffle(2048, seed=0).batch(128, drop_remainder=True)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    model = SimMoth()
    model.compile(optimizer=keras.optimizers.Adam(2e-3))
    model.fit(ds, epochs=24, verbose=2)
    codes = model.predict(x, batch_size=256, verbose=0)
    print("linear probe accuracy: %.3f" % linear_probe(codes, kind))
