import tensorflow as tf


class GatedStep(tf.Module):
    """One step of a gated recurrent unit with a residual state mix."""

    def __init__(self, n_in, width, seed):
        super().__init__()
        g = tf.random.Generator.from_seed(seed)

        def mat(rows, cols):
            return tf.Variable(g.normal((rows, cols), stddev=rows ** -0.5))

        self.wz, self.uz, self.bz = mat(n_in, width), mat(width, width), tf.Variable(tf.zeros(width))
        self.wr, self.ur, self.br = mat(n_in, width), mat(width, width), tf.Variable(tf.zeros(width))
        self.wh, self.uh, self.bh = mat(n_in, width), mat(width, width), tf.Variable(tf.zeros(width))

    def __call__(self, x, h):
        z = tf.sigmoid(x @ self.wz + h @ self.uz + self.bz)
        r = tf.sigmoid(x @ self.wr + h @ self.ur + self.br)
        c = tf.tanh(x @ self.wh + (r * h) @ self.uh + self.bh)
        return (1.0 - z) * h + z * c


class Head(tf.Module):
    def __init__(self, width, n_out, seed):
        super().__init__()
        g = tf.random.Generator.from_seed(seed)
        self.w = tf.Variable(g.normal((width, n_out), stddev=width ** -0.5))
        self.b = tf.Variable(tf.zeros(n_out))

    def __call__(self, h):
        return h @ self.w + self.b
