import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

from noise import add_noise, hot_pixels, psnr


def dncnn(x, is_training, depth=6, width=24):
    with tf.variable_scope("dncnn"):
        h = x
        for i in range(depth - 1):
            n_in = int(h.shape[-1])
            w = tf.get_variable("w%d" % i, [3, 3, n_in, width],
                                initializer=tf.initializers.he_normal())
            h = tf.nn.conv2d(h, w, 1, "SAME")
            if i > 0:
                g = tf.get_variable("g%d" % i, [width], initializer=tf.ones_initializer())
                b = tf.get_variable("b%d" % i, [width], initializer=tf.zeros_initializer())
                m, v = tf.nn.moments(h, [0, 1, 2])
                h = tf.nn.batch_normalization(h, m, v, b, g, 1e-3)
            h = tf.nn.relu(h)
        w = tf.get_variable("w_out", [3, 3, width, 1], initializer=tf.initializers.glorot_normal())
        return x - tf.nn.conv2d(h, w, 1, "SAME")


class Denoiser(object):
    def __init__(self, sess, sigma=25.0, ckpt_dir=None):
        self.sess = sess
        self.sigma = sigma
        self.ckpt_dir = ckpt_dir
        self.clean = tf.placeholder(tf.float32, [None, None, None, 1], "clean")
        self.noisy = tf.placeholder(tf.float32, [None, None, None, 1], "noisy")
        self.is_training = tf.placeholder_with_default(False, [], "is_training")
        self.lr = tf.placeholder(tf.float32, [], "lr")
        self.out = dncnn(self.noisy, self.is_training)
        self.loss = tf.reduce_mean(tf.square(self.out - self.clean))
        self.train_op = tf.train.AdamOptimizer(self.lr).minimize(self.loss)
        self.saver = tf.train.Saver(max_to_keep=2)
        self.sess.run(tf.global_variables_initializer())

    def evaluate(self, frames, tag):
        scores = []
        for i in range(0, len(frames), 8):
            part = frames[i:i + 8]
            noisy = add_noise(part, self.sigma, self.sess)
            out = self.sess.run(self.out, {self.noisy: noisy})
            scores += [psnr(o, p) for o, p in zip(out, part)]
        print("[%s] average PSNR %.2f dB" % (tag, np.mean(scores)))
        return float(np.mean(scores))

    def train(self, patches, frames, epochs, batch_size, lr, rng, hot=0.001):
        n = len(patches) // batch_size
        best = 0.0
        start = time.time()
        for epoch in range(epochs):
            order = rng.permutation(len(patches))
            rate = lr if epoch < epochs // 2 else lr * 0.1
            total = 0.0
            for b in range(n):
                batch = patches[order[b * batch_size:(b + 1) * batch_size]]
                noisy = hot_pixels(add_noise(batch, self.sigma, self.sess), hot, rng)
                loss, _ = self.sess.run([self.loss, self.train_op],
                                        {self.clean: batch, self.noisy: noisy, self.lr: rate,
                                         self.is_training: True})
                total += loss
            print("Epoch %2d  loss %.5f  time %.1f" % (epoch + 1, total / n, time.time() - start))
            score = self.evaluate(frames, "val")
            if self.ckpt_dir and score > best:
                best = score
                self.saver.save(self.sess, os.path.join(self.ckpt_dir, "dncnn"), global_step=epoch)
