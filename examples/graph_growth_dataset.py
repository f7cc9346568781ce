# expect: graph-growth
# also: iterator-rebuilt
# steps: 160
"""One iterator that is set back for every epoch, each time by a new data set and a new initializer in the graph."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(128, 10)).astype("float32")
targets = features.sum(axis=1, keepdims=True)

shapes = (tf.TensorShape([None, 10]), tf.TensorShape([None, 1]))
iterator = tf.data.Iterator.from_structure((tf.float32, tf.float32), shapes)
x, y = iterator.get_next()
weights = tf.Variable(tf.zeros([10, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def start_epoch(session):
    dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(32).prefetch(1)  # <-- graph-growth
    session.run(iterator.make_initializer(dataset))


session = tf.Session()
session.run(tf.global_variables_initializer())
for epoch in range(40):
    start_epoch(session)
    for _ in range(4):
        _, value = session.run([train, loss])
print(f"loss {value:.5f}")
