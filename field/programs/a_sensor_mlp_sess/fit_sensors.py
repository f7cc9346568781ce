import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class Config:
    rows = 60000
    features = 40
    batch = 256
    hidden = [128, 64]
    rounds = 70
    steps_per_round = 10
    lr = 1e-3
    seed = 42


def load(cfg):
    rng = np.random.RandomState(cfg.seed)
    x = rng.randn(cfg.rows, cfg.features).astype("float32")
    w = rng.randn(cfg.features, 1).astype("float32")
    y = np.tanh(x @ w / 6.0) + 0.05 * rng.randn(cfg.rows, 1).astype("float32")
    return x, y.astype("float32")


class Regressor:
    def __init__(self, cfg, x, y):
        self.cfg = cfg
        self.xs = tf.placeholder(tf.float32, x.shape)
        self.ys = tf.placeholder(tf.float32, y.shape)
        ds = tf.data.Dataset.from_tensor_slices((self.xs, self.ys))
        ds = ds.shuffle(cfg.rows, seed=cfg.seed).repeat().batch(cfg.batch).prefetch(1)
        self.iterator = tf.data.make_initializable_iterator(ds)
        bx, by = self.iterator.get_next()
        h = bx
        for n, width in enumerate(cfg.hidden):
            h = tf.nn.relu(self.affine(h, width, "h%d" % n))
        self.loss = tf.reduce_mean(tf.square(self.affine(h, 1, "out") - by))
        self.step = tf.train.AdamOptimizer(cfg.lr).minimize(self.loss)

    @staticmethod
    def affine(x, n, name):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [int(x.shape[-1]), n])
            b = tf.get_variable("b", [n], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b

    def train_round(self, sess, x, y):
        sess.run(self.iterator.initializer, {self.xs: x, self.ys: y})
        losses = []
        for _ in range(self.cfg.steps_per_round):
            _, l = sess.run([self.step, self.loss])
            losses.append(l)
        return float(np.mean(losses))


if __name__ == "__main__":
    cfg = Config()
    x, y = load(cfg)
    model = Regressor(cfg, x, y)
    best = None
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for r in range(cfg.rounds):
            value = model.train_round(sess, x, y)
            if best is None or value < best:
                best = value
            if r % 5 == 4:
                print("round %3d  mse %.5f  best %.5f" % (r + 1, value, best))
