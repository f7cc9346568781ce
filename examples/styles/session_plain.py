# A TF1 loop with one `Session.run` per step.
# steps: 60
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
rng = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [None, 8])
y = tf.placeholder(tf.float32, [None, 1])
w1 = tf.get_variable("w1", [8, 16])
w2 = tf.get_variable("w2", [16, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
inputs, targets = rng.rand(320, 8), rng.rand(320, 1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(60):  # <-- loop
        rows = rng.randint(0, 320, 32)
        _, value = session.run([train, loss], {x: inputs[rows], y: targets[rows]})
    print("loss", round(float(value), 4))
