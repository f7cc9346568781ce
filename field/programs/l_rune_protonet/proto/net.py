import tensorflow as tf
import tf_keras as tfk


def conv_block(ch):
    return [tfk.layers.Conv2D(ch, 3, padding="same"), tfk.layers.BatchNormalization(),
            tfk.layers.ReLU(), tfk.layers.MaxPool2D()]


class ProtoNet(tfk.Model):
    def __init__(self, size, ch=48, lr=1e-3):
        super().__init__()
        self.embed = tfk.Sequential([tfk.layers.InputLayer((size, size, 1))] + conv_block(ch) + conv_block(ch)
                                    + conv_block(ch) + [tfk.layers.Flatten()])
        self.opt = tfk.optimizers.Adam(lr)
        self.opt.build(self.embed.trainable_variables)

    def logits(self, support, query, training):
        way, shot, q = tf.shape(support)[0], support.shape[1], query.shape[1]
        s = self.embed(tf.reshape(support, (-1,) + tuple(support.shape[2:])), training=training)
        z = self.embed(tf.reshape(query, (-1,) + tuple(query.shape[2:])), training=training)
        proto = tf.reduce_mean(tf.reshape(s, (way, shot, s.shape[-1])), 1)
        dist = tf.reduce_sum(tf.square(z[:, None] - proto[None]), -1)
        return -dist, tf.repeat(tf.range(way), q)

    def score(self, support, query, training):
        lg, y = self.logits(support, query, training)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, lg))
        acc = tf.reduce_mean(tf.cast(tf.argmax(lg, -1, tf.int32) == y, tf.float32))
        return loss, acc

    @tf.function
    def learn(self, support, query):
        with tf.GradientTape() as tape:
            loss, acc = self.score(support, query, True)
        v = self.embed.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss, acc

    @tf.function
    def judge(self, support, query):
        return self.score(support, query, False)
