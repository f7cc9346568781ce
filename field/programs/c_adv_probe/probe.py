"""Finds a small perturbation per batch that flips a classifier's decision."""
import numpy as np
import tensorflow as tf

BATCH = 96
N_BATCHES = 24
INNER_STEPS = 10
EPS = 0.08


def data(n):
    rng = np.random.RandomState(0)
    y = rng.randint(0, 10, n)
    x = rng.rand(n, 40, 40, 3).astype("float32") * 0.4
    x[np.arange(n), y * 4] += 0.5
    return x, y


def victim():
    inp = tf.keras.Input((40, 40, 3))
    h = tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu")(inp)
    h = tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu")(h)
    h = tf.keras.layers.Dense(32, activation="relu")(tf.keras.layers.Flatten()(h))
    return tf.keras.Model(inp, tf.keras.layers.Dense(10)(h))


class Probe:
    """Adam on a perturbation variable, one per batch of images."""

    def __init__(self, model, steps, eps, lr=0.01):
        self.model = model
        self.steps = steps
        self.eps = eps
        self.lr = lr
        self.deltas = []
        self.optimizers = []

    def attack(self, x, y):
        delta = tf.Variable(tf.zeros_like(x))
        opt = tf.keras.optimizers.Adam(self.lr)
        self.deltas.append(delta)
        self.optimizers.append(opt)

        @tf.function
        def inner():
            with tf.GradientTape() as tape:
                logits = self.model(tf.clip_by_value(x + delta, 0.0, 1.0), training=False)
                loss = -tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
                loss += 0.1 * tf.reduce_mean(tf.abs(delta))
            opt.apply_gradients([(tape.gradient(loss, delta), delta)])
            delta.assign(tf.clip_by_value(delta, -self.eps, self.eps))
            return loss

        for _ in range(self.steps):
            loss = inner()
        return loss

    def flipped(self, x, y):
        pred = self.model(x + self.deltas[-1], training=False)
        return float(tf.reduce_mean(tf.cast(tf.argmax(pred, 1) != tf.cast(y, tf.int64), tf.float32)))


def main():
    x, y = data(BATCH * N_BATCHES)
    model = victim()
    probe = Probe(model, INNER_STEPS, EPS)
    rates = []
    for b in range(N_BATCHES):
        xb = tf.constant(x[b * BATCH:(b + 1) * BATCH])
        yb = tf.constant(y[b * BATCH:(b + 1) * BATCH])
        loss = probe.attack(xb, yb)
        rates.append(probe.flipped(xb, yb))
        if b % 6 == 0:
            print(f"batch {b}: loss {float(loss):.3f} flipped {rates[-1]:.2f}")
    print("mean flip rate", np.mean(rates))


if __name__ == "__main__":
    main()
