import tensorflow.compat.v1 as tf


class WarmRestarts(object):
    """SGDR: the learning rate falls along a cosine and then jumps back (Loshchilov & Hutter)."""

    def __init__(self, cfg):
        self.base_lr = cfg.base_lr
        self.first = cfg.first_decay_steps
        self.step = tf.placeholder(tf.int32, [], name="schedule_step")

    def _value(self):
        return tf.train.cosine_decay_restarts(
            learning_rate=self.base_lr, global_step=self.step, first_decay_steps=self.first,
            t_mul=1.0, m_mul=0.9, alpha=0.05)

    def get(self, sess, step):
        return sess.run(self._value(), feed_dict={self.step: step})
