from collections import defaultdict

import tensorflow as tf
from tensorflow import keras


def embedder(size, dim):
    return keras.Sequential([
        keras.Input((size, size, 1)),
        keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(dim),
    ])


class CenterTrainer:
    """Softmax loss plus the distance to a running centre per person."""

    def __init__(self, source, dim=64, weight=0.01, momentum=0.9):
        self.source = source
        self.net = embedder(24, dim)
        self.taps = keras.Model(self.net.inputs, [self.net.layers[1].output, self.net.outputs[0]])
        self.head = keras.layers.Dense(source.people)
        self.head.build((None, dim))
        self.centers = tf.Variable(tf.zeros([source.people, dim]), trainable=False)
        self.weight, self.momentum = weight, momentum
        self.opt = keras.optimizers.Adam(1e-3)
        self.log = defaultdict(list)

    @tf.function
    def update(self, x, who):
        with tf.GradientTape() as tape:
            maps, z = self.taps(x, training=True)
            own = tf.gather(self.centers, who)
            ce = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(who, self.head(z)))
            spread = tf.reduce_mean(tf.reduce_sum(tf.square(z - own), 1))
            loss = ce + self.weight * spread
        variables = self.net.trainable_variables + self.head.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        self.centers.scatter_nd_sub(who[:, None], (1 - self.momentum) * (own - z))
        return {"loss": loss, "spread": spread, "maps": maps}

    def fit(self, steps, report):
        for n in range(1, steps + 1):
            x, who = self.source.batch()
            for name, value in self.update(x, who).items():
                self.log[name].append(value)
            if n % report == 0:
                print("%4d  loss %.3f  spread %.3f  active %.2f" % (
                    n, self.log["loss"][-1], self.log["spread"][-1],
                    tf.reduce_mean(tf.cast(self.log["maps"][-1] > 0, tf.float32))))
