"""Quick fine-tuning of a deep residual MLP on tabular features."""
import argparse
import time

import numpy as np
import tensorflow as tf


class Block(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        init = tf.keras.initializers.GlorotUniform()
        self.up = tf.Variable(init([n_in, n_in * 2]))
        self.down = tf.Variable(init([n_in * 2, n_out]))
        self.gate = tf.Variable(init([n_in, n_out]))
        self.skip = tf.Variable(init([n_in, n_out]))
        self.scale = tf.Variable(tf.ones([n_in]))
        self.shift = tf.Variable(tf.zeros([n_in]))

    def __call__(self, h):
        mean, var = tf.nn.moments(h, axes=[-1], keepdims=True)
        y = (h - mean) * tf.math.rsqrt(var + 1e-5) * self.scale + self.shift
        y = tf.nn.gelu(tf.matmul(y, self.up))
        y = tf.matmul(y, self.down)
        return tf.matmul(h, self.skip) + y * tf.sigmoid(tf.matmul(h, self.gate))


class ResMLP(tf.Module):
    """Pyramid of gated residual blocks, each a little narrower than the one before."""

    def __init__(self, n_in, units, shrink, depth, n_out):
        super().__init__()
        init = tf.keras.initializers.GlorotUniform()
        widths = [units - shrink * k for k in range(depth + 1)]
        self.first = tf.Variable(init([n_in, units]))
        self.blocks = [Block(a, b, name=f"block_{k}") for k, (a, b) in enumerate(zip(widths[:-1], widths[1:]))]
        self.last = tf.Variable(init([widths[-1], n_out]))

    def __call__(self, x):
        h = tf.matmul(x, self.first)
        for b in self.blocks:
            h = b(h)
        return tf.matmul(h, self.last)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=25)
parser.add_argument("--depth", type=int, default=14)
parser.add_argument("--units", type=int, default=128)
parser.add_argument("--shrink", type=int, default=4)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--lr", type=float, default=0.002)
args = parser.parse_args()

tf.keras.utils.set_random_seed(13)
x = np.random.randn(4096, 60).astype("float32")
y = (x[:, 0] * x[:, 1] > 0).astype("int32") + (x[:, 2] > 1).astype("int32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096).repeat().batch(args.batch).take(args.steps)

model = ResMLP(60, args.units, args.shrink, args.depth, 3)


@tf.function(jit_compile=True)
def step(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=by, logits=model(bx)))
    variables = model.trainable_variables
    for v, g in zip(variables, tape.gradient(loss, variables)):
        v.assign_sub(args.lr * g)
    return loss


for n, (bx, by) in enumerate(ds):
    t = time.time()
    loss = step(bx, by)
    print("step %2d  loss %.4f  %.3fs" % (n, float(loss), time.time() - t))
