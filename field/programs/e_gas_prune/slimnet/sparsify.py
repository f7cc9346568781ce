import numpy as np
import tensorflow.compat.v1 as tf


class MagnitudePruner(object):
    """Gradual magnitude pruning: the target sparsity follows a cubic ramp."""

    def __init__(self, sess, kernels, final=0.8, begin=20, end=90):
        self.sess = sess
        self.kernels = kernels
        self.final, self.begin, self.end = final, begin, end
        self.masks = [np.ones(k.shape.as_list(), np.float32) for k in kernels]

    def target(self, step):
        t = min(max(step - self.begin, 0) / float(self.end - self.begin), 1.0)
        return self.final * (1.0 - (1.0 - t) ** 3)

    def refresh(self, step):
        values = self.sess.run(self.kernels)
        level = self.target(step)
        for i, v in enumerate(values):
            cut = np.quantile(np.abs(v), level)
            self.masks[i] = (np.abs(v) >= cut).astype(np.float32)

    def apply(self):
        for kernel, mask in zip(self.kernels, self.masks):
            self.sess.run(tf.assign(kernel, kernel * mask))

    def sparsity(self):
        kept = sum(m.sum() for m in self.masks)
        return 1.0 - kept / sum(m.size for m in self.masks)
