# expect: unrolled-loop
# also: slow-first-step
# steps: 32
"""A Keras model whose call() steps through time in a helper, three calls below fit()."""

import tensorflow as tf

tf.random.set_seed(1)


class Filter(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.gain = tf.keras.layers.Dense(12, activation="tanh")
        self.out = tf.keras.layers.Dense(1)

    def advance(self, state, value):
        mixed = self.gain(tf.concat([state, value], axis=1))
        return state * 0.9 + mixed * 0.1

    def run(self, x):
        state = tf.zeros((tf.shape(x)[0], 12))
        for value in tf.unstack(x, num=80, axis=1):  # <-- unrolled-loop
            state = self.advance(state, value)
        return state

    def call(self, x):
        return self.out(self.run(x))


inputs = tf.random.normal((256, 80, 4))
model = Filter()
model.compile("sgd", "mse")
model.fit(inputs, tf.reduce_mean(inputs, axis=(1, 2)), batch_size=32, epochs=4, verbose=0)
print("done")
