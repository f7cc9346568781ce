"""Wasserstein GAN with weight clipping; n_critic critic updates per generator update."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

N_CRITIC = 4
BATCH = 512
ITERATIONS = 24
DIM = 64


def mlp(x, name, out, width=640):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        for k in range(3):
            w = tf.get_variable("w%d" % k, [int(x.shape[-1]), width], initializer=tf.glorot_normal_initializer())
            b = tf.get_variable("b%d" % k, [width], initializer=tf.zeros_initializer())
            x = tf.nn.relu(tf.matmul(x, w) + b)
        w = tf.get_variable("w_out", [width, out], initializer=tf.glorot_normal_initializer())
        return tf.matmul(x, w)


def real_rows(n):
    z = np.random.randn(n, 4)
    basis = np.random.RandomState(0).randn(4, DIM)
    return np.tanh(z @ basis).astype(np.float32)


class WGAN:
    def __init__(self):
        self.real = tf.placeholder(tf.float32, [BATCH, DIM])
        self.z = tf.placeholder(tf.float32, [BATCH, 32])
        fake = mlp(self.z, "generator", DIM)
        f_real, f_fake = mlp(self.real, "critic", 1), mlp(fake, "critic", 1)
        self.c_loss = tf.reduce_mean(f_fake) - tf.reduce_mean(f_real)
        self.g_loss = -tf.reduce_mean(f_fake)
        critic, gen = tf.trainable_variables("critic"), tf.trainable_variables("generator")
        step = tf.train.RMSPropOptimizer(5e-5).minimize(self.c_loss, var_list=critic)
        with tf.control_dependencies([step]):
            self.c_step = tf.group(*[v.assign(tf.clip_by_value(v, -0.01, 0.01)) for v in critic])
        self.g_step = tf.train.RMSPropOptimizer(5e-5).minimize(self.g_loss, var_list=gen)


def noise():
    return np.random.randn(BATCH, 32).astype(np.float32)


gan = WGAN()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    distance = []
    for it in range(ITERATIONS):
        for _ in range(N_CRITIC):
            _, c = sess.run([gan.c_step, gan.c_loss], {gan.real: real_rows(BATCH), gan.z: noise()})
            distance.append(-c)
        _, g = sess.run([gan.g_step, gan.g_loss], {gan.z: noise()})
        if it % 4 == 3:
            print("iteration %d: distance %.5f  generator %.5f" % (it + 1, distance[-1], g))
