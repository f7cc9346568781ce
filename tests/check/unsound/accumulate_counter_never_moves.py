# ruff: noqa
# expect: accumulation-reset 15

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
adam = tf.keras.optimizers.Adam()
dataset = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(20)
acc = [tf.zeros([2, 1]), tf.zeros([1])]
turn = 0
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(model(x) - y))
    acc = [a + g for a, g in zip(acc, tape.gradient(loss, model.trainable_weights))]
    if (turn + 1) % 4 == 0:
        adam.apply_gradients(zip(acc, model.trainable_weights))
        acc = [tf.zeros_like(a) for a in acc]
