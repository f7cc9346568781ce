# ruff: noqa
# expect: removed-argument 9

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
for epoch in range(10):
    model.optimizer.lr = 0.1 / (epoch + 1)
    model.fit(tf.ones([8, 2]), tf.ones([8, 1]))
