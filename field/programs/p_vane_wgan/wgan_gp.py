from __future__ import print_function

import os
import tempfile
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
flags.DEFINE_integer("z_dim", 64, "noise size")
flags.DEFINE_integer("hidden", 640, "units of the hidden layers")
flags.DEFINE_integer("hours", 336, "length of one wind profile (two weeks)")
flags.DEFINE_integer("batch_size", 256, "")
flags.DEFINE_integer("n_critic", 3, "critic updates per generator update")
flags.DEFINE_integer("iterations", 60, "")
flags.DEFINE_float("lam", 10.0, "weight of the gradient penalty")
flags.DEFINE_string("checkpoint_dir", None, "")
FLAGS = flags.FLAGS


class WindProfiles(object):
    def __init__(self, n, hours, seed=1):
        rng = np.random.RandomState(seed)
        t = np.arange(hours)[None]
        base = 6 + 2 * np.sin(2 * np.pi * t / 24 + rng.uniform(0, 6.3, (n, 1)))
        front = 4 * np.exp(-((t - rng.uniform(0, hours, (n, 1))) / 20.0) ** 2)
        self.data = (base + front + rng.randn(n, hours) * 0.4).astype(np.float32)
        self.data = (self.data - self.data.mean()) / self.data.std()
        self.rng = rng

    def next_batch(self, size):
        return self.data[self.rng.randint(0, len(self.data), size)]


def mlp(x, sizes, out, scope):
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        for i, h in enumerate(sizes + [out]):
            w = tf.get_variable("w%d" % i, [int(x.shape[-1]), h], initializer=tf.glorot_uniform_initializer())
            b = tf.get_variable("b%d" % i, [h], initializer=tf.zeros_initializer())
            x = tf.matmul(x, w) + b
            if i < len(sizes):
                x = tf.nn.leaky_relu(x, 0.2)
        return x


class WGAN(object):
    def __init__(self, sess):
        self.sess = sess
        h = FLAGS.hidden
        self.real = tf.placeholder(tf.float32, [None, FLAGS.hours], "real")
        self.z = tf.placeholder(tf.float32, [None, FLAGS.z_dim], "z")
        self.fake = mlp(self.z, [h, h], FLAGS.hours, "gen")
        critic = lambda x: mlp(x, [h, h, h], 1, "critic")
        d_real, d_fake = critic(self.real), critic(self.fake)
        eps = tf.random_uniform([tf.shape(self.real)[0], 1])
        mid = eps * self.real + (1 - eps) * self.fake
        grad = tf.gradients(critic(mid), mid)[0]
        penalty = tf.reduce_mean(tf.square(tf.sqrt(tf.reduce_sum(tf.square(grad), 1) + 1e-9) - 1))
        self.wdist = tf.reduce_mean(d_real) - tf.reduce_mean(d_fake)
        self.d_loss = -self.wdist + FLAGS.lam * penalty
        self.g_loss = -tf.reduce_mean(d_fake)
        tv = tf.trainable_variables()
        adam = lambda: tf.train.AdamOptimizer(1e-4, beta1=0.0, beta2=0.9)
        self.d_train = adam().minimize(self.d_loss, var_list=[v for v in tv if v.name.startswith("critic")])
        self.g_train = adam().minimize(self.g_loss, var_list=[v for v in tv if v.name.startswith("gen")])
        self.saver = tf.train.Saver(max_to_keep=1)

    def noise(self, n):
        return np.random.uniform(-1, 1, (n, FLAGS.z_dim)).astype(np.float32)

    def train(self, data):
        self.sess.run(tf.global_variables_initializer())
        start, n = time.time(), FLAGS.batch_size
        for it in range(FLAGS.iterations):
            for _ in range(FLAGS.n_critic):
                self.sess.run(self.d_train, feed_dict={self.real: data.next_batch(n), self.z: self.noise(n)})
            self.sess.run(self.g_train, feed_dict={self.z: self.noise(n)})
            if it % 20 == 19:
                feed = {self.real: data.next_batch(n), self.z: self.noise(n)}
                w = self.sess.run(self.wdist, feed_dict=feed)
                samples = self.sess.run(self.fake, feed_dict={self.z: self.noise(16)})
                print("iter %4d  W %.3f  sample std %.3f  %.1fs" % (it + 1, w, samples.std(), time.time() - start))
        path = FLAGS.checkpoint_dir or tempfile.mkdtemp()
        self.saver.save(self.sess, os.path.join(path, "wgan"), global_step=FLAGS.iterations)


def main(_):
    np.random.seed(0)
    tf.set_random_seed(0)
    with tf.Session() as sess:
        WGAN(sess).train(WindProfiles(8000, FLAGS.hours))


if __name__ == "__main__":
    tf.app.run()
