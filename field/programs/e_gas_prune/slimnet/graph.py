import tensorflow.compat.v1 as tf


class Classifier(object):
    """Plain MLP on gas sensor features, weights kept in a list so that they can be thinned out later."""

    def __init__(self, n_in, n_out, hidden=(128, 128, 64), lr=5e-2):
        self.x = tf.placeholder(tf.float32, [None, n_in], name="x")
        self.y = tf.placeholder(tf.int64, [None], name="y")
        self.kernels = []
        h, size = self.x, n_in
        for i, units in enumerate(hidden):
            h = tf.nn.relu(self._dense(h, size, units, "fc%d" % i))
            size = units
        self.logits = self._dense(h, size, n_out, "head")
        self.loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits))
        self.accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(self.logits, 1), self.y), tf.float32))
        self.train_op = tf.train.MomentumOptimizer(lr, 0.9).minimize(self.loss)

    def _dense(self, h, n_in, n_out, scope):
        with tf.variable_scope(scope):
            w = tf.get_variable("w", [n_in, n_out], initializer=tf.glorot_uniform_initializer())
            b = tf.get_variable("b", [n_out], initializer=tf.zeros_initializer())
        self.kernels.append(w)
        return tf.matmul(h, w) + b
