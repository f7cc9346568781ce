# A TF1 agent with a target network that follows slowly: its moves are assigned, but not trained.
# steps: 120
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
x = tf.placeholder(tf.float32, [None, 8])
w = tf.get_variable("w", [8, 4])
target = tf.get_variable("target", [8, 4])
wanted = tf.stop_gradient(1.0 + 0.9 * tf.reduce_max(tf.matmul(x, target), axis=1))
loss = tf.reduce_mean(tf.square(tf.reduce_max(tf.matmul(x, w), axis=1) - wanted))
train = tf.train.AdamOptimizer(0.01).minimize(loss, var_list=[w])
follow = target.assign(0.05 * w + 0.95 * target)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(130):  # <-- loop
        batch = rng.normal(size=(32, 8))
        if step >= 10:
            value, _ = session.run([loss, train], {x: batch})
        if step % 4 == 0:
            session.run(follow)
print("loss", round(float(value), 3))
