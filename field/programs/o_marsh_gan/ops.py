import tensorflow.compat.v1 as tf


def conv(x, f, name, stride=2):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [4, 4, int(x.shape[-1]), f], initializer=tf.random_normal_initializer(0, 0.05))
        b = tf.get_variable("b", [f], initializer=tf.zeros_initializer())
    return tf.nn.conv2d(x, w, stride, "SAME") + b


def deconv(x, f, name, batch):
    size = int(x.shape[1]) * 2
    with tf.variable_scope(name):
        w = tf.get_variable("w", [4, 4, f, int(x.shape[-1])], initializer=tf.random_normal_initializer(0, 0.05))
        b = tf.get_variable("b", [f], initializer=tf.zeros_initializer())
    return tf.nn.conv2d_transpose(x, w, [batch, size, size, f], 2, "SAME") + b


def fc(x, units, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [int(x.shape[-1]), units], initializer=tf.random_normal_initializer(0, 0.05))
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    return tf.matmul(x, w) + b
