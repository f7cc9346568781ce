# expect: over-fetching
# steps: 150
"""TF1 metric learning that still fetches the matrix of all similarities, a leftover from debugging."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
vectors = rng.normal(size=(4096, 128)).astype("float32")

x = tf.placeholder(tf.float32, [None, 128])
weights = tf.get_variable("weights", [128, 128])
embedded = tf.nn.l2_normalize(tf.matmul(x, weights), axis=1)
near, far = embedded[0::2], embedded[1::2]
loss = tf.reduce_mean(tf.square(tf.reduce_sum(near * far, axis=1)))
similarities = tf.nn.softmax(tf.matmul(embedded, embedded, transpose_b=True))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(150):
        batch = vectors[rng.integers(0, 4096, 1024)]
        _, value, matrix = session.run([train, loss, similarities], {x: batch})  # <-- over-fetching
        if step % 50 == 0:
            print(f"step {step}: loss {value:.4f}")
