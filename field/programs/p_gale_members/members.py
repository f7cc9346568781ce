import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class Member:
    """One network of the ensemble: predicts mean and log-variance of the gust speed."""

    def __init__(self, index, n_features, hidden, lr):
        self.index = index
        self.rng = np.random.default_rng(100 + index)
        init = lambda k: tf.keras.initializers.GlorotUniform(seed=1000 * index + k)
        inp = tf.keras.Input((n_features,))
        x = inp
        for k, h in enumerate(hidden):
            x = layers.Dense(h, activation="swish", kernel_initializer=init(k))(x)
        self.net = tf.keras.Model(inp, layers.Dense(2, kernel_initializer=init(99))(x))
        self.opt = tf.keras.optimizers.AdamW(lr, weight_decay=1e-4)
        self.opt.build(self.net.trainable_variables)

    def bootstrap(self, n):
        return self.rng.integers(0, n, n)

    def nll(self, x, y, training):
        mean, logvar = tf.split(self.net(x, training=training), 2, axis=-1)
        logvar = tf.clip_by_value(logvar, -6.0, 4.0)
        return tf.reduce_mean(0.5 * logvar + 0.5 * tf.square(y - mean) * tf.exp(-logvar))

    def update(self, x, y):
        noise = tf.random.normal(tf.shape(x), stddev=0.01)
        with tf.GradientTape() as tape:
            loss = 0.5 * (self.nll(x, y, True) + self.nll(x + noise, y, True))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def predict(self, x):
        mean, logvar = tf.split(self.net(x), 2, axis=-1)
        return mean, tf.exp(logvar)
