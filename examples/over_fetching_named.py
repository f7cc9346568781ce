# expect: over-fetching
# steps: 200
"""TF1 embeddings whose step returns a dict of all there is; most of it is read in every fiftieth step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)


class Trainer:
    def __init__(self):
        self.rows = tf.placeholder(tf.int32, [None])
        table = tf.get_variable("table", [20000, 64])
        chosen = tf.gather(table, self.rows)
        loss = tf.reduce_mean(tf.square(tf.reduce_sum(chosen, axis=1) - 1.0))
        norms = tf.nn.l2_normalize(table, axis=1)
        self.fetches = {
            "train": tf.train.GradientDescentOptimizer(0.1).minimize(loss),
            "loss": loss,
            "near": tf.matmul(norms[:16], norms, transpose_b=True),
        }
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())

    def step(self):
        return self.session.run(self.fetches, {self.rows: rng.integers(0, 20000, 128)})  # <-- over-fetching


trainer = Trainer()
for number in range(200):
    out = trainer.step()
    if number % 50 == 0:
        print(f"step {number}: loss {out['loss']:.4f}, nearest to 0: {out['near'][0].argsort()[-2]}")
