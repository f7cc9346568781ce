import tensorflow as tf
from tensorflow.keras import layers


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


def unet(size, filters, classes):
    inp = layers.Input((size, size, 1))
    skips, x = [], inp
    for f in filters[:-1]:
        x = conv(conv(x, f), f)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = conv(conv(x, filters[-1]), filters[-1])
    for f, s in zip(reversed(filters[:-1]), reversed(skips)):
        x = layers.Concatenate()([layers.UpSampling2D()(x), s])
        x = conv(conv(x, f), f)
    return tf.keras.Model(inp, layers.Conv2D(classes, 1)(x))


class Segmenter:
    def __init__(self, net, classes, lr, ema):
        self.net, self.classes, self.ema = net, classes, ema
        self.opt = tf.keras.optimizers.Adam(lr)
        self.shadow = [tf.Variable(v, trainable=False) for v in net.trainable_variables]

    def dice(self, y, prob):
        hot = tf.one_hot(y, self.classes)
        inter = tf.reduce_sum(hot * prob, axis=[1, 2])
        union = tf.reduce_sum(hot + prob, axis=[1, 2])
        return 1.0 - tf.reduce_mean((2 * inter + 1.0) / (union + 1.0))

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.net(x, training=True)
            ce = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            loss = ce + self.dice(y, tf.nn.softmax(logits))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        for s, v in zip(self.shadow, self.net.trainable_variables):
            s.assign(self.ema * s + (1.0 - self.ema) * v)
        return loss
