import keras
import tensorflow as tf
from keras import layers


def closeness(question, centres):
    return -tf.reduce_sum((centres - question) ** 2, axis=-1)


class Prototypes:
    def __init__(self, side, rate):
        self.net = keras.Sequential([layers.Input((side, side, 1))])
        for filters in (8, 16, 24):
            self.net.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
            self.net.add(layers.MaxPooling2D())
        self.net.add(layers.Flatten())
        self.net.add(layers.Dense(32))
        self.optimizer = keras.optimizers.Adam(rate)

    def scores(self, known, asked):
        ways, shots, side = known.shape[0], known.shape[1], known.shape[2]
        both = tf.concat([known, asked], axis=1)
        vectors = self.net(tf.reshape(both, (-1, side, side, 1)), training=True)
        vectors = tf.reshape(vectors, (ways, both.shape[1], -1))
        centres = tf.reduce_mean(vectors[:, :shots], axis=1)
        questions = tf.reshape(vectors[:, shots:], (-1, vectors.shape[-1]))
        return tf.map_fn(lambda q: closeness(q, centres), questions)

    @tf.function
    def learn(self, known, asked):
        answers = tf.repeat(tf.range(asked.shape[0]), asked.shape[1])
        with tf.GradientTape() as tape:
            scores = self.scores(known, asked)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(answers, scores))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        right = tf.reduce_mean(tf.cast(tf.argmax(scores, -1, tf.int32) == answers, tf.float32))
        return loss, right
