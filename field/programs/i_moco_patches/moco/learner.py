import tensorflow as tf
from tensorflow.keras import Sequential, layers, optimizers


def encoder(side, filters, dim):
    net = [layers.Input((side, side, 3))]
    for f in filters:
        net.append(layers.Conv2D(f, 3, strides=2, padding="same", activation="relu"))
    return Sequential(net + [layers.GlobalAveragePooling2D(), layers.Dense(dim)])


class MomentumContrast:
    def __init__(self, side, enc, queue, momentum, temperature, lr):
        self.query, self.key = encoder(side, **enc), encoder(side, **enc)
        self.key.set_weights(self.query.get_weights())
        self.queue = tf.Variable(tf.math.l2_normalize(tf.random.normal([queue, enc["dim"]]), 1), trainable=False)
        self.head = tf.Variable(0, trainable=False)
        self.momentum, self.temperature = momentum, temperature
        self.optimizer = optimizers.Adam(lr)

    @tf.function
    def learn(self, a, b):
        k = tf.math.l2_normalize(self.key(b, training=True), 1)
        with tf.GradientTape() as tape:
            q = tf.math.l2_normalize(self.query(a, training=True), 1)
            positive = tf.reduce_sum(q * k, 1, keepdims=True)
            negative = tf.matmul(q, self.queue, transpose_b=True)
            logits = tf.concat([positive, negative], 1) / self.temperature
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.zeros(tf.shape(logits)[0], tf.int32), logits))
        weights = self.query.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for slow, fast in zip(self.key.trainable_variables, weights):
            slow.assign(self.momentum * slow + (1 - self.momentum) * fast)
        n = tf.shape(k)[0]
        size = tf.shape(self.queue)[0]
        rows = (self.head + tf.range(n)) % size
        self.queue.scatter_nd_update(rows[:, None], k)
        self.head.assign((self.head + n) % size)
        return {"loss": loss, "keys": k, "hit": tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == 0, tf.float32))}
