import tensorflow.compat.v1 as tf


class CharCNN(object):
    """Two convolution blocks over one-hot characters, then a linear classifier."""

    def __init__(self, cfg):
        self.input_x = tf.placeholder(tf.int32, [None, cfg.length], name="input_x")
        self.input_y = tf.placeholder(tf.int32, [None], name="input_y")
        self.learning_rate = tf.placeholder(tf.float32, [], name="learning_rate")

        with tf.name_scope("quantize"):
            x = tf.one_hot(self.input_x, cfg.alphabet_size)
        x = self._block(x, "conv1", 7, cfg.alphabet_size, cfg.filters)
        x = self._block(x, "conv2", 3, cfg.filters, cfg.filters)
        feats = tf.reduce_max(x, axis=1)

        with tf.variable_scope("fc"):
            w = tf.get_variable("w", [cfg.filters, cfg.num_classes])
            b = tf.get_variable("b", [cfg.num_classes], initializer=tf.zeros_initializer())
            self.logits = tf.nn.xw_plus_b(feats, w, b)

        with tf.name_scope("loss"):
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.input_y, logits=self.logits))
        with tf.name_scope("accuracy"):
            hit = tf.equal(tf.argmax(self.logits, 1, output_type=tf.int32), self.input_y)
            self.accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))

        self.global_step = tf.train.get_or_create_global_step()
        opt = tf.train.AdamOptimizer(self.learning_rate)
        self.train_op = opt.minimize(self.loss, global_step=self.global_step)

    @staticmethod
    def _block(x, name, width, c_in, c_out):
        with tf.variable_scope(name):
            k = tf.get_variable("k", [width, c_in, c_out])
            b = tf.get_variable("b", [c_out], initializer=tf.zeros_initializer())
            y = tf.nn.relu(tf.nn.conv1d(x, k, stride=1, padding="SAME") + b)
            return tf.nn.pool(y, [2], "MAX", "VALID", strides=[2])
