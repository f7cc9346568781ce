# A TF1 loop whose update is written by hand with `assign`.
# steps: 40
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

slope, shift = tf.gradients(loss, [w, b])
update = tf.group(tf.assign(w, w - 0.05 * slope), tf.assign_sub(b, 0.05 * shift))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    step = 0
    while step < 40:  # <-- loop
        session.run(update, {x: inputs, y: targets})
        step += 1
    print("loss", round(float(session.run(loss, {x: inputs, y: targets})), 4))
