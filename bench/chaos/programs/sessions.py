import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
x = tf.placeholder(tf.float32, [3])
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum((w - x) ** 2))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(200):
        session.run(train, {x: [1.0, 2.0, step % 3]})
    open("weights.bin", "wb").write(session.run(w).tobytes())
    print(session.run(w), len(tf.get_default_graph().get_operations()))
    print([each.name for each in tf.global_variables()])
    session.run(tf.constant([1.0]), {x: [1.0]})
