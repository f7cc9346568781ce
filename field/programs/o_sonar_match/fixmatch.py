import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

from options import Options
from sonar import LabelledSet, UnlabelledPool, snippets


def classifier(size, classes):
    return keras.Sequential([
        keras.Input((size, size, 1)),
        keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(classes),
    ])


class FixMatch:
    def __init__(self, opt: Options):
        self.opt = opt
        self.net = classifier(opt.size, opt.classes)
        self.optimizer = keras.optimizers.Adam(opt.lr)
        self.optimizer.build(self.net.trainable_variables)
        self.sup = keras.metrics.Mean()
        self.uns = keras.metrics.Mean()

    @tf.function
    def update(self, x, y, u_weak, u_strong, weight):
        pseudo = tf.nn.softmax(self.net(u_weak, training=False))
        conf = tf.cast(tf.reduce_max(pseudo, -1) > self.opt.threshold, tf.float32)
        target = tf.argmax(pseudo, -1)
        with tf.GradientTape() as tape:
            ls = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, self.net(x, training=True)))
            lu = tf.nn.sparse_softmax_cross_entropy_with_logits(target, self.net(u_strong, training=True))
            lu = tf.reduce_mean(lu * conf)
            loss = ls + weight * lu
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        self.sup.update_state(ls)
        self.uns.update_state(lu)

    def accuracy(self, x, y):
        return float(np.mean(self.net.predict(x, batch_size=200, verbose=0).argmax(-1) == y))

    def fit(self, labelled, pool, test):
        t0 = time.time()
        for epoch in range(self.opt.epochs):
            self.sup.reset_state()
            self.uns.reset_state()
            weight = self.opt.weight(epoch)
            for x, y in labelled:
                u_weak, u_strong = pool.draw()
                self.update(x, y, u_weak, u_strong, weight)
            print("epoch %d  sup %.3f  uns %.3f (x%.2f)  test %.3f  %.1fs" % (
                epoch, self.sup.result(), self.uns.result(), weight, self.accuracy(*test), time.time() - t0))


if __name__ == "__main__":
    o = Options()
    keras.utils.set_random_seed(o.seed)
    rng = np.random.default_rng(o.seed)
    xl, yl = snippets(o.labelled, o.size, o.classes, rng)
    xu, _ = snippets(o.unlabelled, o.size, o.classes, rng)
    xt, yt = snippets(o.test, o.size, o.classes, rng)
    FixMatch(o).fit(LabelledSet(xl, yl, o.batch), UnlabelledPool(xu, o.batch * o.ratio), (xt, yt))
