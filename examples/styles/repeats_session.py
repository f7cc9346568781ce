# A session that only computes: nothing trains, and each run of the loop is a step.
# steps: 80
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 8])
y = tf.reduce_sum(tf.square(x))
with tf.Session() as session:
    total = 0.0
    for step in range(80):  # <-- loop
        total += session.run(y, {x: np.full([4, 8], step, "float32")})
print(total)
