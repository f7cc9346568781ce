import os

import tensorflow.compat.v1 as tf


class Logger(object):
    """Thin wrapper so that the training code does not have to know about TensorBoard."""

    def __init__(self, sess, log_dir):
        self.sess = sess
        os.makedirs(log_dir, exist_ok=True)
        self.writer = tf.summary.FileWriter(log_dir, sess.graph)

    def scalars(self, prefix, values, step):
        parts = [tf.summary.scalar("%s/%s" % (prefix, k), v) for k, v in sorted(values.items())]
        self.writer.add_summary(self.sess.run(tf.summary.merge(parts)), step)

    def close(self):
        self.writer.close()
