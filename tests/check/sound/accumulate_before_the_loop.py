# ruff: noqa
# expect: nothing

import tensorflow as tf

N = 4
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 3]), tf.ones([64, 1]))).batch(8)
net.build((None, 3))
total = [tf.zeros_like(v) for v in net.trainable_variables]
for number, (features, labels) in enumerate(data):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(features) - labels) ** 2)
    total = [t + g for t, g in zip(total, tape.gradient(loss, net.trainable_variables))]
    if (number + 1) % N == 0:
        opt.apply_gradients(zip([t / N for t in total], net.trainable_variables))
        total = [tf.zeros_like(v) for v in net.trainable_variables]
