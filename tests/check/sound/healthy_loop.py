# ruff: noqa
# expect: nothing

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(1e-3)
metric = tf.keras.metrics.Mean()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    )
    return loss


for epoch in range(3):
    metric.reset_state()
    for i, (x, y) in enumerate(
        tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(50)
    ):
        metric.update_state(step(x, y))
        if (i + 1) % 10 == 0:
            print(epoch, float(metric.result()))
model.save("model.keras")
