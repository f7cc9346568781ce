# `MonitoredTrainingSession` with hooks and a stop hook.
# steps: 45
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

counter = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=counter)
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=45)]) as session:
    while not session.should_stop():  # <-- loop
        _, value = session.run([train, loss], {x: inputs, y: targets})
print("loss", round(float(value), 4))
