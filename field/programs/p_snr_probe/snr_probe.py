"""Follows the signal-to-noise ratio of the gradient through a training run.

Two phases (drift, diffusion) as in work on the information bottleneck: the ratio of the mean of
the gradient to its standard deviation, per layer, over each window of updates.
"""
import argparse
import json
import os
import tempfile

import numpy as np
import tensorflow as tf


def blobs(n, dim, classes, seed):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1.0, (classes, dim))
    y = rng.integers(0, classes, n)
    x = centres[y] + rng.normal(0, 2.2, (n, dim))
    return x.astype(np.float32), y.astype(np.int32)


class Net(tf.keras.Model):
    def __init__(self, widths, classes):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(w, activation="tanh") for w in widths]
        self.out = tf.keras.layers.Dense(classes)

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        return self.out(x)


class GradientProbe:
    """Collects gradients over a window and reports |mean| / std for each weight matrix."""

    def __init__(self, names, window):
        self.names = names
        self.window = window
        self.trace = []
        self.report = []

    def update(self, step, grads):
        self.trace.append([g.numpy() for g in grads])
        if (step + 1) % self.window == 0:
            self.flush(step)

    def flush(self, step):
        row = {"step": step + 1}
        recent = self.trace[-self.window:]
        for i, name in enumerate(self.names):
            stack = np.stack([t[i] for t in recent])
            mean, std = stack.mean(0), stack.std(0)
            row[name] = float(np.linalg.norm(mean) / (np.linalg.norm(std) + 1e-12))
        self.report.append(row)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=700)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--window", type=int, default=50)
    ap.add_argument("--widths", default="256,256,128")
    ap.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "snr.json"))
    args = ap.parse_args()

    tf.keras.utils.set_random_seed(0)
    x, y = blobs(20000, 512, 20, 0)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).repeat().batch(args.batch).take(args.steps)
    model = Net([int(w) for w in args.widths.split(",")], 20)
    model(x[:1])
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    opt = tf.keras.optimizers.SGD(0.02, momentum=0.9)
    kernels = [i for i, v in enumerate(model.trainable_variables) if v.shape.rank == 2]
    probe = GradientProbe(["layer%d" % k for k in range(len(kernels))], args.window)

    @tf.function
    def train_step(xb, yb):
        with tf.GradientTape() as tape:
            loss = loss_fn(yb, model(xb, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return loss, [grads[i] for i in kernels]

    for step, (xb, yb) in enumerate(ds):
        loss, grads = train_step(xb, yb)
        probe.update(step, grads)
        if (step + 1) % 100 == 0:
            row = probe.report[-1]
            print("step %4d loss %.4f  " % (step + 1, float(loss)),
                  "  ".join("%s %.3f" % (k, v) for k, v in row.items() if k != "step"))
    with open(args.out, "w") as f:
        json.dump(probe.report, f)


if __name__ == "__main__":
    main()
