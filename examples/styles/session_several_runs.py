# A TF1 loop with several runs per step: one trains, the others only look.
# steps: 50
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
rng = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [None, 8])
y = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable("w", [8, 1])
b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
error = tf.matmul(x, w) + b - y
loss = tf.reduce_mean(tf.square(error))
inputs, targets = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")

train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
distance = tf.reduce_mean(tf.abs(error))
session = tf.Session()
session.run(tf.global_variables_initializer())
for step in range(50):  # <-- loop
    rows = rng.randint(0, 320, 32)
    feed = {x: inputs[rows], y: targets[rows]}
    before = session.run(loss, feed)
    session.run(train, feed)
    after = session.run([loss, distance], feed)
print("loss", round(float(after[0]), 4))
