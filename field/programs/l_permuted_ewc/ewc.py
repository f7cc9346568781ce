# Elastic Weight Consolidation on permuted synthetic glyphs (Kirkpatrick et al. 2017)
import time
import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(11)
np.random.seed(11)

N_TASKS = 4
N_TRAIN = 4000
N_TEST = 1000
BATCH = 64
EPOCHS = 3
N_FISHER = 500
LAMBDA = 20000.0


def make_glyphs(n, rng, protos):
    y = rng.randint(0, 10, n)
    x = 0.3 * protos[y] + rng.randn(n, 256)
    return x.astype('float32'), y.astype('int32')


def make_tasks():
    rng = np.random.RandomState(5)
    protos = rng.randn(10, 256)
    tasks = []
    for t in range(N_TASKS):
        perm = rng.permutation(256)
        xtr, ytr = make_glyphs(N_TRAIN, rng, protos)
        xte, yte = make_glyphs(N_TEST, rng, protos)
        tasks.append((xtr[:, perm], ytr, xte[:, perm], yte))
    return tasks


class EWC:
    def __init__(self):
        self.model = keras.Sequential([
            keras.layers.Input((256,)),
            keras.layers.Dense(256, activation='relu'),
            keras.layers.Dense(256, activation='relu'),
            keras.layers.Dense(128, activation='relu'),
            keras.layers.Dense(10),
        ])
        self.opt = keras.optimizers.Adam(1e-3)
        self.ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.fisher = [tf.Variable(tf.zeros_like(w), trainable=False) for w in self.model.trainable_weights]
        self.star = [tf.Variable(w, trainable=False) for w in self.model.trainable_weights]
        self.opt.build(self.model.trainable_variables)

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.ce(y, self.model(x, training=True))
            pen = tf.add_n([tf.reduce_sum(f * tf.square(w - s)) for f, w, s in
                            zip(self.fisher, self.model.trainable_weights, self.star)])
            total = loss + LAMBDA * pen
        g = tape.gradient(total, self.model.trainable_weights)
        self.opt.apply_gradients(zip(g, self.model.trainable_weights))
        return loss

    def sample_grads(self, x, y):
        with tf.GradientTape() as tape:
            logp = tf.nn.log_softmax(self.model(x))
            ll = logp[0, y]
        return tape.gradient(ll, self.model.trainable_weights)

    def consolidate(self, x, y):
        """diagonal of the empirical Fisher at the current weights"""
        acc = [tf.zeros_like(w) for w in self.model.trainable_weights]
        idx = np.random.choice(len(x), N_FISHER, replace=False)
        for i in idx:
            grads = self.sample_grads(x[i:i + 1], y[i])
            acc = [a + tf.square(g) for a, g in zip(acc, grads)]
        for f, s, a, w in zip(self.fisher, self.star, acc, self.model.trainable_weights):
            f.assign_add(a / N_FISHER)
            s.assign(w)

    def accuracy(self, x, y):
        pred = np.argmax(self.model.predict_on_batch(x), -1)
        return (pred == y).mean()


def main():
    tasks = make_tasks()
    ewc = EWC()
    for t, (x, y, _, _) in enumerate(tasks):
        t0 = time.time()
        for ep in range(EPOCHS):
            order = np.random.permutation(len(x))
            last = []
            for s in range(0, len(x) - BATCH + 1, BATCH):
                b = order[s:s + BATCH]
                loss = ewc.train_step(x[b], y[b])
            last.append(float(loss))
        ewc.consolidate(x, y)
        accs = ['%.3f' % ewc.accuracy(xt, yt) for _, _, xt, yt in tasks[:t + 1]]
        tr = sum(float(tf.reduce_sum(f)) for f in ewc.fisher)
        print('task', t, 'trace F %.2f' % tr, 'loss %.4f' % last[-1], 'acc', ' '.join(accs), '(%.1fs)' % (time.time() - t0))


if __name__ == '__main__':
    main()
