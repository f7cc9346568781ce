import tensorflow.compat.v1 as tf


def dense(x, units, name, act=None):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        w = tf.get_variable(
            "w", [int(x.shape[-1]), units], initializer=tf.glorot_uniform_initializer()
        )
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    y = tf.matmul(x, w) + b
    return act(y) if act is not None else y


def generator(z):
    with tf.variable_scope("gen", reuse=tf.AUTO_REUSE):
        h = dense(z, 192, "d1", tf.nn.relu)
        h = dense(h, 192, "d2", tf.nn.relu)
        return dense(h, 2, "out")


def discriminator(x):
    with tf.variable_scope("disc", reuse=tf.AUTO_REUSE):
        h = dense(x, 192, "d1", tf.nn.leaky_relu)
        h = dense(h, 192, "d2", tf.nn.leaky_relu)
        return dense(h, 1, "out")


class GAN(object):
    def __init__(self, z_dim=16, lr=1e-3):
        self.z_dim = z_dim
        self.x = tf.placeholder(tf.float32, [None, 2])
        self.z = tf.placeholder(tf.float32, [None, z_dim])
        self.fake = generator(self.z)
        real_logit, fake_logit = discriminator(self.x), discriminator(self.fake)
        bce = tf.nn.sigmoid_cross_entropy_with_logits
        self.d_loss = tf.reduce_mean(
            bce(logits=real_logit, labels=tf.ones_like(real_logit))
        ) + tf.reduce_mean(bce(logits=fake_logit, labels=tf.zeros_like(fake_logit)))
        self.g_loss = tf.reduce_mean(bce(logits=fake_logit, labels=tf.ones_like(fake_logit)))
        d_vars = tf.trainable_variables("disc")
        g_vars = tf.trainable_variables("gen")
        self.d_step = tf.train.AdamOptimizer(lr, beta1=0.5).minimize(self.d_loss, var_list=d_vars)
        self.g_step = tf.train.AdamOptimizer(lr, beta1=0.5).minimize(self.g_loss, var_list=g_vars)
