"""First-order meta-learning (Reptile) on sine tasks with noisy phases."""
import json
import sys

import numpy as np
import tensorflow as tf

CFG = {
    "meta_iterations": 70,
    "inner_steps": 8,
    "shots": 32,
    "inner_lr": 0.02,
    "meta_lr": 0.3,
    "hidden": [64, 64, 64],
    "seed": 21,
}


class SineTask:
    def __init__(self, rng):
        self.amp, self.phase, self.rng = rng.uniform(0.5, 4.0), rng.uniform(0, np.pi), rng

    def sample(self, n):
        x = self.rng.uniform(-5, 5, (n, 1)).astype(np.float32)
        return tf.constant(x), tf.constant((self.amp * np.sin(x + self.phase)).astype(np.float32))


class Mlp(tf.Module):
    def __init__(self, sizes, seed):
        super().__init__()
        gen = np.random.default_rng(seed)
        self.layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            w = gen.normal(0, (2.0 / a) ** 0.5, (a, b)).astype(np.float32)
            self.layers.append((tf.Variable(w), tf.Variable(tf.zeros([b]))))

    def __call__(self, x):
        for w, b in self.layers[:-1]:
            x = tf.nn.elu(tf.matmul(x, w) + b)
        w, b = self.layers[-1]
        return tf.matmul(x, w) + b

    def get(self):
        return [v.numpy() for v in self.trainable_variables]

    def put(self, values):
        for v, value in zip(self.trainable_variables, values):
            v.assign(value)


class InnerLearner:
    """Plain gradient descent on one task; remembers the losses that it saw."""

    def __init__(self, net, lr):
        self.net, self.lr = net, lr
        self.losses = []
        self.update = tf.function(self._update)

    def _update(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x) - y))
        variables = self.net.trainable_variables
        grads, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 5.0)
        for v, g in zip(variables, grads):
            v.assign_sub(self.lr * g)
        return loss

    def adapt(self, task, steps, shots):
        x, y = task.sample(shots)
        for _ in range(steps):
            self.losses.append(self.update(x, y).numpy())
        return self.losses[0], self.losses[-1]


def run(cfg):
    rng = np.random.default_rng(cfg["seed"])
    net = Mlp([1] + cfg["hidden"] + [1], cfg["seed"])
    before, after = [], []
    for it in range(cfg["meta_iterations"]):
        start = net.get()
        learner = InnerLearner(net, cfg["inner_lr"])
        first, last = learner.adapt(SineTask(rng), cfg["inner_steps"], cfg["shots"])
        moved = net.get()
        net.put([a + cfg["meta_lr"] * (b - a) for a, b in zip(start, moved)])
        before.append(first)
        after.append(last)
        if (it + 1) % 10 == 0:
            print("iteration %3d   loss before %.3f   after %.3f" % (it + 1, np.mean(before[-10:]), np.mean(after[-10:])))
    return before, after


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CFG.update(json.loads(sys.argv[1]))
    run(CFG)
