# ruff: noqa
# expect: accumulation-reset 15

import tensorflow as tf

STEPS = 4
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 3]), tf.ones([64, 1]))).batch(8)

for number, (features, labels) in enumerate(data):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(features) - labels) ** 2)
    grads = tape.gradient(loss, net.trainable_variables)
    total = [tf.zeros_like(g) for g in grads]
    total = [t + g for t, g in zip(total, grads)]
    if (number + 1) % STEPS == 0:
        opt.apply_gradients(zip([t / STEPS for t in total], net.trainable_variables))
