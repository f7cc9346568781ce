"""Adversarial training (PGD) of a small digit classifier."""
import numpy as np
import tensorflow as tf


class Attack:
    def __init__(self, model, eps=0.1, alpha=0.03, iters=5):
        self.model = model
        self.eps, self.alpha, self.iters = eps, alpha, iters
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def perturb(self, x, y):
        def ascend(adv):
            with tf.GradientTape() as tape:
                tape.watch(adv)
                value = self.loss(y, self.model(adv, training=False))
            adv = adv + self.alpha * tf.sign(tape.gradient(value, adv))
            return tf.clip_by_value(tf.clip_by_value(adv, x - self.eps, x + self.eps), 0.0, 1.0)

        ascend = tf.function(ascend)
        adv = tf.clip_by_value(x + tf.random.uniform(x.shape, -self.eps, self.eps), 0.0, 1.0)
        for _ in range(self.iters):
            adv = ascend(adv)
        return adv


class RobustTrainer:
    def __init__(self):
        self.model = tf.keras.Sequential([
            tf.keras.Input((16, 16, 1)),
            tf.keras.layers.Conv2D(12, 3, activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(24, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ])
        self.attack = Attack(self.model)
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def update(self, clean, adv, y):
        with tf.GradientTape() as tape:
            value = 0.5 * self.loss(y, self.model(clean, training=True)) + \
                0.5 * self.loss(y, self.model(adv, training=True))
        grads = tape.gradient(value, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return value

    def run(self, ds):
        for n, (x, y) in enumerate(ds):
            adv = self.attack.perturb(x, y)
            value = self.update(x, adv, y)
            if n % 10 == 0:
                print("batch", n, "robust loss", round(float(value), 4))


def digits(n, seed=0):
    rng = np.random.default_rng(seed)
    proto = rng.random((10, 16, 16, 1))
    y = rng.integers(0, 10, n)
    x = np.clip(proto[y] + 0.15 * rng.normal(size=(n, 16, 16, 1)), 0, 1)
    return x.astype("float32"), y.astype("int64")


if __name__ == "__main__":
    tf.random.set_seed(4)
    x, y = digits(5120)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(5120, seed=4).batch(64, drop_remainder=True)
    RobustTrainer().run(data)
